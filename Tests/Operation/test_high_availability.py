"""Patroni changes the leader under load: no acknowledged write is lost, and Dossier finds the new one.

The databases, HAProxy and the connection strings are those of deploy/ha. Prints the measured times.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import writing
from deployment import IMPATIENT, Deployment
from guide import HIGH_AVAILABILITY, commands
from high_availability import FILES, DatabaseHosts
from machine import AS_POSTGRES, BUILD, IS_ROOT, free_port, is_listening, wait_until


class HighAvailability(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="dossier-ha-", dir="/tmp"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.hosts = DatabaseHosts(cls.folder)
        cls.addClassCleanup(cls.hosts.stop)
        cls.site = Deployment(settings=IMPATIENT)
        cls.addClassCleanup(cls.site.stop)
        # At first, the service has its own database.
        cls.site.stop_postgres()
        cls.make_database()
        cls.start_haproxy()

    @classmethod
    def make_database(cls):
        _, statements = commands("Connect Dossier", HIGH_AVAILABILITY)[0].split("\n", 1)
        statements = cls.hosts.with_passwords(statements.rsplit("SQL\n", 1)[0])
        for statement in statements.split(";\n"):
            cls.hosts.leader().sql(statement, "postgres")
        subprocess.run(
            [BUILD / "dossier-migrate", "up", "--quiet", "--grant-to", "dossier", "--migrations",
             writing.ROOT / "migrations", "--database", cls.hosts.connection("migrate_database")],
            check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def start_haproxy(cls):
        cls.port = free_port()
        text = (FILES / "haproxy.cfg").read_text().replace("10.0.0.", cls.hosts.network)
        text = text.replace("127.0.0.1:5000", f"127.0.0.1:{cls.port}")
        if not IS_ROOT:
            text = re.sub(r"(?m)^  (user|group|chroot) .*\n", "", text)
        (cls.folder / "haproxy.cfg").write_text(text)
        haproxy = subprocess.Popen(["/usr/sbin/haproxy", "-db", "-f", cls.folder / "haproxy.cfg"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(haproxy.wait)
        cls.addClassCleanup(haproxy.terminate)
        wait_until(lambda: is_listening(cls.port), what="HAProxy")

    def connect(self, name):
        """Restarts dossierd with a connection string of the chapter."""
        self.site.supervisor.terminate()
        self.site.supervisor.wait(120)
        self.site.environment["DOSSIER_DATABASE"] = self.hosts.connection(name).replace(
            "port=5000", f"port={self.port}")
        # systemd sets the home of the user; root's holds files that others cannot read.
        self.site.environment["HOME"] = "/nonexistent"
        self.site.start_dossierd()
        self.site.wait_until_ready()

    def survive(self, what, event, recover=lambda leader: None):
        """Writes while an event changes the leader, and checks that no acknowledged write is lost."""
        for name in ["database", "through HAProxy"]:
            with self.subTest(name):
                self.hosts.wait_for_synchronous_replica()
                before = self.hosts.leader()
                self.connect("database" if name == "database" else "database through HAProxy")
                load = writing.Writing(self.site)
                try:
                    load.go_on()
                    start = time.monotonic()
                    event(before)
                    wait_until(lambda: self.hosts.another_leads(before), what="another leader")
                    elected = time.monotonic()
                    load.go_on_after(elected)
                finally:
                    load.stop()
                    recover(before)
                print(f"{what}, {name}: a new leader after {elected - start:.1f} s, no write for "
                      f"{load.longest_pause(start):.1f} s, the last 503 after "
                      f"{load.last_failure(start):.1f} s, load {os.getloadavg()[0]:.1f}",
                      file=sys.stderr)
                self.assertEqual(set(load.statuses) - {200, 503}, set())
                self.assertEqual(load.lost(), [])
                # The former leader follows, and catches up.
                self.hosts.wait_for_synchronous_replica()

    def test_a_switchover(self):
        self.survive("switchover", lambda leader: self.hosts.patronictl(
            "switchover", "dossier", "--master", leader.name, "--force"))

    def test_the_leader_makes_the_backup(self):
        self.hosts.wait_for_synchronous_replica()
        repository = self.folder / "repository"
        repository.mkdir()
        if IS_ROOT:
            shutil.chown(repository, "postgres")
        for host in self.hosts.hosts:
            text = (writing.ROOT / "deploy/backup/pgbackrest.conf").read_text()
            for before, after in [("/var/lib/pgbackrest", str(repository)),
                                  ("/var/lib/postgresql/15/main", str(host.folder / "15/dossier"))]:
                text = text.replace(before, after)
            (host.folder / "pgbackrest.conf").write_text(text)
            (host.folder / "pgbackrest.conf").chmod(0o644)
        # The commands of the chapter.
        for number, command in enumerate(commands("Back up", HIGH_AVAILABILITY)):
            if number:
                wait_until(lambda: all(row.get("Pending restart") for row in self.hosts.members()),
                           what="the settings on each host")
            command = command.replace(
                "/etc/patroni/config.yml", str(self.hosts.hosts[0].folder / "config.yml"))
            subprocess.run(["bash", "-ec", command], check=True, stdout=subprocess.DEVNULL)
        self.hosts.wait_for_synchronous_replica()
        leader = self.hosts.leader()
        subprocess.run([*AS_POSTGRES, "pgbackrest", "--stanza=dossier", "stanza-create"],
                       env={**os.environ, **leader.backup_environment()}, check=True, cwd="/")
        for host in self.hosts.hosts:
            run = subprocess.run(
                [writing.ROOT / "deploy/backup/backup", "dossier"], capture_output=True, text=True,
                env={**os.environ, **host.backup_environment()})
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            self.assertIn("is backed up" if host is leader else "this is a replica", run.stdout)

    def test_the_leaders_postgres_is_killed(self):
        self.survive("PostgreSQL killed", lambda leader: leader.signal_postgres(signal.SIGKILL))

    def test_the_leaders_host_loses_its_power(self):
        self.survive("host killed", lambda leader: leader.kill(), lambda leader: leader.start())

    def test_the_leaders_host_freezes(self):
        self.survive("host frozen", lambda leader: leader.signal_all(signal.SIGSTOP), self.thaw)

    def thaw(self, leader):
        leader.signal_all(signal.SIGCONT)
        wait_until(lambda: leader.status().get("role") == "replica", what="a leader that steps down")
        # Patroni 3.0.2 may continue with outdated data of etcd. Then the chapter restarts the host.
        leader.kill()
        leader.start()


if __name__ == "__main__":
    unittest.main()
