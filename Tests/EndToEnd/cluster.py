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
import tempfile

from machine import AS_POSTGRES, BUILD, IS_ROOT, ROOT, TOOLS

# Names the folder of a `Template`, which all the classes of a run copy.
TEMPLATE = "DOSSIER_TEST_CLUSTER"


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

    def make_cluster(self):
        """Copies the template, or makes a cluster of another version."""
        if IS_ROOT:
            shutil.chown(self.folder, "postgres")
        cluster = self.folder / "postgres"
        made = Template(*self.schema) if self.schema else None
        source = made.folder if made else template()
        subprocess.run(["cp", "-a", "--reflink=auto", source / "postgres", cluster], check=True)
        if made:
            made.remove()
        if self.tls:
            self.require_tls(cluster)

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
        subprocess.run(
            [*AS_POSTGRES, self.tools / "pg_ctl", "-D", self.folder / "postgres", "-s", "-w",
             "-l", self.folder / "postgres/server.log", "-o",
             f"-k {self.folder} {self.listens()} -c fsync=off -c log_error_verbosity=terse -c max_connections=100",
             "start"],
            check=True, cwd="/", stdout=subprocess.DEVNULL)

    def listens(self):
        """Returns the server's option for the addresses on which it listens."""
        return f"-c listen_addresses={self.address if self.tls else repr('')}"

    def stop_postgres(self, mode="fast"):
        subprocess.run(
            [*AS_POSTGRES, self.tools / "pg_ctl", "-D", self.folder / "postgres", "-s", "-w", "-m", mode,
             "stop"], check=True, cwd="/")

    def sql(self, text):
        run = subprocess.run(
            [TOOLS / "psql", "-h", self.folder, "-U", "owner", "-d", "dossier", "-Atqc", text],
            check=True, capture_output=True, text=True)
        return run.stdout.strip()

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

    def add_app(self, name, **settings):
        """Creates an app; returns the header that selects it. Workers look up unknown names at once."""
        self.sql("insert into apps (app_id, name, settings) values "
                 f"(new_object_id(), '{name}', {quoted(settings)})")
        return {"Dossier-App": name}


def quoted(value):
    """Returns a value as JSON in an SQL literal."""
    return "'" + json.dumps(value).replace("'", "''") + "'"


class Template(Cluster):
    """A stopped cluster with the migrated database `dossier`, which tests copy."""

    def __init__(self, migrator=BUILD / "dossier-migrate", migrations=ROOT / "migrations"):
        self.migrator, self.migrations = migrator, migrations
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dossier-test-", dir="/tmp"))
        self.folder.chmod(0o755)
        try:
            self.make()
        except BaseException:
            self.remove()
            raise

    def make(self):
        cluster = self.folder / "postgres"
        cluster.mkdir(mode=0o700)
        if IS_ROOT:
            shutil.chown(cluster, "postgres")
            shutil.chown(self.folder, "postgres")
        subprocess.run(
            [*AS_POSTGRES, self.tools / "initdb", "-D", cluster, "-U", "owner", "-A", "trust",
             "--locale=C.UTF-8", "-E", "UTF8", "--no-sync"],
            check=True, stdout=subprocess.DEVNULL, cwd="/")
        self.start_postgres()
        try:
            for tool, name in [("createdb", "dossier"), ("createuser", "server")]:
                subprocess.run([TOOLS / tool, "-h", self.folder, "-U", "owner", name], check=True)
            subprocess.run(
                [self.migrator, "up", "--quiet", "--grant-to", "server",
                 "--migrations", self.migrations, "--database", self.conninfo("owner")],
                check=True, stdout=subprocess.DEVNULL)
            # Requests of tests have one address unless they name another.
            self.set_app(failures_per_ip=1_000_000, anonymous_users_per_ip=1_000_000,
                         sign_in_pages_per_ip=1_000_000)
        finally:
            self.stop_postgres()
        (cluster / "server.log").unlink()

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


@functools.cache
def template():
    """Returns the folder of the template of this run, or makes one for this process."""
    if TEMPLATE in os.environ:
        return pathlib.Path(os.environ[TEMPLATE])
    made = Template()
    atexit.register(made.remove)
    return made.folder
