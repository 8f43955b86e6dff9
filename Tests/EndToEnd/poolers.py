"""PgBouncer in transaction mode between dossierd and PostgreSQL."""

import os
import re
import shutil
import subprocess

from machine import AS_POSTGRES, IS_ROOT, wait_until

# The kind of pooler before each deployment, if any; see `run.py --pooler`.
POOLER = "DOSSIER_TEST_POOLER"

# Another PgBouncer than that of the PATH, for example a newer one.
PROGRAM = os.environ.get("DOSSIER_TEST_PGBOUNCER") or shutil.which("pgbouncer") or "pgbouncer"

# The guide has these settings for the role.
SETTINGS = {
    "statement_timeout": "10s", "lock_timeout": "1s", "idle_in_transaction_session_timeout": "10s",
    "default_transaction_isolation": "read committed", "default_transaction_deferrable": "off",
    "timezone": "UTC", "datestyle": "ISO", "bytea_output": "hex", "jit": "off",
}


def version():
    """Returns the version of PgBouncer as two numbers."""
    said = subprocess.run([PROGRAM, "--version"], check=True, capture_output=True, text=True).stdout
    return tuple(map(int, re.search(r"PgBouncer (\d+)\.(\d+)", said).groups()))


class PgBouncer:
    """A pooler before the PostgreSQL of a deployment, of at most `size` sessions."""

    def __init__(self, site, size):
        self.site, self.folder, self.process = site, site.folder / "pooler", None
        self.folder.mkdir()
        keeps = "max_prepared_statements = 1000\n" if version() >= (1, 21) else ""
        (self.folder / "ini").write_text(
            f"[databases]\ndossier = host={site.folder} user=server\n[pgbouncer]\nlisten_addr =\n"
            f"listen_port = 6432\nunix_socket_dir = {self.folder}\nauth_type = any\n"
            f"pool_mode = transaction\ndefault_pool_size = {size}\n{keeps}"
            f"admin_users = admin\nlogfile = {self.folder}/log\n")
        if IS_ROOT:
            shutil.chown(self.folder, "postgres")
        self.conninfo = f"host={self.folder} port=6432 user=server dbname=dossier"

    def set_role(self, **changes):
        for name, value in {**SETTINGS, **changes}.items():
            self.site.sql(f"alter role server set {name} = '{value}'")

    def start(self):
        self.process = subprocess.Popen(
            [*AS_POSTGRES, PROGRAM, "-q", self.folder / "ini"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until((self.folder / ".s.PGSQL.6432").exists, what="PgBouncer")

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait(120)
            self.process = None
        (self.folder / ".s.PGSQL.6432").unlink(missing_ok=True)

    def sessions(self):
        """Returns the number of sessions of the server that the pooler holds."""
        return int(self.site.sql(
            "select count(*) from pg_stat_activity where usename = 'server'"))
