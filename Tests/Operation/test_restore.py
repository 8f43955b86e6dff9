"""Restores a backup with the commands of the operator's guide."""

import subprocess
import unittest

import writing
from asking import MERGE
from cases import Case
from deployment import Deployment
from machine import BUILD, TOOLS


class Restore(Case):
    @classmethod
    def setUpClass(cls):
        cls.site = Deployment(tls=True)

    def tool(self, name, *arguments):
        subprocess.run(
            [TOOLS / name, "-h", self.site.folder, "-U", "owner", *arguments], check=True)

    def test_users_sessions_and_data_are_restored(self):
        grant = self.verified("ada@example.com")
        token = grant["access_token"]
        self.expect(self.site.request("PATCH", "/v1/me/metadata", {"saved": 1}, MERGE, token), 200)
        program = self.site.client("--operator")
        saved = self.site.folder / "saved.dump"
        self.tool("pg_dump", "-Fc", "-f", saved, "dossier")
        # Later writes, users and refresh tokens are lost.
        self.expect(self.site.request("PATCH", "/v1/me/metadata", {"late": 1}, MERGE, token), 200)
        later = self.expect(self.refresh(grant), 200).json
        late = self.expect(self.register("late@example.com"), 201).json

        self.tool("createdb", "restored")
        self.tool("pg_restore", "-d", "restored", saved)
        owner = self.site.conninfo("owner").replace("dbname=dossier", "dbname=restored")
        # The restored schema equals that of the migrations.
        for command in ["up", "verify"]:
            subprocess.run(
                [BUILD / "dossier-migrate", command, "--quiet", "--grant-to", "server",
                 "--migrations", writing.ROOT / "migrations", "--database", owner], check=True,
                stdout=subprocess.DEVNULL)
        self.restart(DOSSIER_DATABASE=owner.replace("user=owner", "user=server"))

        document = self.expect(self.me(grant, "/metadata"), 200)
        self.assertEqual(document.json, {"saved": 1})
        self.assertTrue(self.me(grant).json["email_verified"])
        self.expect(self.me(late), 401)
        self.expect(self.login("late@example.com"), 401, "wrong_credentials")
        # The refresh token of that time is valid. A later one is unknown, and does not count as copied.
        self.expect(self.refresh(later), 401, "refresh_token_invalid")
        self.expect(self.refresh(grant), 200)
        self.expect(self.login("ada@example.com"), 200)
        self.expect(self.site.get("/v1/apps", token=program["secret"]), 200)


if __name__ == "__main__":
    unittest.main()
