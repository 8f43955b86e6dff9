"""A bare Debian in a folder with the tested package, entered or booted with systemd."""

import copy
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
from machine import wait_until

# A folder with built programs, linked like those of deploy/package. Without it, they are built.
PROGRAMS = os.environ.get("DOSSIER_TEST_RELEASE")
# A folder made by debootstrap. Without it, this file runs debootstrap.
BASE = os.environ.get("DOSSIER_TEST_DEBIAN")
# The environment of a person who is logged in as root.
LOGIN = ["/usr/bin/env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
         "HOME=/root", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"]


def mirror():
    """Returns the mirror from which this machine takes Debian's packages."""
    found = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian",
         "Codename: bookworm"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    if not found:
        sys.exit("error: apt-get knows no packages of Debian bookworm; run apt-get update")
    return found[0]


class Debian:
    """A Debian with the package in `/root`, and nothing else installed."""

    def __init__(self, package=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dossier-debian-", dir="/var/tmp"))
        self.folder.chmod(0o755)
        self.root = self.folder / "root"
        self.processes = []
        self.leader = None
        try:
            if package:
                shutil.copy(package, self.folder)
            else:
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
            # A power failure need not leave the packages whole.
            (self.root / "etc/dpkg/dpkg.cfg.d/unsafe").write_text("force-unsafe-io\n")
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

    def bootable(self, *packages):
        """Installs systemd, and fetches packages for the time without a network."""
        self.run("apt-get install -y -q --no-install-recommends systemd-sysv dbus\n"
                 f"apt-get install -y -q --download-only {' '.join(packages)}\n"
                 "mkdir -p /var/cache/kept && cp /var/cache/apt/archives/*.deb /var/cache/kept/")

    def copy(self):
        """Returns a copy of this Debian, which has not been booted."""
        self.leave()
        made = copy.copy(self)
        made.processes, made.folder = [], pathlib.Path(tempfile.mkdtemp(prefix="dossier-debian-", dir="/var/tmp"))
        made.folder.chmod(0o755)
        made.root = made.folder / "root"
        made.policy = made.root / self.policy.relative_to(self.root)
        subprocess.run(["cp", "-a", self.root, made.root], check=True)
        return made

    def boot(self, *options):
        """Starts systemd, in a separate network by default. Skips the tests if this machine cannot do that."""
        self.leave()
        self.policy.unlink()
        groups = self.control_groups()
        with open(self.folder / "boot", "wb") as log:
            try:
                for group in groups:
                    group.mkdir()
            except OSError as error:
                raise unittest.SkipTest(f"systemd does not boot here: {error}")
            machine = subprocess.Popen(
                ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit",
                 *(options or ["--private-network"]), "--resolv-conf=off", "-D", self.root, "--boot"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                preexec_fn=lambda: [(group / "cgroup.procs").write_text("0") for group in groups])
        self.processes.append(machine)

        def is_up():
            self.leader = self.leader or self.first_process(machine.pid)
            return machine.poll() is not None or self.leader and self.run(
                "systemctl is-system-running", check=False).strip() in ("running", "degraded")

        wait_until(is_up, what="systemd: " + (self.folder / "boot").read_text()[-2000:])
        if machine.poll() is not None:
            raise unittest.SkipTest("systemd does not boot here: " + (self.folder / "boot").read_text()[-500:])
        # systemd empties the cache of apt.
        self.run("mv /var/cache/kept/*.deb /var/cache/apt/archives/")

    def start_relay(self):
        """Starts a mail relay on the machine itself. Python is there as a dependency."""
        self.start("python3", "-W", "ignore", "-m", "smtpd", "-n", "-c", "DebuggingServer", "127.0.0.1:25")
        wait_until(lambda: "up" in self.run("bash -c 'exec 3<>/dev/tcp/127.0.0.1/25' && echo up", check=False),
                   what="the relay: " + self.log())

    def control_groups(self):
        """Returns groups of this Debian alone, since the systemd of each manages the one that it finds."""
        found = []
        for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
            number, controllers, path = line.split(":", 2)
            tree = pathlib.Path("/sys/fs/cgroup")
            if controllers == "name=systemd":
                tree /= "systemd"
            elif number != "0":
                continue
            elif (tree / "unified").exists():
                tree /= "unified"
            found.append(tree / path[1:] / self.folder.name)
        return found

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
        for group in self.control_groups():
            for below, _, _ in os.walk(group, topdown=False):
                os.rmdir(below)
        shutil.rmtree(self.folder, ignore_errors=True)
