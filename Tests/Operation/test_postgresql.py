"""The upgrade of PostgreSQL to another major version, by the commands of the guide."""

import os
import subprocess
import unittest

import writing
from asking import MERGE
from cases import Case
from deployment import Deployment
from guide import commands
from machine import AS_POSTGRES, BUILD, TOOLS, TOOLS_FOLDER, wait_until

# deploy/test installs these versions for its tests.
VERSIONS = {version: TOOLS_FOLDER / f"postgresql/{version}/bin" for version in ["16", "17", "18"]}
# The paths of the guide, which names two versions as an example.
OLD, NEW = "15", "17"


class Upgradable(Deployment):
    """A deployment whose PostgreSQL moves to another folder."""

    data = "postgres"

    def nodes(self):
        return [(self.folder / self.data, 5432)]


class Upgrade(Case):
    LONG = True

    def deploy(self, **options):
        site = Upgradable(**options)
        self.addCleanup(site.stop)
        self.site = site
        return site

    def fill(self):
        """Stores what must be there after the upgrade."""
        self.grants, self.documents = [], []
        for number, name in enumerate(["Ada", "ΌΔΥΣΣΕΎΣ", "Жук", "山田", "É\U0001ccd6"]):
            grant = self.verified(f"user{number}@example.com")
            token = grant["access_token"]
            self.expect(self.site.request("PATCH", "/v1/me", {"name": name}, MERGE, token), 200)
            self.expect(self.site.request(
                "PATCH", "/v1/me/metadata", {"n": number, "name": name}, MERGE, token), 200)
            self.grants.append(grant)
        self.program = self.site.client("--operator")
        self.users = self.listed()

    def listed(self):
        return self.expect(self.site.get("/v1/users?sort=name", token=self.program["secret"]), 200).json

    def forget_versions_of_columns(self, new):
        """Removes what 15.20 stores in columns, since PyPI's PostgreSQL is older and refuses it."""
        if b"pg_attver" not in (new / "postgres").read_bytes():
            self.site.sql("update pg_attribute set attoptions = null where attoptions::text like "
                          "'{pg_attver=%}'")

    def check(self, version):
        shown = self.site.sql("show server_version")
        self.assertEqual(shown.split(".")[0], version)
        self.site.wait_until_ready()
        self.assertEqual(self.listed(), self.users)
        for number, user in enumerate(grant["user_id"] for grant in self.grants):
            # The session of before, a new one, and the document.
            self.expect(self.refresh(self.grants[number]), 200)
            token = self.expect(self.login(f"USER{number}@Example.com"), 200).json["access_token"]
            profile = self.expect(self.site.get("/v1/me", token=token), 200).json
            document = self.expect(self.site.get("/v1/me/metadata", token=token), 200).json
            self.assertEqual(document, {"n": number, "name": profile["name"]})
            found = self.site.dossier("user", "list", "--filter", f'name = "{profile["name"].lower()}"')
            self.assertEqual([one["id"] for one in found], [user])
        changed = self.site.request("PATCH", "/v1/me/metadata", {"later": True}, MERGE, token)
        self.expect(changed, 200)

    def run_commands(self, script, old, new):
        """Runs commands of the guide with the folders of the test. The test starts and stops services."""
        for before, after in [
            (f"/usr/lib/postgresql/{OLD}/bin", str(old)), (f"/usr/lib/postgresql/{NEW}/bin", str(new)),
            (f"/var/lib/postgresql/{OLD}/main", str(self.site.folder / "postgres")),
            (f"/var/lib/postgresql/{NEW}/main", str(self.site.folder / "upgraded")),
            ("-U postgres", "-U owner"),
            # As the clusters of tests have.
            ("--locale=C.UTF-8", "--locale=C.UTF-8 -A trust --wal-segsize=1"),
        ]:
            script = script.replace(before, after)
        head = (
            "set -eu; systemctl() { :; }; runuser() { shift 3; " + " ".join(AS_POSTGRES) + ' "$@"; }; '
            f'dossier-migrate() {{ {BUILD}/dossier-migrate "$@" --migrations {writing.ROOT}/migrations '
            f"--database '{self.site.conninfo('owner')}'; }}\n")
        run = subprocess.run(
            ["bash", "-c", head + script], cwd="/tmp", capture_output=True, text=True,
            env={**os.environ, "PGHOST": str(self.site.folder), "PGUSER": "owner"})
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_pg_upgrade(self):
        for version, new in VERSIONS.items():
            with self.subTest(version):
                site = self.deploy()
                self.fill()
                self.forget_versions_of_columns(new)
                script, = commands("Upgrade PostgreSQL")
                before, start, after = script.partition(f"systemctl start postgresql@{NEW}-main\n")
                self.assertTrue(start)
                if version == "18":
                    before = before.replace("--locale", "--no-data-checksums --locale")
                site.supervisor.terminate()
                site.supervisor.wait(120)
                site.stop_postgres()
                self.run_commands(before, TOOLS, new)
                site.data, site.tools = "upgraded", new
                site.start_postgres()
                self.run_commands(after, TOOLS, new)
                site.start_dossierd()
                self.check(version)
                site.stop()

    def test_logical_replication(self):
        """The steps of the guide: writes stop only while the last changes are copied."""
        version, new = "18", VERSIONS["18"]
        site = self.deploy()
        self.fill()
        site.sql("alter system set wal_level = logical")
        site.stop_postgres()
        site.start_postgres()
        site.wait_until_ready()
        upgraded = site.folder / "upgraded"
        site.tools = new
        site.make_data(upgraded)
        site.start_node(upgraded, 5433)
        self.addCleanup(
            lambda: (upgraded / "postmaster.pid").exists() and site.stop_node(upgraded, "immediate"))
        site.make_database(5433)
        dump = subprocess.run(
            [TOOLS / "pg_dump", "--schema-only", "-h", site.folder, "-U", "owner", "dossier"],
            check=True, capture_output=True, text=True).stdout
        subprocess.run(
            [new / "psql", "-h", site.folder, "-p", "5433", "-U", "owner", "-d", "dossier", "-Xq",
             "-v", "ON_ERROR_STOP=1"], check=True, input=dump, text=True, stdout=subprocess.DEVNULL)
        site.sql("create publication upgrade for all tables")
        site.sql(f"create subscription upgrade connection 'host={site.folder} user=owner dbname=dossier' "
                 "publication upgrade", 5433)
        wait_until(lambda: site.sql(
            "select count(*) from pg_subscription_rel where srsubstate <> 'r'", 5433) == "0",
            what="the copy of all tables")
        # A write after the copy.
        token = self.grants[0]["access_token"]
        self.expect(site.request("PATCH", "/v1/me/metadata", {"n": 7}, MERGE, token), 200)
        self.expect(site.request("PATCH", "/v1/me/metadata", {"n": 0}, MERGE, token), 200)
        self.users = self.listed()
        site.supervisor.terminate()
        site.supervisor.wait(120)
        wait_until(lambda: site.sql(
            "select bool_and(confirmed_flush_lsn >= pg_current_wal_lsn()) from pg_replication_slots") == "t",
            what="the last changes")
        site.sql("drop subscription upgrade", 5433)
        site.tools = TOOLS
        site.stop_postgres()
        site.tools = new
        site.stop_node(upgraded)
        site.data = "upgraded"
        site.start_postgres()
        site.start_dossierd()
        self.check(version)


if __name__ == "__main__":
    unittest.main()
