"""Installs and runs the package on a bare Debian with the commands of the operator's guide."""

import json
import os
import re
import subprocess
import unittest

from debian import ROOT, Debian
from machine import free_port, wait_until


@unittest.skipIf(os.geteuid() != 0, "debootstrap and chroot are for root")
class Package(unittest.TestCase):
    """Runs without systemd, as in a container. test_guide runs with it."""

    def setUp(self):
        self.machine = Debian()
        self.addCleanup(self.machine.remove)
        self.inside, self.start = self.machine.run, self.machine.start
        self.root = self.machine.root
        self.inside("apt-get install -y -q --no-install-recommends ./dossier_*.deb postgresql "
                    "nginx-light curl")

    def test_the_package_is_installed_runs_and_is_removed(self):
        # Neither the toolchain nor Swift's runtime is installed.
        self.assertEqual(self.inside("find / -xdev -name 'libswift*' -not -path '/proc/*'"), "")
        package, = self.root.glob("root/dossier_*.deb")
        self.assertLess(package.stat().st_size, 20_000_000)
        self.assertLess(int(self.inside("dpkg-query -W -f '${Installed-Size}' dossier")), 60_000)
        # One file has all programs, except for the decoder of pictures.
        for program in ["dossierd", "dossier-migrate", "dossier-streams"]:
            self.assertEqual(self.inside(f"readlink /usr/lib/dossier/{program}"), "dossier\n")
            self.assertRegex(self.inside(f"/usr/lib/dossier/{program} --version"), r"^\d+\.\d+\.\d+\n$")
        for program in ["dossierd", "dossier", "dossier-migrate"]:
            self.assertIn("USAGE: ", self.inside(f"{program} --help"))
            for path in [f"bash-completion/completions/{program}",
                         f"zsh/vendor-completions/_{program}",
                         f"fish/vendor_completions.d/{program}.fish"]:
                self.assertIn(program, (self.root / "usr/share" / path).read_text())
        # All copies of an image would share a key of the installation.
        self.assertFalse((self.root / "etc/dossier/master-key").exists())
        self.assertIn("made /etc/dossier/master-key", self.inside("/usr/lib/dossier/make-key"))
        self.assertIn("-rw-r----- 1 root dossier", self.inside("ls -l /etc/dossier/master-key"))
        self.assertEqual(self.inside("/usr/lib/dossier/make-key"), "")
        for page in ["man1/dossier.1.gz", "man8/dossierd.8.gz", "man8/dossier-migrate.8.gz"]:
            self.assertTrue((self.root / "usr/share/man" / page).exists())
        self.assertIn("has not chosen a license",
                      (self.root / "usr/share/doc/dossier/copyright").read_text())
        self.assertIn("Unreleased", self.inside("zcat /usr/share/doc/dossier/changelog.gz"))
        # A build of another commit has another version.
        commit = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%h", "--abbrev=8"],
                                capture_output=True, text=True).stdout.strip()
        self.assertRegex(self.inside("dpkg-query -W -f '${Version}' dossier"),
                         rf"^[\d.]+\+\d{{14}}\.({commit}|changed)$" if commit else r"^[\d.]+$")
        # systemd accepts the units.
        verified = self.inside("systemd-analyze verify dossierd.socket dossierd.service "
                               "dossier-streams.socket dossier-streams.service "
                               "dossier-key.service dossier-migrate.service dossier-backup.service "
                               "dossier-backup.timer 2>&1 | grep -i dossier || true")
        self.assertEqual(verified, "")
        # Backups run only if the operator enables them.
        self.assertEqual(self.inside("systemctl is-enabled dossier-backup.timer || true"), "disabled\n")
        self.assertEqual(self.inside("dossierd socket-unit --config /etc/dossier/dossier.conf"),
                         (ROOT / "deploy/systemd/dossierd.socket").read_text())
        # PostgreSQL, with the commands of the guide.
        self.inside("pg_ctlcluster 15 main start")
        for command in ["createuser dossier", "createuser dossier-owner",
                        "createdb -O dossier-owner dossier"]:
            self.inside(f"setpriv --reuid=postgres --regid=postgres --init-groups {command}")
        self.assertIn("at version", self.inside("dossier-migrate up --grant-to dossier"))
        self.assertIn("default", self.inside("dossier app list"))
        # The service, with the command of its unit.
        port = free_port()
        groups = self.inside("echo $(id -g dossier),$(id -g www-data)").strip()
        self.start("setpriv", "--reuid=dossier", "--regid=dossier", f"--groups={groups}",
                   "dossierd", "run", "--config", "/etc/dossier/dossier.conf")
        self.inside("dossierd upstream --config /etc/dossier/dossier.conf "
                    ">/etc/nginx/conf.d/dossier-upstream.conf")
        self.inside(f"sed 's/127.0.0.1:8080/127.0.0.1:{port}/' /usr/share/dossier/nginx/dossier.conf "
                    ">/etc/nginx/conf.d/dossier.conf; rm -f /etc/nginx/sites-enabled/default; "
                    "cp /usr/share/dossier/nginx/dossier.fastcgi_params "
                    "/usr/share/dossier/nginx/dossier.body_limits "
                    "/usr/share/dossier/nginx/dossier.error_pages /etc/nginx/; nginx -t")
        self.start("nginx", "-g", "daemon off;")
        base = f"http://127.0.0.1:{port}"
        wait_until(lambda: "ready" == self.inside(f"curl -s {base}/readyz", check=False).strip(),
                   what="readiness: " + self.machine.log())
        # The client for web pages, with all files that it loads.
        client = self.inside(f"curl -sf {base}/dossier.js")
        self.assertIn("export class Dossier", client)
        loaded = re.findall(r'(?m)^import .* from "\./(.*)";$', client)
        self.assertGreater(len(loaded), 0)
        for name in [*loaded, "dossier.d.ts"]:
            self.inside(f"curl -sf {base}/{name} >/dev/null")
        grant = json.loads(self.inside(
            f"curl -s -X POST {base}/v1/register -H 'Content-Type: application/json' "
            "-d '{\"email\":\"ada@example.com\",\"password\":\"correct horse battery\"}'"))
        shown = json.loads(self.inside("dossier user show ada@example.com --json"))
        self.assertEqual(shown["id"], grant["user_id"])
        # A picture needs libvips and the confinement of its decoder.
        picture = self.root / "root/picture.jpg"
        subprocess.run(["/usr/bin/python3", "-c", "from PIL import Image; import sys; "
                        "Image.new('RGB', (40, 30), 'red').save(sys.argv[1])", picture], check=True)
        status = self.inside(
            f"curl -s -o /dev/null -w '%{{http_code}}' -X PUT {base}/v1/me/picture --data-binary "
            f"@/root/picture.jpg -H 'Content-Type: image/jpeg' "
            f"-H 'Authorization: Bearer {grant['access_token']}'")
        self.assertEqual(status, "200")
        self.connect_over_tls()
        self.go_forth_and_back()
        # An upgrade keeps the settings and the master key.
        key = (self.root / "etc/dossier/master-key").read_text()
        self.inside("echo '# mine' >>/etc/dossier/dossier.conf; "
                    "apt-get install -y -q --reinstall ./dossier_*.deb")
        self.assertIn("# mine", (self.root / "etc/dossier/dossier.conf").read_text())
        self.assertEqual((self.root / "etc/dossier/master-key").read_text(), key)
        self.inside("apt-get purge -y -q dossier")
        self.assertFalse((self.root / "usr/lib/dossier").exists())
        # A removal keeps the key that decrypts the database.
        self.assertEqual((self.root / "etc/dossier/master-key").read_text(), key)

    def as_postgres(self, command):
        return self.inside(f"setpriv --reuid=postgres --regid=postgres --init-groups {command}")

    def connect_over_tls(self):
        """Connects to the database as on another machine, with the certificate that Debian created."""
        port = self.inside("pg_lsclusters -h | cut -d ' ' -f 3").strip()
        settings = (self.root / "etc/dossier/dossier.conf").read_text()
        for role, setting, file in [("dossier", "database", "dossier"),
                                    ("dossier-owner", "migrate_database", "owner")]:
            passfile = f"/etc/dossier/{file}.pgpass"
            self.as_postgres(f"""psql -qc "alter role \\"{role}\\" password 'of {role}'" """)
            self.inside(f"echo '*:*:*:*:of {role}' >{passfile}; chown {role} {passfile}; "
                        f"chmod 600 {passfile}")
            line = (f"{setting} = host=127.0.0.1 port={port} dbname=dossier user={role} "
                    f"passfile={passfile} sslmode=verify-ca "
                    "sslrootcert=/etc/ssl/certs/ssl-cert-snakeoil.pem")
            settings = re.sub(rf"(?m)^{setting} = .*$", line, settings)
        (self.root / "etc/dossier/dossier.conf").write_text(settings)
        self.assertIn("default", self.inside("dossier app list"))
        self.assertIn("and the schema matches them",
                      self.inside("dossier-migrate verify --grant-to dossier"))

    def go_forth_and_back(self):
        """Tests an upgrade that changes the schema, and the guide's rollback without systemd."""
        before = self.inside("dossier-migrate status")
        version = int(before.splitlines()[-1].split()[0])
        self.machine.later_package()
        self.inside("apt-get install -y -q ./dossier_NEW.deb")
        self.assertIn("at version 9001", self.inside("dossier-migrate up --grant-to dossier"))
        guide = (ROOT / "deploy/README.md").read_text()
        guide = guide[guide.index("To go back, install the old package"):]
        back, undo = re.findall(r"(?ms)^```sh\n(.*?)^```$", guide)[:2]
        said = self.inside(re.sub(r"(?m)^systemctl .*\n", "", back).replace(
            "apt install ", "apt-get install -y -q "))
        self.assertIn("nothing to do; at version 9001", said)
        self.assertRegex(said, r"(?m)^9001  next  newer ")
        self.assertIn(f"at version {version}", self.inside(undo.replace(" N", f" {version}")))
        self.assertEqual(self.inside("dossier-migrate status"), before)
        self.inside("dossier-migrate verify --grant-to dossier; rm dossier_NEW.deb dossier_OLD.deb")


if __name__ == "__main__":
    unittest.main()
