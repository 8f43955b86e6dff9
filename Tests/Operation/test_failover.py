"""PostgreSQL's primary is lost. Its synchronous replica takes over with every acknowledged write."""

import shutil
import subprocess
import unittest

import writing
from deployment import IMPATIENT, Deployment
from machine import AS_POSTGRES, IS_ROOT, TOOLS, wait_until


class Failover(unittest.TestCase):
    def setUp(self):
        self.site = Deployment(tls=True, settings=IMPATIENT)
        self.addCleanup(self.site.stop)

    def replica(self, command, *arguments):
        subprocess.run(
            [*AS_POSTGRES, TOOLS / "pg_ctl", "-D", self.site.folder / "replica", "-s", "-w",
             *arguments, command], check=True, cwd="/", stdout=subprocess.DEVNULL)

    def test_a_synchronous_replica_takes_over_without_losing_writes(self):
        folder = self.site.folder
        replica = folder / "replica"
        replica.mkdir(mode=0o700)
        if IS_ROOT:
            shutil.chown(replica, "postgres")
        subprocess.run(
            [*AS_POSTGRES, TOOLS / "pg_basebackup", "-D", replica, "-R", "-X", "stream",
             "--checkpoint=fast",
             "-d", self.site.conninfo("owner") + " application_name=replica"], check=True, cwd="/")
        self.replica("start", "-l", str(replica / "log"), "-o",
                     f"-k {folder} -p 5433 {self.site.listens()} -c fsync=off")
        self.addCleanup(self.replica, "stop", "-m", "immediate")
        self.site.sql("alter system set synchronous_standby_names = 'replica'")
        self.site.sql("select pg_reload_conf()")
        wait_until(lambda: self.site.sql(
            "select sync_state from pg_stat_replication") == "sync", what="the replica")
        # The string names both hosts, and libpq uses the primary.
        self.site.supervisor.terminate()
        self.site.supervisor.wait(120)
        self.site.environment["DOSSIER_DATABASE"] = (
            self.site.conninfo("server").replace(
                f"host={self.site.address}", f"host={self.site.address},{self.site.address}")
            + " port=5432,5433 target_session_attrs=read-write")
        self.site.start_dossierd()
        self.site.wait_until_ready()
        load = writing.Writing(self.site)
        self.addCleanup(load.stop)
        load.go_on(200)
        self.site.stop_postgres("immediate")
        self.replica("promote")
        load.go_on(200)
        load.stop()
        self.assertEqual(set(load.statuses) - {200, 503}, set())
        self.assertEqual(load.lost(), [])
        self.assertEqual(self.site.get("/readyz").status, 200)


if __name__ == "__main__":
    unittest.main()
