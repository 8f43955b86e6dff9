"""A PostgreSQL cluster of a test run."""

import atexit
import contextlib
import functools
import json
import os
import pathlib
import random
import shutil
import subprocess

from machine import AS_POSTGRES, BUILD, IS_ROOT, ROOT, TOOLS, new_folder

# Names the folder of a `Template`, which all the classes of a run copy.
TEMPLATE = "DOSSIER_TEST_CLUSTER"

# If it is set, the database is distributed over the nodes of Citus; see `run.py --citus`.
CITUS = "DOSSIER_TEST_CITUS"

# The folders of the data: of the coordinator, and of the nodes with the shards.
NODES = ["postgres", "first", "second"]

# The folder of the sockets, for a server whose working directory is its data.
SOCKETS = "/proc/self/cwd/.."


class Cluster:
    """A PostgreSQL cluster in `folder`, which the subclass sets.

    With `tls`, programs connect as the guide says for a database on another machine: over TCP, with a
    password, and they verify the server's certificate.
    """

    tls = False
    PASSWORD = "of the tests"

    # The folder of PostgreSQL's programs.
    tools = TOOLS

    def conninfo(self, user):
        if self.tls:
            return (f"host={self.address} user={user} dbname=dossier password='{self.PASSWORD}' "
                    f"sslmode=verify-full sslrootcert={self.folder}/postgres.crt")
        return f"host={self.folder} user={user} dbname=dossier"

    # The migrator and the migrations of another version.
    schema = None

    # Whether the database is distributed.
    citus = False

    def nodes(self):
        """Returns the folders of the data, and the port of each socket."""
        names = NODES if self.citus else NODES[:1]
        return [(self.folder / name, 5432 + index) for index, name in enumerate(names)]

    def make_cluster(self):
        """Copies the template, or makes a cluster of another version."""
        if IS_ROOT:
            shutil.chown(self.folder, "postgres")
        made = Template(*self.schema) if self.schema else None
        source = made.folder if made else template(self.citus)
        for data, _ in self.nodes():
            subprocess.run(["cp", "-a", "--reflink=auto", source / data.name, data], check=True)
        if made:
            made.remove()
        if self.tls:
            self.require_tls(self.folder / "postgres")

    def make_data(self, data):
        """Makes the data of a server without databases of ours."""
        data.mkdir(mode=0o700)
        if IS_ROOT:
            shutil.chown(data, "postgres")
        subprocess.run(
            [*AS_POSTGRES, self.tools / "initdb", "-D", data, "-U", "owner", "-A", "trust",
             "--locale=C.UTF-8", "-E", "UTF8", "--no-sync",
             # Copies of the template are a third as large.
             "--wal-segsize=1"],
            check=True, stdout=subprocess.DEVNULL, cwd="/")

    def make_database(self, port):
        """Makes the empty database and the role of the programs."""
        for tool, name in [("createdb", "dossier"), ("createuser", "server")]:
            subprocess.run(
                [TOOLS / tool, "-h", self.folder, "-p", str(port), "-U", "owner", name],
                check=True, stderr=subprocess.DEVNULL)

    def move_tables(self, tables, space):
        """Moves tables, on Citus their shards, to a tablespace that each node has."""
        names, allowed = "relname in ('" + "', '".join(tables) + "')", ""
        if self.citus:
            names = (f"relname ~ '^({'|'.join(tables)})(_[0-9]+)?$' and oid not in "
                     "(select logicalrelid from pg_dist_partition)")
            allowed = ("set citus.override_table_visibility = off; "
                       "set citus.enable_manual_changes_to_shards = on; ")
        for _, port in self.nodes():
            for name in self.sql(f"{allowed}select relname from pg_class where {names}", port).split():
                self.sql(f"{allowed}alter table {name} set tablespace {space}", port)

    def require_tls(self, cluster):
        """Makes a certificate, and requires TLS and a password for connections over TCP."""
        # All of 127.0.0.0/8 is this machine, so the address is unique.
        self.address = "127." + ".".join(str(random.randrange(1, 255)) for _ in range(3))
        key, certificate = cluster / "server.key", cluster / "server.crt"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-days", "2", "-subj", "/CN=postgres", "-addext",
             f"subjectAltName=IP:{self.address}", "-keyout", key, "-out", certificate],
            check=True, capture_output=True)
        shutil.copy(certificate, self.folder / "postgres.crt")
        (self.folder / "postgres.crt").chmod(0o644)
        key.chmod(0o600)
        if IS_ROOT:
            shutil.chown(key, "postgres")
            shutil.chown(certificate, "postgres")
        (cluster / "pg_hba.conf").write_text(
            "local all all trust\nlocal replication all trust\n"
            "hostssl all all 127.0.0.0/8 scram-sha-256\n"
            "hostssl replication all 127.0.0.0/8 scram-sha-256\n")
        with open(cluster / "postgresql.conf", "a") as settings:
            settings.write("ssl = on\n")

    def start_postgres(self):
        # The coordinator is last, since it asks the others.
        for node in reversed(self.nodes()):
            self.start_node(*node)

    def start_node(self, data, port):
        subprocess.run(
            [*AS_POSTGRES, self.tools / "pg_ctl", "-D", data, "-s", "-w", "-l", data / "server.log",
             "-o", f"-k {self.folder} -p {port} {self.listens()} -c fsync=off "
             # A busy machine may take minutes for the start of a connection.
             f"-c authentication_timeout=600 -c log_error_verbosity=terse {self.connections()}", "start"],
            check=True, cwd="/", stdout=subprocess.DEVNULL)

    def connections(self):
        """Returns the server's options for connections, and for Citus."""
        if not self.citus:
            return "-c max_connections=100"
        # Each node finds the sockets of the others beside its data, also in a copy.
        return ("-c max_connections=300 -c shared_preload_libraries=citus -c wal_level=logical "
                "-c max_prepared_transactions=300 -c citus.shard_count=8 "
                f"-c citus.local_hostname={SOCKETS} -c citus.node_conninfo=sslmode=disable "
                "-c citus.enable_statistics_collection=off")

    def listens(self):
        """Returns the server's option for the addresses on which it listens."""
        return f"-c listen_addresses={self.address if self.tls else repr('')}"

    def stop_postgres(self, mode="fast"):
        for data, _ in self.nodes():
            self.stop_node(data, mode)

    def stop_node(self, data, mode="fast"):
        subprocess.run(
            [*AS_POSTGRES, self.tools / "pg_ctl", "-D", data, "-s", "-w", "-m", mode, "stop"],
            check=True, cwd="/")

    def sql(self, text, port=5432):
        """Executes SQL as the owner. Returns its output."""
        run = subprocess.run(
            [TOOLS / "psql", "-h", self.folder, "-p", str(port), "-U", "owner", "-d", "dossier",
             "-Atqc", text],
            check=True, capture_output=True, text=True)
        return run.stdout.strip()

    def waiting(self):
        """Returns the number of statements that wait for a lock."""
        query = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
        return sum(int(self.sql(query, port)) for _, port in self.nodes())

    def counts(self, tables, queries):
        """Returns the number of rows of each query by its name.

        It reads the tables as a whole first, since Citus joins only rows of one node.
        """
        read = ", ".join(f"{table} as materialized (select * from {table})" for table in tables)
        counts = ", ".join(f"(select count(*) from ({query}) q)" for query in queries.values())
        return dict(zip(queries, map(int, self.sql(f"with {read} select {counts}").split("|"))))

    @contextlib.contextmanager
    def locked(self, table):
        """Locks a table, so that other statements on it wait."""
        psql = subprocess.Popen(
            [TOOLS / "psql", "-h", self.folder, "-U", "owner", "-d", "dossier", "-Atq",
             "-v", "ON_ERROR_STOP=1"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with psql:
            print(f"begin; lock {table}; select 'locked';", file=psql.stdin, flush=True)
            assert psql.stdout.readline() == "locked\n"
            yield
            # The lock lasts until the session ends.
            psql.stdin.close()

    def set_app(self, name="default", **settings):
        self.sql(f"update apps set settings = settings || {quoted(settings)}, "
                 f"version = version + 1 where name = '{name}'")

    def create_app(self, name):
        """Creates an app as an operator does, and opens the APIs of other services to it."""
        self.dossier("app", "create", name)
        self.dossier("app", "set", "--app", name, *(f"{setting}=true" for setting in WIRES))

    def add_app(self, name, **settings):
        """Creates an app; returns the header that selects it. Workers look up unknown names at once."""
        self.sql("insert into apps (app_id, name, settings) values "
                 f"(new_object_id(), '{name}', {quoted({**WIRES, **settings})})")
        return {"Dossier-App": name}

    def add_issuer(self, name, issuer="https://issuer.example.com", app="default", **attributes):
        """Adds an issuer in SQL: fast for many, and for values that the commands refuse."""
        self.sql("insert into issuers (app_id, name, issuer, attributes) select app_id, "
                 f"'{name}', '{issuer}', {quoted({'audience': 'app', **attributes})} "
                 f"from apps where name = '{app}'")


# The settings that open the APIs of other services, which a new app does not offer.
WIRES = {"app_services": True, "parra": True, "auth0_management": True, "auth0_dbconnections": True}


def quoted(value):
    """Returns a value as JSON in an SQL literal."""
    return "'" + json.dumps(value).replace("'", "''") + "'"


class Template(Cluster):
    """A stopped cluster with the migrated database `dossier`, which tests copy."""

    def __init__(self, migrator=BUILD / "dossier-migrate", migrations=ROOT / "migrations",
                 citus=False):
        self.migrator, self.migrations, self.citus = migrator, migrations, citus
        self.folder = new_folder()
        try:
            self.make()
        except BaseException:
            self.remove()
            raise

    def make(self):
        if IS_ROOT:
            shutil.chown(self.folder, "postgres")
        for data, _ in self.nodes():
            self.make_data(data)
        self.start_postgres()
        try:
            for _, port in self.nodes():
                self.make_database(port)
            self.migrate("up", "--grant-to", "server")
            if self.citus:
                self.join_nodes()
                self.migrate("distribute")
            # Requests of tests have one address unless they name another.
            self.set_app(failures_per_ip=1_000_000, anonymous_users_per_ip=1_000_000,
                         sign_in_pages_per_ip=1_000_000, **WIRES)
        finally:
            self.stop_postgres()
        for data, _ in self.nodes():
            (data / "server.log").unlink()

    def migrate(self, command, *options):
        subprocess.run(
            [self.migrator, command, "--quiet", *options,
             "--migrations", self.migrations, "--database", self.conninfo("owner")],
            check=True, stdout=subprocess.DEVNULL)

    def join_nodes(self):
        """Makes the coordinator know the other nodes."""
        for _, port in self.nodes():
            self.sql("create extension citus", port)
        self.sql(f"select citus_set_coordinator_host('{SOCKETS}', 5432)")
        for _, port in self.nodes()[1:]:
            self.sql(f"select citus_add_node('{SOCKETS}', {port})")

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


@functools.cache
def template(citus):
    """Returns the folder of the template of this run, or makes one for this process."""
    if TEMPLATE in os.environ and citus == (CITUS in os.environ):
        return pathlib.Path(os.environ[TEMPLATE])
    made, owner = Template(citus=citus), os.getpid()
    # Not in processes that this one forks.
    atexit.register(lambda: os.getpid() == owner and made.remove())
    return made.folder
