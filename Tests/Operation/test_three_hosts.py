"""The chapter on high availability, followed word for word: three database hosts and a worker host.

Each host is a bare Debian with systemd, in a container with the chapter's address. As in test_guide, the
tests are skipped if this machine cannot boot a container.
"""

import os
import re
import shutil
import threading
import unittest

from debian import Debian
from guide import CONFIGURATION, EDIT, HIGH_AVAILABILITY, commands, section, steps
from guide_repairs import REGISTER
from hosts import Network
from machine import wait_until

DATABASES = ["db1", "db2", "db3"]
PASSWORDS = {"OWNER_PASSWORD": "owner-secret", "SERVER_PASSWORD": "server-secret"}
HAPROXY = "Use HAProxy, if other programs need one address"


class Addresses(Network):
    """The chapter's network, of which this machine sees nothing."""

    def address(self, name):
        return {"app1": "10.0.0.21"}.get(name) or f"10.0.0.{self.numbers[name]}"


def chapter(heading):
    return commands(heading, HIGH_AVAILABILITY)


@unittest.skipIf(os.geteuid() != 0, "systemd-nspawn is for root")
@unittest.skipIf(shutil.which("systemd-nspawn") is None, "there is no systemd-nspawn")
class ThreeHosts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        first = Debian()
        cls.addClassCleanup(first.remove)
        first.bootable("./dossier_*.deb", "postgresql", "etcd-server", "etcd-client", "patroni", "nginx-light",
                       "haproxy", "curl")
        names = [*DATABASES, "app1"]
        cls.network = Addresses(*names)
        cls.addClassCleanup(cls.network.remove)
        cls.machines = {}
        for name in names:
            machine = cls.machines[name] = first.copy()
            cls.addClassCleanup(machine.remove)
            (machine.root / "etc/hostname").write_text(f"{name}\n")
            machine.boot(f"--network-namespace-path=/run/netns/{cls.network.namespace(name)}",
                         f"--hostname={name}", f"--machine={name}-{cls.network.tag}")
        # The chapter's folder comes with the package, which the database hosts do not install.
        for name in DATABASES:
            cls.on(name, "dpkg-deb -x dossier_*.deb unpacked\nmv unpacked/usr/share/dossier /usr/share/")

    @classmethod
    def on(cls, name, script, check=True):
        """Runs a script of the chapter on a host, with its name and address in place of those of db1."""
        for before, after in {"apt update\n": "", "apt install ": "apt-get install -y -q ", **PASSWORDS}.items():
            script = script.replace(before, after)
        return cls.machines[name].run(script, check)

    @classmethod
    def everywhere(cls, script):
        """Runs a script on the three database hosts at once, and returns what each printed."""
        said = {}

        def follow(name):
            said[name] = cls.on(name, script.replace("THIS_HOST/db1", f"THIS_HOST/{name}").replace(
                "THIS_ADDRESS/10.0.0.11", f"THIS_ADDRESS/{cls.network.address(name)}"))

        threads = [threading.Thread(target=follow, args=[name]) for name in DATABASES]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return said

    @classmethod
    def leader(cls):
        """Returns the leader, after all members run and one replica is synchronous."""
        rows = {}

        def settled():
            said = cls.on("db1", "patronictl -c /etc/patroni/config.yml list", check=False)
            rows.clear()
            for row in re.findall(r"(?m)^\| (db\d)[^|]*\|[^|]*\| ([^|]*?) *\| (\w+)", said):
                rows[row[0]] = row[1:]
            return sorted(rows) == DATABASES and {"Leader", "Sync Standby"} <= {
                role for role, _ in rows.values()} and all(
                state in ("running", "streaming") for _, state in rows.values())

        wait_until(settled, 600, "a leader and a synchronous replica")
        return next(name for name, (role, _) in rows.items() if role == "Leader")

    def test_the_whole_chapter(self):
        # One after the other, as the chapter's reader does.
        for step in [self.install, self.make_certificates, self.start, self.connect, self.use_haproxy,
                     self.change_the_leader, self.upgrade]:
            with self.subTest(step.__name__):
                step()

    def install(self):
        packages, = chapter("Install the packages")
        self.everywhere(packages)
        for name in DATABASES:
            self.assertEqual(self.on(name, "pg_lsclusters -h"), "")
            self.assertEqual(self.on(name, "systemctl is-active etcd || true"), "inactive\n")

    def make_certificates(self):
        make, install = chapter("Make certificates")
        self.on("db1", make)
        made = self.machines["db1"].root / "root"
        for name in DATABASES:
            for file in ["ca.crt", f"{name}.crt", f"{name}.key"]:
                if name != "db1":
                    shutil.copy(made / file, self.machines[name].root / "root")
            self.on(name, install)
        self.assertIn("DNS:dossier-database", self.on(
            "db2", "openssl x509 -in /etc/patroni/server.crt -noout -ext subjectAltName"))

    def start(self):
        etcd, = chapter("Start etcd")
        *begin, health = etcd.strip().splitlines()
        self.everywhere("\n".join(begin))
        self.assertEqual(self.on("db1", f"cd /\n{health} 2>&1").count("is healthy"), 3)
        patroni, = chapter("Start Patroni")
        self.on("db1", patroni)
        self.everywhere(patroni)
        self.leader()

    def connect(self):
        roles, = chapter("Connect Dossier")
        self.on(self.leader(), "cd /\n" + roles)
        for number in [2, 3]:
            self.on("app1", steps()[number])
        self.machines["app1"].start_relay()
        self.on("app1", EDIT)
        shutil.copy(self.machines["db1"].root / "root/ca.crt", self.machines["app1"].root / "etc/dossier/ca.crt")
        self.set_up(re.search(r"(?s)```ini\n(.*?)```", section("Connect Dossier", HIGH_AVAILABILITY))[1])
        for number in [6, 7, 8, 9]:
            said = self.on("app1", steps()[number])
        self.assertEqual(said.splitlines()[-1], "ready")
        self.assertIn("user_id", self.on("app1", REGISTER % "one@example.com"))

    def set_up(self, settings):
        """Puts settings into the file of the worker host in place of the old ones."""
        for line in settings.strip().splitlines():
            for before, after in PASSWORDS.items():
                line = line.replace(before, after)
            name = line.split(" = ")[0]
            self.on("app1", f"sed -i '/^#* *{name} = /d' {CONFIGURATION}\n"
                            f"cat >>{CONFIGURATION} <<'LINE'\n{line}\nLINE")

    def register(self, email):
        """Waits for a worker with a connection: one may be ready before another."""
        wait_until(lambda: "user_id" in self.on("app1", REGISTER % email, check=False),
                   what=f"the registration of {email}")

    def use_haproxy(self):
        script, = chapter(HAPROXY)
        self.on("app1", script)
        self.set_up(re.search(r"(?s)```ini\n(.*?)```", section(HAPROXY, HIGH_AVAILABILITY))[1])
        self.on("app1", "systemctl restart dossierd")
        self.register("two@example.com")

    def change_the_leader(self):
        before = self.leader()
        script, = chapter("Change the leader for maintenance")
        # The answers: the leader, any candidate, now, yes.
        said = self.on("db1", f"printf '\\n\\n\\ny\\n' | {script.strip()}")
        self.assertIn("Successfully switched over", said)
        self.assertNotEqual(self.leader(), before)
        self.register("three@example.com")

    def upgrade(self):
        upgrade, quiet = chapter("Upgrade PostgreSQL, Patroni or Debian")
        # Replicas first.
        leader = self.leader()
        for name in sorted(DATABASES, key=lambda name: name == leader):
            said = self.on(name, quiet + upgrade)
            self.assertIn("Success", said)
            self.leader()
        self.register("four@example.com")


if __name__ == "__main__":
    unittest.main()
