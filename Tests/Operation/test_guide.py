"""The operator's guide, followed word by word on a bare Debian that runs real systemd, in a container.

Where this machine cannot boot one (systemd-nspawn needs root and cgroups), these are skipped; what
systemd does with sockets is then tested by EndToEnd/test_activation alone, without systemd.
"""

import json
import os
import re
import shutil
import subprocess
import unittest

from debian import ROOT, Debian
from machine import wait_until

GUIDE = (ROOT / "deploy/README.md").read_text()
CONFIGURATION = "/etc/dossier/dossier.conf"
REGISTER = ("curl -s -X POST http://127.0.0.1:8080/v1/register -H 'Content-Type: application/json' "
            "-d '{\"email\":\"%s\",\"password\":\"correct horse battery\"}'")


def steps():
    """The commands of the guide's installation, by the number of their step."""
    text = GUIDE[GUIDE.index("## Install in ten steps"):GUIDE.index("## Settings")]
    parts = re.split(r"(?m)^(\d+)\. ", text)[1:]
    return {int(number): "\n".join(re.findall(r"(?ms)^ *```sh\n(.*?)^ *```$", part))
            for number, part in zip(parts[::2], parts[1::2])}


@unittest.skipIf(os.geteuid() != 0, "systemd-nspawn is for root")
@unittest.skipIf(shutil.which("systemd-nspawn") is None, "there is no systemd-nspawn")
class Guide(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.machine = Debian()
        cls.addClassCleanup(cls.machine.remove)
        cls.run_there = cls.machine.run
        # A Debian that boots, and what it would fetch: it has no network afterwards.
        cls.machine.run("apt-get install -y -q --no-install-recommends systemd-sysv dbus")
        cls.machine.run("apt-get install -y -q --download-only ./dossier_*.deb postgresql nginx-light curl")
        cls.machine.run("mkdir -p /var/cache/kept && cp /var/cache/apt/archives/*.deb /var/cache/kept/")
        if not cls.machine.boot():
            raise unittest.SkipTest("systemd does not boot here: "
                                    + (cls.machine.folder / "boot").read_text()[-500:])
        cls.machine.run("mv /var/cache/kept/*.deb /var/cache/apt/archives/")
        cls.said = {}
        for number, script in sorted(steps().items()):
            if number == 1:
                continue
            # Nobody is there to say yes, and nothing is found by a network that there is not.
            script = script.replace("apt update\n", "").replace("apt install ", "apt-get install -y -q ")
            cls.said[number] = cls.machine.run(script)
            if number == 4:
                cls.machine.run(f"sed -i -e 's|^issuer = .*|issuer = https://id.example.com|' "
                                f"-e 's|^# mail = .*|mail = smtp://127.0.0.1:25|' {CONFIGURATION}")

    def there(self, script, check=True):
        return self.machine.run(script, check)

    def edit(self, expression):
        """Edits the settings for this test."""
        self.there(f"cp -p {CONFIGURATION} /root/kept && sed -i '{expression}' {CONFIGURATION}")
        self.addCleanup(self.there, f"cp -p /root/kept {CONFIGURATION}")

    def ready(self):
        return self.there("curl -s http://127.0.0.1:8080/readyz", check=False) == "ready\n"

    def workers(self):
        main = self.main()
        return set(self.there(f"cat /proc/{main}/task/{main}/children").split())

    def main(self):
        return int(self.there("systemctl show -P MainPID dossierd"))

    def test_it_serves_and_says_that_all_is_well(self):
        self.assertIn("issuer", self.said[5])
        self.assertRegex(self.said[10], r"(?m)^default ")
        self.assertEqual(self.said[9].splitlines()[-1], "ready")
        found = json.loads(self.there("dossier doctor --output json"))
        self.assertEqual([finding for finding in found if finding["fault"]], [])
        grant = json.loads(self.there(REGISTER % "ada@example.com"))
        shown = json.loads(self.there("dossier user show ada@example.com --output json"))
        self.assertEqual(shown["id"], grant["user_id"])
        # A picture takes libvips, and the decoder's confinement within the unit's.
        picture = self.machine.root / "root/picture.jpg"
        subprocess.run(["/usr/bin/python3", "-c", "from PIL import Image; import sys; "
                        "Image.new('RGB', (40, 30), 'red').save(sys.argv[1])", picture], check=True)
        self.assertEqual(self.there(
            "curl -s -o /dev/null -w '%{http_code}' -X PUT http://127.0.0.1:8080/v1/me/picture "
            "--data-binary @/root/picture.jpg -H 'Content-Type: image/jpeg' "
            f"-H 'Authorization: Bearer {grant['access_token']}'"), "200")
        # journald has lines of JSON, and nothing of what was sent.
        log = self.there("journalctl -u dossierd -o cat --no-pager")
        lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
        self.assertIn("PUT /v1/me/picture", [line.get("route") for line in lines])
        self.assertNotIn("ada@example.com", log)

    def test_the_units_are_right_and_what_serves_is_confined(self):
        self.assertEqual(self.there("systemd-analyze verify dossierd.socket dossierd.service "
                                    "dossier-migrate.service 2>&1 | grep -i dossier || true"), "")
        self.assertEqual(len(self.workers()), 2)
        for process in {self.main()} | self.workers():
            status = self.there(f"cat /proc/{process}/status")
            for line in ["NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000"]:
                self.assertIn(line, status)
            self.assertNotIn("Uid:\t0", status)

    def test_the_doctor_sees_what_an_upgrade_has_overtaken(self):
        self.there("cp /etc/nginx/dossier.error_pages /root/ && echo '# old' >>/etc/nginx/dossier.error_pages")
        self.addCleanup(self.there, "cp /root/dossier.error_pages /etc/nginx/")
        self.assertIn("is not that of this version", self.there("dossier doctor", check=False))

    def test_a_reload_replaces_the_workers_and_one_with_a_mistake_changes_nothing(self):
        before = self.workers()
        self.there("systemctl reload dossierd")
        wait_until(lambda: len(self.workers()) == 2 and not before & self.workers(), what="workers")
        before = self.workers()
        self.edit("s/^issuer = .*/isuer = x/")
        said = self.there("systemctl reload dossierd || echo failed with $?", check=False)
        self.assertIn("failed with 1", said)
        self.assertIn("isuer", self.there("journalctl -u dossierd -o cat --no-pager"))
        self.assertEqual(self.workers(), before)
        self.assertTrue(self.ready())

    def test_a_mistake_at_the_start_leaves_the_sockets_and_mending_it_counts_at_once(self):
        self.edit("s/^workers = .*/workers = 4/")
        self.there("systemctl restart dossierd", check=False)
        self.assertEqual(self.there("systemctl show -P ExecMainStatus dossierd").strip(), "78")
        # Who comes meanwhile has it started again and again, and that ends no socket.
        self.there("curl -s -m 25 http://127.0.0.1:8080/v1/me || true")
        self.assertEqual(self.there("systemctl is-active dossierd.socket").strip(), "active")
        self.assertIn("2 sockets were given and workers is 4",
                      self.there("journalctl -u dossierd -o cat --no-pager"))
        self.doCleanups()
        self.there("systemctl restart dossierd")
        self.assertTrue(self.ready())

    def test_a_supervisor_that_is_killed_comes_back_and_what_came_meanwhile_is_answered(self):
        killed = self.main()
        self.there(f"kill -9 {killed}")
        answer = json.loads(self.there(REGISTER % "meanwhile@example.com"))
        self.assertIn("user_id", answer)
        wait_until(lambda: self.main() not in (0, killed), what="another supervisor")

    def test_an_upgrade_keeps_what_runs_and_the_settings(self):
        before = self.workers()
        self.there(f"echo '# mine' >>{CONFIGURATION}; apt-get install -y -q --reinstall "
                   "./dossier_*.deb")
        self.assertEqual(self.workers(), before)
        self.assertIn("# mine", self.there(f"cat {CONFIGURATION}"))
        self.there("systemctl start dossier-migrate && systemctl reload dossierd")
        self.assertTrue(self.ready())


if __name__ == "__main__":
    unittest.main()
