"""Tests readiness after the packages of PostgreSQL were upgraded under a running server."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from asking import MERGE
from deployment import Deployment
from machine import TOOLS, wait_until
import test_readiness


class CopiedDeployment(Deployment):
    """A deployment on a PostgreSQL whose files a test can remove."""

    def __init__(self, folder):
        def own(option):
            path = subprocess.run(
                [TOOLS / "pg_config", option], check=True, capture_output=True, text=True).stdout
            return pathlib.Path(path.strip())

        # PostgreSQL finds its other files relative to its program.
        root = pathlib.Path(os.path.commonpath([own("--bindir"), own("--sharedir"), own("--pkglibdir")]))
        self.tools = folder / own("--bindir").relative_to(root)
        self.tools.mkdir(parents=True)
        for name in ["postgres", "pg_ctl", "initdb"]:
            shutil.copy2(TOOLS / name, self.tools)
        share = folder / own("--sharedir").relative_to(root)
        share.parent.mkdir(parents=True, exist_ok=True)
        share.symlink_to(own("--sharedir"))
        self.installed = own("--pkglibdir")
        self.libraries = folder / self.installed.relative_to(root)
        self.put_libraries()
        super().__init__()

    def put_libraries(self):
        self.libraries.parent.mkdir(parents=True, exist_ok=True)
        self.libraries.symlink_to(self.installed)


class Upgraded(test_readiness.Reasons):
    """PostgreSQL whose packages are upgraded while it runs."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(dir="/tmp")
        cls.addClassCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        cls.site = CopiedDeployment(pathlib.Path(folder.name))

    def test_an_incompatible_library_is_reported_and_a_restart_fixes_it(self):
        self.site.libraries.unlink()
        self.site.sql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'server'")

        def refused():
            answer = self.site.request("PATCH", "/v1/me/metadata", {"a": 1}, MERGE, self.token)
            self.assertEqual(answer.status, 503, answer.body)
            return "one of its own files" in answer.json.get("detail", "")

        wait_until(refused, what="a refused write")
        wait_until(lambda: any("database: 58P01" in str(line) for line in self.site.logged()),
                   what="a line with the reason")
        # The connection for reads may still be in progress.
        wait_until(lambda: self.site.get("/v1/me", token=self.token).status == 200, what="a read")
        self.expect_reports("restart it (systemctl restart postgresql)", "58P01", "files")
        self.site.put_libraries()
        with self.site.without_postgres():
            pass
        answer = self.site.request("PATCH", "/v1/me/metadata", {"a": 1}, MERGE, self.token)
        self.assertIn(answer.status, (200, 201))

    # These tests of the base class have nothing to do with upgrades.
    test_a_wrong_password = None
    test_a_lock_that_is_not_released = None
    test_a_full_disk_is_reported_and_needs_no_restart = None


if __name__ == "__main__":
    unittest.main()
