"""Three database hosts with Debian's etcd and Patroni, from the files in deploy/ha.

Each host has its own loopback address, so the files keep their ports.
"""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

from guide import HIGH_AVAILABILITY, commands

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/EndToEnd"))
from machine import AS_POSTGRES, IS_ROOT, TOOLS, wait_until

FILES = ROOT / "deploy/ha"
PORTS = [2379, 2380, 5432, 8008]
PASSWORDS = {f"{name}_PASSWORD": f"{name.lower()}-secret" for name in ["OWNER", "SERVER"]}


def free_network():
    """Returns a network like `127.45.67.`, of which no host uses a port."""
    while True:
        network = f"127.{random.randrange(1, 255)}.{random.randrange(256)}."
        try:
            for host in [11, 12, 13]:
                for port in PORTS:
                    with socket.socket() as probe:
                        probe.bind((f"{network}{host}", port))
        except OSError:
            continue
        return network


def descendants(pid):
    """Returns the process and all processes below it."""
    try:
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except FileNotFoundError:
        return []
    return [pid, *(found for child in children for found in descendants(int(child)))]


class Host:
    """One database host."""

    def __init__(self, cluster, index):
        self.cluster, self.name = cluster, f"db{index}"
        self.address = f"{cluster.network}{10 + index}"
        self.folder = cluster.folder / self.name
        self.folder.mkdir(mode=0o700)
        self.processes = {}
        self.log = open(self.folder / "log", "ab")

    def configure(self):
        (self.folder / "config.yml").write_text(self.substituted("patroni.yml", "Start Patroni"))
        for name in ["server.crt", "server.key"]:
            shutil.copy(self.cluster.folder / f"{self.name}{name[-4:]}", self.folder / name)
        shutil.copy(self.cluster.folder / "ca.crt", self.folder)
        if IS_ROOT:
            for path in [self.folder, *self.folder.iterdir()]:
                shutil.chown(path, "postgres", "postgres")
        (self.folder / "server.key").chmod(0o600)
        (self.folder / "config.yml").chmod(0o640)

    def substituted(self, name, heading):
        """Returns a file of deploy/ha, as the commands of the chapter write it on this host."""
        command = re.search(rf"(?s)sed .*?{name}", commands(heading, HIGH_AVAILABILITY)[0])[0]
        command = command.replace("db1", self.name).replace("10.0.0.11", self.address)
        text = subprocess.run(["bash", "-c", command], cwd=FILES, check=True,
                              capture_output=True, text=True).stdout
        for before, after in [
            # Every loopback connection comes from 127.0.0.1.
            ("10.0.0.0/24", "127.0.0.0/8"), ("10.0.0.", self.cluster.network),
            ("/etc/patroni", str(self.folder)), ("/var/run/postgresql", str(self.folder)),
            ("/var/lib/postgresql", str(self.folder)), ("/var/lib/etcd", str(self.folder)),
        ]:
            text = text.replace(before, after)
        return text

    def start(self):
        settings = dict(line.split("=", 1) for line in self.substituted("etcd", "Start etcd").splitlines()
                        if not line.startswith("#"))
        self.start_process("etcd", ["/usr/bin/etcd"], settings)
        self.start_process("patroni", ["/usr/bin/patroni", self.folder / "config.yml"])

    def start_process(self, name, command, settings=()):
        # systemd sets the home of the user; root's holds files that postgres cannot read.
        environment = {**os.environ, **self.backup_environment(), **dict(settings)}
        self.processes[name] = subprocess.Popen(
            [*AS_POSTGRES, *command], env=environment, stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=self.log, cwd="/")

    def postmaster(self):
        """Returns the process of PostgreSQL, or none."""
        file = self.folder / "15/dossier/postmaster.pid"
        return int(file.read_text().split()[0]) if file.exists() else None

    def signal_postgres(self, number):
        os.kill(self.postmaster(), number)

    def everything(self):
        """Returns all processes of the host."""
        found = [process.pid for process in self.processes.values() if process.poll() is None]
        postmaster = self.postmaster()
        below = descendants(postmaster) if postmaster else []
        # The file may be left from a server that was killed.
        return found + (below if self.is_postgres(postmaster) else [])

    @staticmethod
    def is_postgres(pid):
        try:
            return os.readlink(f"/proc/{pid}/exe") == str(TOOLS / "postgres")
        except OSError:
            return False

    def kill(self):
        """Ends the host as a power failure does."""
        self.signal_all(signal.SIGSTOP)
        self.signal_all(signal.SIGKILL)
        for process in self.processes.values():
            process.wait()

    def signal_all(self, number):
        for pid in self.everything():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def stop(self):
        self.signal_all(signal.SIGCONT)
        self.kill()
        self.log.close()

    def status(self):
        """Returns what Patroni reports of this host."""
        try:
            with urllib.request.urlopen(f"http://{self.address}:8008/patroni", timeout=5) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return json.load(error)
        except OSError:
            return {}

    def backup_environment(self):
        """Returns the environment in which pgBackRest finds this host's files."""
        return {"HOME": str(self.folder), "PGHOST": str(self.folder), "PGUSER": "postgres",
                "PGBACKREST_CONFIG": str(self.folder / "pgbackrest.conf"),
                "PGBACKREST_PG1_SOCKET_PATH": str(self.folder),
                **{f"PGBACKREST_{name}_PATH": str(self.folder)
                   for name in ["LOG", "LOCK", "SPOOL"]}}

    def sql(self, text, database="dossier"):
        run = subprocess.run(
            [*AS_POSTGRES, TOOLS / "psql", "-h", self.folder, "-U", "postgres", "-d", database,
             "-Atqc", text], check=True, capture_output=True, text=True, cwd="/")
        return run.stdout.strip()


class DatabaseHosts:
    def __init__(self, folder):
        """Makes the three hosts in a folder, and starts them."""
        self.folder, self.network = folder, free_network()
        self.folder.chmod(0o755)
        self.hosts = [Host(self, index) for index in [1, 2, 3]]
        authority, *_ = commands("Make certificates", HIGH_AVAILABILITY)
        subprocess.run(["bash", "-ec", authority.replace("10.0.0.", self.network)],
                       cwd=folder, check=True, stderr=subprocess.DEVNULL)
        for host in self.hosts:
            host.configure()
            host.start()
        self.wait_for_synchronous_replica()

    def wait_for_synchronous_replica(self, count=3):
        """Waits until `count` hosts run, and one replica is synchronous."""
        def runs():
            try:
                members = self.members()
            except (subprocess.CalledProcessError, ValueError):
                return False
            running = [row for row in members if row["State"] in ("running", "streaming")]
            return len(running) == count and {"Leader", "Sync Standby"} <= {
                row["Role"] for row in running}

        wait_until(runs, seconds=300, what="a leader and a synchronous replica")

    def patronictl(self, *words):
        """Runs patronictl on a host that runs."""
        config = next(host for host in self.hosts if self.is_alive(host)).folder / "config.yml"
        return subprocess.run(
            ["/usr/bin/patronictl", "-c", config, *words], check=True, capture_output=True,
            text=True).stdout

    @staticmethod
    def is_alive(host):
        return host.processes["patroni"].poll() is None

    def members(self):
        return json.loads(self.patronictl("list", "--format", "json"))

    def leader(self):
        """Returns the host that takes writes."""
        leader, = [row["Member"] for row in self.members() if row["Role"] == "Leader"]
        return next(host for host in self.hosts if host.name == leader)

    def another_leads(self, former):
        """Returns whether a host other than `former` takes writes."""
        return any(self.is_alive(host) and host.status().get("role") == "master"
                   and host.status().get("state") == "running"
                   for host in self.hosts if host is not former)

    def connection(self, name):
        """Returns a connection string of the chapter."""
        direct, through_haproxy = re.findall(r"(?ms)^```ini\n(.*?)^```$", HIGH_AVAILABILITY)
        text = through_haproxy if name == "database through HAProxy" else direct
        setting = re.search(rf"(?m)^{name.split()[0]} = (.*)$", text)[1]
        return self.with_passwords(setting).replace("10.0.0.", self.network).replace(
            "/etc/dossier", str(self.folder))

    @staticmethod
    def with_passwords(text):
        for name, password in PASSWORDS.items():
            text = text.replace(name, password)
        return text

    def stop(self):
        for host in self.hosts:
            host.stop()
