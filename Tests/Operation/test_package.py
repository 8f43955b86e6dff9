"""The package, installed on a bare Debian as the operator's guide says, and run there."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/EndToEnd"))
from machine import free_port, wait_until

# Programs that are built already, linked as deploy/package does; without it they are built.
PROGRAMS = os.environ.get("DOSSIER_TEST_RELEASE")
# What debootstrap made before; without it that is done here.
BASE = os.environ.get("DOSSIER_TEST_DEBIAN")


def mirror():
    """The first mirror of this machine's own sources."""
    text = "".join(path.read_text() for path in [
        pathlib.Path("/etc/apt/sources.list"), *pathlib.Path("/etc/apt/sources.list.d").glob("*")]
        if path.is_file())
    return re.search(r"^(?:URIs: |deb (?:\[[^]]*\] )?)(\S+)", text, re.M)[1]


@unittest.skipIf(os.geteuid() != 0, "debootstrap and chroot are for root")
class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="dossier-package-", dir="/var/tmp"))
        cls.folder.chmod(0o755)
        cls.root = cls.folder / "root"
        cls.processes = []
        try:
            subprocess.run(
                [ROOT / "deploy/package", "--output", cls.folder,
                 *(["--programs", PROGRAMS] if PROGRAMS else [])], check=True)
            cls.package, = cls.folder.glob("dossier_*.deb")
            if BASE:
                subprocess.run(["cp", "-a", BASE, cls.root], check=True)
            else:
                subprocess.run(
                    ["debootstrap", "--variant=minbase", "bookworm", cls.root, mirror()],
                    check=True, stdout=subprocess.DEVNULL)
            for kind in ["proc", "dev"]:
                subprocess.run(["mount", "--rbind", f"/{kind}", cls.root / kind], check=True)
                subprocess.run(["mount", "--make-rslave", cls.root / kind], check=True)
            shutil.copy("/etc/resolv.conf", cls.root / "etc/resolv.conf")
            # There is no init here that could start anything.
            policy = cls.root / "usr/sbin/policy-rc.d"
            policy.write_text("#!/bin/sh\nexit 101\n")
            policy.chmod(0o755)
            shutil.copy(cls.package, cls.root / "root/dossier.deb")
            cls.inside("apt-get update -q")
            cls.inside("apt-get install -y -q --no-install-recommends /root/dossier.deb "
                       "postgresql nginx-light curl")
        except BaseException:
            cls.tearDownClass()
            raise

    @classmethod
    def tearDownClass(cls):
        for process in reversed(cls.processes):
            process.terminate()
            process.wait(60)
        if (cls.root / "usr/bin/pg_ctlcluster").exists():
            cls.inside("pg_ctlcluster 15 main stop -m immediate", check=False)
        for kind in ["proc", "dev"]:
            subprocess.run(["umount", "-R", "-l", cls.root / kind], stderr=subprocess.DEVNULL)
        shutil.rmtree(cls.folder, ignore_errors=True)

    @classmethod
    def inside(cls, script, check=True):
        run = subprocess.run(
            ["chroot", cls.root, "/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
             "HOME=/root", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", "sh", "-ec", script],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if check and run.returncode != 0:
            raise AssertionError(f"{script}: {run.returncode}\n{run.stdout[-4000:]}")
        return run.stdout

    @classmethod
    def start(cls, *command):
        log = open(cls.folder / "log", "ab")
        process = subprocess.Popen(
            ["chroot", cls.root, *command], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        cls.processes.append(process)
        return process

    def test_it_is_installed_runs_and_goes(self):
        # No toolchain, no runtime of Swift.
        self.assertEqual(self.inside("find / -xdev -name 'libswift*' -not -path '/proc/*'"), "")
        for program in ["dossierd", "dossier", "dossier-migrate"]:
            self.assertIn("USAGE: ", self.inside(f"{program} --help"))
            self.assertTrue((self.root / f"usr/share/bash-completion/completions/{program}").exists())
        self.assertIn("-rw-r----- 1 root dossier", self.inside("ls -l /etc/dossier/master-key"))
        # The units are what systemd takes.
        verified = self.inside("systemd-analyze verify dossierd.socket dossierd.service "
                               "dossier-migrate.service 2>&1 | grep -i dossier || true")
        self.assertEqual(verified, "")
        self.assertEqual(self.inside("dossierd socket-unit --config /etc/dossier/dossier.conf"),
                         (ROOT / "deploy/systemd/dossierd.socket").read_text())
        # PostgreSQL, as the guide says.
        self.inside("pg_ctlcluster 15 main start")
        for command in ["createuser dossier", "createuser dossier-owner",
                        "createdb -O dossier-owner dossier"]:
            self.inside(f"setpriv --reuid=postgres --regid=postgres --init-groups {command}")
        self.assertIn("at version", self.inside("dossier-migrate up --grant-to dossier"))
        self.assertIn("default", self.inside("dossier app list"))
        # The service, as its unit starts it.
        port = free_port()
        groups = self.inside("echo $(id -g dossier),$(id -g www-data)").strip()
        self.start("setpriv", "--reuid=dossier", "--regid=dossier", f"--groups={groups}",
                   "dossierd", "run", "--config", "/etc/dossier/dossier.conf")
        self.inside("dossierd upstream --config /etc/dossier/dossier.conf "
                    ">/etc/nginx/conf.d/dossier-upstream.conf")
        self.inside(f"sed 's/127.0.0.1:8080/127.0.0.1:{port}/' /usr/share/dossier/nginx/dossier.conf "
                    ">/etc/nginx/conf.d/dossier.conf; rm -f /etc/nginx/sites-enabled/default; "
                    "cp /usr/share/dossier/nginx/dossier.fastcgi_params /etc/nginx/; nginx -t")
        self.start("nginx", "-g", "daemon off;")
        base = f"http://127.0.0.1:{port}"
        wait_until(lambda: "ready" == self.inside(f"curl -s {base}/readyz", check=False).strip(),
                   what="readiness: " + (self.folder / "log").read_text()[-2000:])
        grant = json.loads(self.inside(
            f"curl -s -X POST {base}/v1/register -H 'Content-Type: application/json' "
            "-d '{\"email\":\"ada@example.com\",\"password\":\"correct horse battery\"}'"))
        shown = json.loads(self.inside("dossier user show ada@example.com --output json"))
        self.assertEqual(shown["id"], grant["user_id"])
        # A picture takes libvips, and the confinement of its decoder.
        picture = self.root / "root/picture.jpg"
        subprocess.run(["/usr/bin/python3", "-c", "from PIL import Image; import sys; "
                        "Image.new('RGB', (40, 30), 'red').save(sys.argv[1])", picture], check=True)
        status = self.inside(
            f"curl -s -o /dev/null -w '%{{http_code}}' -X PUT {base}/v1/me/picture --data-binary "
            f"@/root/picture.jpg -H 'Content-Type: image/jpeg' "
            f"-H 'Authorization: Bearer {grant['access_token']}'")
        self.assertEqual(status, "200")
        # An upgrade keeps settings and key.
        key = (self.root / "etc/dossier/master-key").read_text()
        self.inside("echo '# mine' >>/etc/dossier/dossier.conf; "
                    "apt-get install -y -q --reinstall /root/dossier.deb </dev/null")
        self.assertIn("# mine", (self.root / "etc/dossier/dossier.conf").read_text())
        self.assertEqual((self.root / "etc/dossier/master-key").read_text(), key)
        self.inside("apt-get purge -y -q dossier")
        self.assertFalse((self.root / "usr/lib/dossier").exists())
        # What opens the database is not thrown away.
        self.assertEqual((self.root / "etc/dossier/master-key").read_text(), key)


if __name__ == "__main__":
    unittest.main()
