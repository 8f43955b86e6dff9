"""The operator's guide, followed word for word on a bare Debian that runs real systemd, in a container.

If this machine cannot boot a container (systemd-nspawn needs root and cgroups), the tests are skipped.
Then only EndToEnd/test_activation tests inherited sockets, without systemd.
"""

import json
import os
import re
import shutil
import subprocess
import unittest

from debian import Debian
from guide import CONFIGURATION, EDIT, commands, section, steps
from guide_repairs import REGISTER, Repairs
from machine import wait_until

EXPORTERS = ["prometheus-postgres-exporter", "prometheus-node-exporter"]


@unittest.skipIf(os.geteuid() != 0, "systemd-nspawn is for root")
@unittest.skipIf(shutil.which("systemd-nspawn") is None, "there is no systemd-nspawn")
class Guide(Repairs, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.machine = Debian()
        cls.addClassCleanup(cls.machine.remove)
        # A bootable Debian with the packages of the guide, since it has no network later.
        cls.machine.bootable("./dossier_*.deb", "postgresql", "nginx-light", "curl", "pgbackrest", *EXPORTERS)
        cls.machine.boot()
        cls.said = {}
        for number in sorted(steps()):
            if number == 1:
                continue
            cls.said[number] = cls.step(number)
            if number == 2:
                cls.machine.start_relay()
            if number == 4:
                cls.machine.run(EDIT)

    @classmethod
    def step(cls, number):
        # The script cannot answer questions, and has no network.
        script = steps()[number].replace("apt update\n", "")
        return cls.machine.run(script.replace("apt install ", "apt-get install -y -q "))

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

    def settled(self):
        """Returns the workers, after those that a reload replaced have ended."""
        wait_until(lambda: len(self.workers()) == 2, what="the end of those before")
        return self.workers()

    def main(self):
        return int(self.there("systemctl show -P MainPID dossierd"))

    def test_the_installation_serves_and_the_doctor_finds_no_fault(self):
        self.assertIn("-rw-r----- 1 root dossier", self.there("ls -l /etc/dossier/master-key"))
        self.assertIn("issuer", self.said[5])
        self.assertRegex(self.said[10], r"(?m)^default ")
        self.assertIn("ds_client_", self.said[10])
        # nginx listens on port 8080 only.
        self.assertEqual(self.there("curl -s http://127.0.0.1/ || echo nobody"), "nobody\n")
        self.there("curl -sf http://127.0.0.1:8080/dossier.js >/dev/null")
        self.assertEqual(self.said[9].splitlines()[-1], "ready")
        found = json.loads(self.there("dossier doctor --json"))
        self.assertEqual([finding for finding in found if finding["fault"]], [])
        grant = json.loads(self.there(REGISTER % "grace@example.com"))
        shown = json.loads(self.there("dossier user show grace@example.com --json"))
        self.assertEqual(shown["id"], grant["user_id"])
        # A picture needs libvips, and the decoder's confinement inside that of the unit.
        picture = self.machine.root / "root/picture.jpg"
        subprocess.run(["/usr/bin/python3", "-c", "from PIL import Image; import sys; "
                        "Image.new('RGB', (40, 30), 'red').save(sys.argv[1])", picture], check=True)
        self.assertEqual(self.there(
            "curl -s -o /dev/null -w '%{http_code}' -X PUT http://127.0.0.1:8080/v1/me/picture "
            "--data-binary @/root/picture.jpg -H 'Content-Type: image/jpeg' "
            f"-H 'Authorization: Bearer {grant['access_token']}'"), "200")
        # journald has lines of JSON without client data.
        log = self.there("journalctl -u dossierd -o cat --no-pager")
        lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
        self.assertIn("PUT /v1/me/picture", [line.get("route") for line in lines])
        self.assertNotIn("grace@example.com", log)

    def test_the_units_are_valid_and_the_servers_are_sandboxed(self):
        self.assertEqual(self.there("systemd-analyze verify dossierd.socket dossierd.service "
                                    "dossier-migrate.service 2>&1 | grep -i dossier || true"), "")
        self.assertEqual(len(self.settled()), 2)
        for process in {self.main()} | self.workers():
            status = self.there(f"cat /proc/{process}/status")
            for line in ["NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000"]:
                self.assertIn(line, status)
            self.assertNotIn("Uid:\t0", status)

    def test_the_exporters_report_the_database_and_the_disks(self):
        script, = commands("Monitor replicas, disks and backups")
        self.there(script.replace("apt install ", "apt-get install -y -q "))
        for port, line in [(9187, "pg_up 1"), (9100, "node_filesystem_avail_bytes{")]:
            wait_until(lambda: f"\n{line}" in self.there(
                f"curl -s http://127.0.0.1:{port}/metrics", check=False), what=line)

    def test_the_doctor_finds_files_of_an_older_version(self):
        self.there("cp /etc/nginx/dossier.error_pages /root/ && echo '# old' >>/etc/nginx/dossier.error_pages")
        self.addCleanup(self.there, "cp /root/dossier.error_pages /etc/nginx/")
        self.assertIn("is not that of this version", self.there("dossier doctor", check=False))

    def test_a_reload_replaces_the_workers_and_invalid_settings_change_nothing(self):
        before = self.workers()
        self.there("systemctl reload dossierd")
        wait_until(lambda: len(self.workers()) == 2 and not before & self.workers(), what="workers")
        before = self.workers()
        self.edit("s/^issuer = .*/isuer = x/")
        said = self.there("systemctl reload dossierd || echo failed with $?", check=False)
        self.assertIn("failed with 1", said)
        self.assertRegex(self.there("systemctl status dossierd", check=False),
                         'Status: "the old workers keep running: .*isuer')
        self.assertIn("isuer", self.there("journalctl -u dossierd -o cat --no-pager"))
        self.assertEqual(self.workers(), before)
        self.assertTrue(self.ready())

    def test_invalid_settings_at_the_start_keep_the_sockets(self):
        self.edit("s/^workers = .*/workers = 4/")
        self.there("systemctl restart dossierd", check=False)
        self.assertEqual(self.there("systemctl show -P ExecMainStatus dossierd").strip(), "78")
        # Clients cause repeated starts meanwhile, and the sockets survive them.
        self.there("curl -s -m 25 http://127.0.0.1:8080/v1/me || true")
        self.assertEqual(self.there("systemctl is-active dossierd.socket").strip(), "active")
        self.assertIn("2 sockets were given and workers is 4",
                      self.there("journalctl -u dossierd -o cat --no-pager"))
        self.doCleanups()
        self.there("systemctl restart dossierd")
        self.assertTrue(self.ready())

    def test_a_killed_supervisor_restarts_and_answers_waiting_requests(self):
        killed = self.main()
        # 0 would name this process too.
        self.assertGreater(killed, 0)
        self.there(f"kill -9 {killed}")
        answer = json.loads(self.there(REGISTER % "meanwhile@example.com"))
        self.assertIn("user_id", answer)
        wait_until(lambda: self.main() not in (0, killed), what="another supervisor")

    def test_an_upgrade_keeps_service_and_settings_and_can_be_undone(self):
        before, old = self.settled(), self.machine.later_package()
        self.there(f"echo '# mine' >>{CONFIGURATION}")
        self.addCleanup(self.there, "rm dossier_NEW.deb dossier_OLD.deb")
        version = self.newest_version()
        text = section("Upgrade Dossier").split("\nTo go back, install")[0]
        forth = re.findall(r"`((?:apt|systemctl|dossier) [^`\n]*)`", text)
        self.assertEqual(len(forth), 4)
        back, undo = commands("Upgrade Dossier")
        installed = []
        for command in [*forth, *back.splitlines(), undo.strip().replace(" N", f" {version}"),
                        *commands("Set up roles and rights")]:
            said = self.there(command.replace("apt install ", "apt-get install -y -q "))
            if command == "dossier-migrate status":
                self.assertRegex(said, r"(?m)^9001  next  newer ")
            wait_until(self.ready, what="readiness")
            if command.startswith("apt"):
                installed.append(self.version())
                # The running workers continue until the reload.
                self.assertEqual(self.workers(), before)
            elif "reload" in command:
                before = self.settled()
        self.assertEqual(installed, [f"{old}.1", old])
        self.assertEqual(self.newest_version(), version)
        self.assertIn("# mine", self.there(f"cat {CONFIGURATION}"))

    def newest_version(self):
        """Returns the newest applied migration."""
        found = json.loads(self.there("dossier-migrate status --json"))
        return max(one["version"] for one in found["migrations"] if one["state"] == "applied")

    def version(self):
        return self.there("dpkg-query -W -f '${Version}' dossier")

    def test_clients_reach_the_server_over_tls(self):
        server = self.machine.root / "etc/nginx/conf.d/dossier.conf"
        kept = server.read_text()
        self.addCleanup(self.there, "systemctl reload nginx")
        self.addCleanup(server.write_text, kept)
        self.there("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "
                   "/CN=id.example.com -addext subjectAltName=DNS:id.example.com "
                   "-keyout /etc/ssl/dossier.key -out /etc/ssl/dossier.pem 2>/dev/null\n"
                   "cp /etc/ssl/dossier.pem /usr/local/share/ca-certificates/dossier.crt\n"
                   "update-ca-certificates\necho 127.0.0.1 id.example.com >>/etc/hosts")
        # The lines of the file's head, after `listen`.
        lines = re.search(r"(?m)^#   listen 443 (?:.*\n#   )*.*", kept)[0].replace("#   ", "  ")
        server.write_text(re.sub(r"(?m)^  listen .*;$", lambda found: f"{found[0]}\n{lines}", kept))
        script, = commands("Serve over TLS")
        *load, ask = script.strip().splitlines()
        self.there("\n".join(load))
        # A reload only begins when systemctl ends.
        wait_until(lambda: "up" in self.there("bash -c 'exec 3<>/dev/tcp/127.0.0.1/443' && echo up", check=False),
                   what="the new listener")
        self.assertIn('"token_missing"', self.there(ask))
        wait_until(self.ready, what="readiness")
        found = json.loads(self.there("dossier doctor --json"))
        self.assertEqual([finding for finding in found if finding["fault"]], [])

    def test_streams_send_changes_to_pages(self):
        self.there(*commands("Send changes to pages"))
        grant = json.loads(self.there(REGISTER % "streams@example.com"))
        self.assertIn("event: ready", self.there(
            "curl -sN --max-time 5 http://127.0.0.1:8080/v1/me/events "
            f"-H 'Authorization: Bearer {grant['access_token']}' || true"))
        process = self.there("systemctl show -P MainPID dossier-streams").strip()
        self.assertIn("CapEff:\t0000000000000000", self.there(f"cat /proc/{process}/status"))

    def change_sockets(self):
        self.there(*commands("Change the number of workers"))

    def test_the_number_of_workers_is_raised(self):
        self.addCleanup(self.there, "rm /etc/systemd/system/dossierd.socket")
        self.addCleanup(self.change_sockets)
        self.edit("s/^workers = .*/workers = 3/")
        self.change_sockets()
        self.assertEqual(len(self.workers()), 3)
        found = json.loads(self.there("dossier doctor --json"))
        self.assertEqual([finding for finding in found if finding["fault"]], [])

    def test_a_wrong_master_key_at_the_start_keeps_the_sockets(self):
        key = "/etc/dossier/master-key"
        self.there(f"cp -p {key} /root/key && openssl rand -base64 32 >{key}")
        self.addCleanup(self.there, "systemctl restart dossierd")
        self.addCleanup(self.there, f"cp -p /root/key {key}")
        self.there("systemctl restart dossierd", check=False)
        self.there("curl -s -m 25 http://127.0.0.1:8080/v1/me || true")
        self.assertEqual(self.there("systemctl is-active dossierd.socket").strip(), "active")
        self.assertIn("master_key: ", self.there("dossier doctor", check=False))
        self.there(f"cp -p /root/key {key}; systemctl restart dossierd")
        wait_until(self.ready, what="readiness")

    def test_the_master_key_is_a_credential_of_systemd(self):
        grant = json.loads(self.there(REGISTER % "credential@example.com"))
        self.edit("s/^$//")
        self.there("cp -p /etc/dossier/master-key /root/key")

        def put_back():
            self.there("cp -p /root/key /etc/dossier/master-key; systemctl unmask dossier-key; cd /etc/systemd/system; "
                       "rm -r dossierd.service.d dossier-streams.service.d /etc/credstore.encrypted; "
                       "systemctl daemon-reload; cp -p /root/kept /etc/dossier/dossier.conf; systemctl restart dossierd")
            wait_until(self.ready, what="readiness")

        self.addCleanup(put_back)
        encrypt, ask = commands("Keep secrets")
        self.there(encrypt)
        self.there("rm /etc/dossier/master-key")
        self.there("systemctl restart dossierd")
        wait_until(self.ready, what="readiness")
        self.assertEqual(self.there("curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8080/v1/me "
                                    f"-H 'Authorization: Bearer {grant['access_token']}'"), "200")
        # It is not there in plain text.
        self.assertEqual(self.there("grep -rlFf /root/key /etc || true"), "")
        self.assertIn("master_key", self.there(ask, check=False))
        self.assertIn("credential@example.com", self.there(
            ask.replace("dossier doctor", "dossier user show credential@example.com")))

    def test_the_master_key_is_changed_and_then_lost(self):
        grant = json.loads(self.there(REGISTER % "keys@example.com"))
        client = json.loads(self.there("dossier client create --operator keys kind=machine --json 2>/dev/null"))

        def status(path, token):
            return self.there(f"curl -s -o /dev/null -w '%{{http_code}}' http://127.0.0.1:8080{path} "
                              f"-H 'Authorization: Bearer {token}'")

        added, moved, sealed, taken, lost = commands("Rotate keys")
        for script in [added, moved, sealed]:
            self.settled()
            self.there(script)
            wait_until(self.ready, what="readiness")
            self.assertEqual(status("/v1/me", grant["access_token"]), "200")
            self.assertEqual(status("/v1/apps", client["secret"]), "200")
        self.there(taken)
        self.settled()
        self.assertEqual(self.there("wc -w </etc/dossier/master-key").strip(), "1")
        self.assertEqual(status("/v1/apps", client["secret"]), "401")
        # The key and its file are lost. The script cannot answer questions.
        self.there("rm /etc/dossier/master-key\n" + lost.replace("-lost", "-lost --yes"))
        self.assertIn("-rw-r----- 1 root dossier", self.there("ls -l /etc/dossier/master-key"))
        wait_until(self.ready, what="readiness")
        self.there(REGISTER.replace("register", "login/password") % "keys@example.com"
                   + " | grep -q access_token")


if __name__ == "__main__":
    unittest.main()
