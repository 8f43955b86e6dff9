"""A PostgreSQL cluster of a test run."""

import contextlib
import json
import shutil
import subprocess

from machine import AS_POSTGRES, IS_ROOT, TOOLS


class Cluster:
    """What has a `folder`, in which it is."""

    def conninfo(self, user):
        return f"host={self.folder} user={user} dbname=dossier"

    def make_cluster(self):
        cluster = self.folder / "postgres"
        cluster.mkdir(mode=0o700)
        if IS_ROOT:
            shutil.chown(cluster, "postgres")
            shutil.chown(self.folder, "postgres")
        subprocess.run(
            [*AS_POSTGRES, TOOLS / "initdb", "-D", cluster, "-U", "owner", "-A", "trust",
             "--locale=C.UTF-8", "-E", "UTF8", "--no-sync"],
            check=True, stdout=subprocess.DEVNULL, cwd="/")

    def start_postgres(self):
        subprocess.run(
            [*AS_POSTGRES, TOOLS / "pg_ctl", "-D", self.folder / "postgres", "-s", "-w",
             "-l", self.folder / "postgres/server.log", "-o",
             f"-k {self.folder} -c listen_addresses='' -c fsync=off -c log_error_verbosity=terse -c max_connections=100",
             "start"],
            check=True, cwd="/", stdout=subprocess.DEVNULL)

    def stop_postgres(self, mode="fast"):
        subprocess.run(
            [*AS_POSTGRES, TOOLS / "pg_ctl", "-D", self.folder / "postgres", "-s", "-w", "-m", mode,
             "stop"], check=True, cwd="/")

    def sql(self, text):
        run = subprocess.run(
            [TOOLS / "psql", "-h", self.folder, "-U", "owner", "-d", "dossier", "-Atqc", text],
            check=True, capture_output=True, text=True)
        return run.stdout.strip()

    @contextlib.contextmanager
    def locked(self, table):
        """While a table is locked, statements that want it wait."""
        psql = subprocess.Popen(
            [TOOLS / "psql", "-h", self.folder, "-U", "owner", "-d", "dossier", "-Atq"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with psql:
            print(f"begin; lock {table}; select 'locked';", file=psql.stdin, flush=True)
            assert psql.stdout.readline() == "locked\n"
            yield
            # The end of the session is that of the lock.
            psql.stdin.close()

    def set_app(self, name="default", **settings):
        self.sql(f"update apps set settings = settings || '{json.dumps(settings)}' "
                 f"where name = '{name}'")

    def add_app(self, name, **settings):
        """Makes an app; what it takes to ask it. Counts at once: workers look for a name they miss."""
        self.sql("insert into apps (app_id, name, settings) values "
                 f"(new_object_id(), '{name}', '{json.dumps(settings)}')")
        return {"Dossier-App": name}
