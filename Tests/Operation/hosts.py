"""Hosts with addresses of their own, on one network: namespaces of this machine."""

import contextlib
import ctypes
import os
import pathlib
import random
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/EndToEnd"))
from cluster import Cluster
from deployment import Deployment
from machine import IS_ROOT, new_folder

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
NODE_CONNINFO = "citus.node_conninfo=sslmode=disable tcp_user_timeout=3000 connect_timeout=3"


def ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, capture_output=True, text=True)


def reason_against():
    """Returns the reason why this machine has no network namespaces; nil if it has."""
    if not IS_ROOT:
        return "network namespaces take root"
    name = f"dossier-try-{os.getpid()}"
    made = ip("netns", "add", name, check=False)
    ip("netns", "delete", name, check=False)
    return made.stderr.strip() or None


class Network:
    """A bridge, and a namespace for each host that is connected with it."""

    def __init__(self, *names):
        self.tag = f"{random.randrange(1 << 20):05x}"
        self.prefix = f"10.{random.randrange(200, 255)}.{random.randrange(256)}."
        self.numbers = {name: index for index, name in enumerate(names, 11)}
        try:
            ip("link", "add", self.bridge, "type", "bridge")
            ip("link", "set", self.bridge, "up")
            for name in names:
                self.add(name)
        except BaseException:
            self.remove()
            raise

    @property
    def bridge(self):
        return f"dossier-{self.tag}"

    def namespace(self, name):
        return f"dossier-{self.tag}-{name}"

    def cable(self, name):
        """Returns the name of the end of a host's cable that is in the bridge."""
        return f"ds{self.tag}-{self.numbers[name]}"

    def address(self, name):
        return f"{self.prefix}{self.numbers[name]}"

    def add(self, name):
        namespace, cable = self.namespace(name), self.cable(name)
        ip("netns", "add", namespace)
        ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        ip("link", "set", cable, "up")
        ip("-n", namespace, "address", "add", f"{self.address(name)}/24", "dev", "eth0")
        for device in ["lo", "eth0"]:
            ip("-n", namespace, "link", "set", device, "up")
        self.connect(name)

    def connect(self, name):
        ip("link", "set", self.cable(name), "master", self.bridge)

    def cut(self, name):
        """Cuts a host off: packets from it and to it vanish."""
        ip("link", "set", self.cable(name), "nomaster")

    @contextlib.contextmanager
    def inside(self, name):
        """Lets this thread open sockets, and start processes, on a host."""
        with open("/proc/thread-self/ns/net") as before, \
                open(f"/run/netns/{self.namespace(name)}") as host:
            self.enter(host)
            try:
                yield
            finally:
                self.enter(before)

    @staticmethod
    def enter(namespace):
        if LIBC.setns(namespace.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")

    def remove(self):
        for name in self.numbers:
            # The other end of the cable goes with it.
            ip("link", "delete", self.cable(name), check=False)
            ip("netns", "delete", self.namespace(name), check=False)
        ip("link", "delete", self.bridge, check=False)


class Database(Cluster):
    """PostgreSQL on a host; if it is distributed, each node is on a host."""

    def __init__(self, network, *hosts):
        self.network, self.hosts, self.citus = network, hosts, len(hosts) > 1
        self.folder = new_folder()
        try:
            self.make_cluster()
            for data, _ in self.nodes():
                with open(data / "pg_hba.conf", "a") as rules:
                    rules.write(f"host all all {network.prefix}0/24 trust\n")
            self.start_postgres()
            if self.citus:
                self.name_nodes()
        except BaseException:
            self.stop()
            raise

    def start_node(self, data, port):
        host = self.hosts[port - 5432]
        with self.network.inside(host):
            super().start_node(data, port)

    def listens(self):
        return "-c listen_addresses=*"

    def connections(self):
        options = super().connections()
        # As the guide says.
        return options.replace("citus.node_conninfo=sslmode=disable",
                               f"'{NODE_CONNINFO}' -c citus.recover_2pc_interval=5s")

    def name_nodes(self):
        """Lets the nodes reach each other by their addresses."""
        address = self.network.address
        self.sql(f"select citus_set_coordinator_host('{address(self.hosts[0])}', 5432)")
        for (_, port), host in list(zip(self.nodes(), self.hosts))[1:]:
            self.sql(f"select citus_update_node(nodeid, '{address(host)}', {port}) "
                     f"from pg_dist_node where nodeport = {port}")

    def stop(self):
        for data, _ in self.nodes():
            if (data / "postmaster.pid").exists():
                self.stop_node(data, "immediate")
        shutil.rmtree(self.folder, ignore_errors=True)


class Host(Deployment):
    """dossierd and nginx on a host; requests are sent on that host."""

    def __init__(self, network, name, database, **options):
        self.network, self.name, self.database = network, name, database
        with network.inside(name):
            super().__init__(citus=False, **options)

    # The database is on another host.

    def make_cluster(self):
        # Each host has a name of its own.
        self.command = ["unshare", "--uts", "sh", "-c", f'hostname {self.name}; exec "$@"', "sh",
                        *self.command]

    def start_postgres(self):
        pass

    def nodes(self):
        return []

    def conninfo(self, user):
        return f"host={self.network.address(self.database.hosts[0])} user={user} dbname=dossier"

    def sql(self, text, port=5432):
        return self.database.sql(text, port)

    def connection(self, timeout=300):
        made = super().connection(timeout)
        with self.network.inside(self.name):
            made.connect()
        return made

    def dossier(self, *arguments, **options):
        with self.network.inside(self.name):
            return super().dossier(*arguments, **options)
