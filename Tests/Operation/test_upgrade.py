"""Replaces programs and schema under load: the older version by this one, and this by the next."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

import older
import writing
from deployment import Deployment
from machine import BUILD

# Changes that a next release may make while the programs of this release run.
NEXT = """-- What a next release brings.

-- migrate: up
alter table users add column next_release text;
create table next_release (
  user_id text collate "C" primary key references users on delete cascade);
-- migrate: down
drop table next_release;
alter table users drop column next_release;
"""
NEXT_INDEX = """-- migrate: no transaction
-- migrate: up
create index concurrently users_by_next_release on users (next_release);
-- migrate: down
drop index concurrently users_by_next_release;
"""


class Case(unittest.TestCase):
    def migrate(self, migrations, *arguments, programs=BUILD):
        return subprocess.run(
            [programs / "dossier-migrate", *arguments, "--migrations", migrations,
             "--database", self.site.conninfo("owner")], check=True, text=True,
            capture_output=True)

    def reload(self):
        subprocess.run([BUILD / "dossierd", "reload", str(self.site.supervisor.pid)], check=True)

    def newest(self):
        return self.site.sql("select max(version) from schema_migrations")

    def check(self, load):
        load.stop()
        failed = [line for line in self.site.logged() if line["status"] >= 500]
        self.assertEqual(set(load.statuses), {200}, failed[:3])
        self.assertEqual(load.lost(), [])
        self.assertEqual(self.site.get("/readyz").status, 200)


class FromOlderVersion(Case):
    def test_no_request_fails_during_an_upgrade_from_the_older_version_and_back(self):
        before = older.OlderVersion(older.version())
        print(f"the older version is {before.name}")
        folder = tempfile.TemporaryDirectory(dir="/tmp")
        self.addCleanup(folder.cleanup)
        pathlib.Path(folder.name).chmod(0o755)
        program = pathlib.Path(folder.name) / "dossierd"
        # Neither program knows the settings that only the other one has. Both keep the name that
        # started them, by which they start their workers.
        older_program, newer_program = [
            self.script(program.with_name(name), f'{line}; exec -a "$0" {programs}/dossierd "$@"')
            for name, line, programs in [
                ("older", "unset DOSSIER_LANGUAGE_FOLDER", before.programs),
                ("newer", f"export DOSSIER_LANGUAGE_FOLDER={writing.ROOT}/deploy/languages", BUILD)]]
        program.symlink_to(older_program)
        self.site = Deployment(
            tls=True, program=program,
            schema=(before.programs / "dossier-migrate", before.migrations))
        self.addCleanup(self.site.stop)
        version = self.newest()
        load = writing.Writing(self.site)
        self.addCleanup(load.stop)
        load.go_on()
        self.migrate(writing.ROOT / "migrations", "up", "--grant-to", "server")
        self.migrate(writing.ROOT / "migrations", "verify", "--grant-to", "server")
        load.go_on()
        self.exchange(program, newer_program)
        load.go_on()
        # And back: programs first, then the schema, by the older program.
        self.exchange(program, older_program)
        load.go_on()
        self.migrate(before.migrations, "to", version, programs=before.programs)
        self.assertEqual(self.newest(), version)
        self.migrate(before.migrations, "verify", "--grant-to", "server", programs=before.programs)
        load.go_on()
        self.check(load)

    def script(self, path, text):
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)
        return path

    def exchange(self, program, other):
        """Replaces the program as an upgrade does, and the workers."""
        new = program.with_suffix(".new")
        new.symlink_to(other)
        new.rename(program)
        self.reload()


class Upgrade(Case):
    def setUp(self):
        self.site = Deployment(tls=True)
        self.addCleanup(self.site.stop)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        # The next release does not use files of the earlier program.
        self.before = writing.ROOT / "migrations"
        self.migrations = pathlib.Path(folder.name) / "migrations"
        shutil.copytree(self.before, self.migrations)
        (self.migrations / "9001_next.sql").write_text(NEXT)
        (self.migrations / "9002_next_index.sql").write_text(NEXT_INDEX)

    def test_no_request_fails_during_an_upgrade_and_a_downgrade(self):
        before = self.newest()
        load = writing.Writing(self.site)
        self.addCleanup(load.stop)
        load.go_on()
        self.migrate(self.migrations, "up", "--grant-to", "server")
        self.migrate(self.migrations, "verify", "--grant-to", "server")
        load.go_on()
        self.reload()
        load.go_on()
        self.assertEqual(self.newest(), "9002")
        # The rollback: first the programs, then the schema, without the files of the next release.
        self.reload()
        load.go_on()
        granted = self.migrate(self.before, "up", "--grant-to", "server")
        self.assertIn("nothing to do; at version 9002", granted.stdout)
        self.assertIn("the database has migrations newer than version", granted.stderr)
        load.go_on()
        self.migrate(self.before, "to", before)
        self.migrate(self.before, "verify", "--grant-to", "server")
        load.go_on()
        self.check(load)


if __name__ == "__main__":
    unittest.main()
