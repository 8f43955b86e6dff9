"""A bare Debian in a folder with the tested package, entered or booted with systemd."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/EndToEnd"))
from machine import wait_until

# A folder with built programs, linked like those of deploy/package. Without it, they are built.
PROGRAMS = os.environ.get("DOSSIER_TEST_RELEASE")
# A folder made by debootstrap. Without it, this file runs debootstrap.
BASE = os.environ.get("DOSSIER_TEST_DEBIAN")
# The environment of a person who is logged in as root.
LOGIN = ["/usr/bin/env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
         "HOME=/root", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"]


def mirror():
    """Returns the first mirror in this machine's sources."""
    text = "".join(path.read_text() for path in [
        pathlib.Path("/etc/apt/sources.list"), *pathlib.Path("/etc/apt/sources.list.d").glob("*")]
        if path.is_file())
    return re.search(r"^(?:URIs: |deb (?:\[[^]]*\] )?)(\S+)", text, re.M)[1]


class Debian:
    """A Debian with the package in `/root`, and nothing else installed."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dossier-debian-", dir="/var/tmp"))
        self.folder.chmod(0o755)
        self.root = self.folder / "root"
        self.processes = []
        self.leader = None
        try:
            subprocess.run(
                [ROOT / "deploy/package", "--output", self.folder,
                 *(["--programs", PROGRAMS] if PROGRAMS else [])], check=True)
            if BASE:
                subprocess.run(["cp", "-a", BASE, self.root], check=True)
            else:
                subprocess.run(
                    ["debootstrap", "--variant=minbase", "bookworm", self.root, mirror()],
                    check=True, stdout=subprocess.DEVNULL)
            shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
            # Nothing may start without an init process.
            self.policy = self.root / "usr/sbin/policy-rc.d"
            self.policy.write_text("#!/bin/sh\nexit 101\n")
            self.policy.chmod(0o755)
            package, = self.folder.glob("dossier_*.deb")
            shutil.copy(package, self.root / "root" / package.name)
            self.enter()
            self.run("apt-get update -q")
        except BaseException:
            self.remove()
            raise

    def later_package(self):
        """Puts `dossier_OLD.deb` and `dossier_NEW.deb` into root's home, and returns the old version.

        The new package is that of a later commit with one more migration.
        """
        package, = self.folder.glob("dossier_*.deb")
        folder = self.folder / "later"
        subprocess.run(["dpkg-deb", "-R", package, folder], check=True)
        control = folder / "DEBIAN/control"
        old = re.search(r"(?m)^Version: (.*)$", control.read_text())[1]
        control.write_text(control.read_text().replace(f"Version: {old}", f"Version: {old}.1"))
        (folder / "usr/share/dossier/migrations/9001_next.sql").write_text(
            "-- migrate: up\ncreate table next_release (id int);\n"
            "-- migrate: down\ndrop table next_release;\n")
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", "-Znone", "-b", folder,
             self.root / "root/dossier_NEW.deb"], check=True, stdout=subprocess.DEVNULL)
        shutil.copy(package, self.root / "root/dossier_OLD.deb")
        return old

    def enter(self):
        for kind in ["proc", "dev"]:
            subprocess.run(["mount", "--rbind", f"/{kind}", self.root / kind], check=True)
            subprocess.run(["mount", "--make-rslave", self.root / kind], check=True)

    def leave(self):
        for kind in ["proc", "dev"]:
            subprocess.run(["umount", "-R", "-l", self.root / kind], stderr=subprocess.DEVNULL)

    def boot(self):
        """Starts systemd in a separate network. Returns false if this machine cannot do that."""
        self.leave()
        self.policy.unlink()
        with open(self.folder / "boot", "wb") as log:
            machine = subprocess.Popen(
                ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--private-network",
                 "--resolv-conf=off", "-D", self.root, "--boot"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.processes.append(machine)

        def is_up():
            self.leader = self.leader or self.first_process(machine.pid)
            return machine.poll() is not None or self.leader and self.run(
                "systemctl is-system-running", check=False).strip() in ("running", "degraded")

        wait_until(is_up, what="systemd: " + (self.folder / "boot").read_text()[-2000:])
        return machine.poll() is None

    def first_process(self, parent):
        """Returns the child that is process 1 in its namespace."""
        children = pathlib.Path(f"/proc/{parent}/task/{parent}/children")
        for child in children.read_text().split() if children.exists() else []:
            try:
                status = pathlib.Path(f"/proc/{child}/status").read_text()
            except FileNotFoundError:
                continue
            if re.search(r"^NSpid:.*\t1$", status, re.M):
                return int(child)

    def inside(self, *command):
        """Returns the arguments that run a command in this Debian."""
        if self.leader:
            return ["nsenter", f"--target={self.leader}", "--mount", "--uts", "--ipc", "--net",
                    "--pid", "--root", "--wdns=/root", *LOGIN, *command]
        return ["chroot", self.root, *LOGIN, *command]

    def run(self, script, check=True):
        """Runs a script as root, and returns its output."""
        run = subprocess.run(
            self.inside("sh", "-ec", f"cd /root\n{script}"), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if check and run.returncode != 0:
            raise AssertionError(f"{script}: {run.returncode}\n{run.stdout[-4000:]}")
        return run.stdout

    def start(self, *command):
        """Starts a command that runs until the end."""
        with open(self.folder / "log", "ab") as log:
            self.processes.append(subprocess.Popen(
                self.inside(*command), stdout=log, stderr=log, stdin=subprocess.DEVNULL))

    def log(self):
        return (self.folder / "log").read_text()[-2000:]

    def remove(self):
        for process in reversed(self.processes):
            # systemd ends at the third of these signals, even if units still run.
            process.terminate()
            try:
                process.wait(120)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self.leader is None and (self.root / "usr/bin/pg_ctlcluster").exists():
            self.run("pg_ctlcluster 15 main stop -m immediate", check=False)
        self.leave()
        shutil.rmtree(self.folder, ignore_errors=True)
