"""Tests the import of files of App Services and mongoexport, and its settings."""

import json
import re
import subprocess
import unittest

from app_services import COLLECTION, App, Services
from extended_json import int32
from issuers import claims as issued
from issuers import secret_token
from machine import ROOT

DOCUMENTS = "app-services-documents"
SECRET = b"a secret of thirty-two bytes or more"


class Import(Services):
    def file(self, name, lines):
        path = self.site.folder / name
        path.write_text("".join(
            (line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
        return path

    def secret(self):
        path = self.site.folder / "shared-secret"
        path.write_bytes(SECRET)
        return path

    def load(self, path, *options, status=0, kind="app-services"):
        results = self.site.folder / f"{path.name}.results"
        run = self.site.dossier("user", "import", "--app", self.name, "--format", kind,
                                "--results", results, *options, path, check=False)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        return [json.loads(line) for line in results.read_text().splitlines()]

    def test_rules_need_a_decision(self):
        rules = self.site.folder / "rules.json"
        rules.write_text(json.dumps({"roles": [{
            "name": "owner", "write": True, "additional_fields": {"read": True, "write": False},
            "fields": {"balance": {"read": True, "write": False},
                       "address": {"fields": {"street": {"read": {"%%true": True}}}}}}],
            "filters": [{"name": "hide", "projection": {"ssn": 0}}]}))
        document = self.file("ruled", [{"userId": "64c" + "0" * 21, "balance": 1}])
        words = ["user", "import", "--app", self.name, "--format", DOCUMENTS, "--rules", rules,
                 "--results", self.site.folder / "ruled.results", document]
        self.addCleanup(self.site.dossier, "app", "set", "--app", self.name,
                        "custom_data_writable=null", "custom_data_readable=null")
        for settings in [[], ["custom_data_writable=/theme"]]:
            if settings:
                self.site.dossier("app", "set", "--app", self.name, *settings)
            run = self.site.dossier(*words, check=False)
            self.assertEqual(run.returncode, 23, run.stdout + run.stderr)
            for line in ["/balance: read, no write", "/address/street: read by expression, write not set",
                         "all other fields of /: read, no write", "the filter hide"]:
                self.assertIn(line, run.stdout + run.stderr)
            self.assertFalse((self.site.folder / "ruled.results").exists())
        # The rules of other files apply to a collection without roles.
        rules.write_text('{"roles": []}')
        self.assertEqual(self.site.dossier(*words, check=False).returncode, 23)
        self.site.dossier("app", "set", "--app", self.name, "custom_data_readable=true")
        # The user does not exist.
        self.assertEqual(self.site.dossier(*words, check=False).returncode, 17)
        rules.write_text("[]")
        self.assertEqual(self.site.dossier(*words, check=False).returncode, 12)
        run = self.site.dossier("user", "import", "--rules", rules, document, check=False)
        self.assertEqual(run.returncode, 64)

    def test_users_and_their_documents(self):
        issuer = "https://issuer.example.com"
        ids = [f"64c{number:021x}" for number in range(5)]
        users = self.file("users", [
            {"_id": ids[0], "type": "normal", "creation_date": 1_600_000_000, "disabled": False,
             "data": {"first_name": "Ada", "last_name": "L", "name": "Ada L", "age": 7},
             "identities": [
                 {"id": "x-y", "provider_type": "anon-user"},
                 {"id": "64d" + "0" * 21, "provider_type": "local-userpass",
                  "provider_data": {"email": "imported@example.test"}}]},
            {"_id": {"$oid": ids[1]}, "creation_date": {"$numberLong": "1600000000"},
             "data": {"email": "shared@example.test", "first_name": "Bob", "age": 7, "tags": []},
             "identities": [{"id": "bob", "provider_type": "custom-token"}]},
            {"_id": ids[2], "disabled": True, "identities": [
                {"id": "g-1", "provider_type": "oauth2-google"},
                {"id": "f-1", "provider_type": "oauth2-facebook"}]},
            {"_id": ids[3], "identities": [{"id": "z", "provider_type": "anon-user"}]},
            {"_id": "short", "identities": []}, {"name": "neither"}, "{"])
        results = self.load(users, "--issuer", issuer, status=17)
        self.assertEqual([result["status"] for result in results],
                         ["created"] * 4 + ["failed"] * 3)
        self.assertEqual([result["id"] for result in results[:4]], ids[:4])
        # Nothing is left to resume. From the start, all users exist.
        self.assertEqual(self.load(users, "--issuer", issuer, "--resume", status=17), results)
        again = self.load(users, "--issuer", issuer, "--skip-existing", status=17)
        self.assertEqual([result["status"] for result in again],
                         ["skipped"] * 4 + ["failed"] * 3)
        self.assertEqual(self.site.sql(
            f"select provider, subject from identities where user_id = '{ids[2]}' order by provider"),
            "jwt:https://accounts.google.com|g-1\njwt:https://www.facebook.com|f-1")
        documents = self.file("documents", [
            {"_id": {"$oid": "64e" + "0" * 21}, "userId": ids[0], "n": 1, "big": 2**40,
             "when": {"$date": "2023-11-14T22:13:20Z"}, "price": {"$numberDecimal": "1.10"}},
            {"_id": "mine", "userId": ids[1], "favoriteColor": "blue"},
            {"_id": "nobody's", "owner": ids[1]}])
        results = self.load(documents, kind=DOCUMENTS, status=17)
        self.assertEqual([result["status"] for result in results],
                         ["updated", "updated", "failed"])

        self.app.email("reset/send", email="imported@example.test")
        token = self.site.mailed("imported@example.test", "ds_reset")
        self.app.email("reset", token=token, tokenId="any", password="correct horse battery")
        ada = self.app.log_in("local-userpass", username="imported@example.test",
                              password="correct horse battery")
        self.assertEqual(ada.id, ids[0])
        self.assertEqual(ada.profile["data"], {
            "email": "imported@example.test", "name": "Ada L", "first_name": "Ada",
            "last_name": "L"})
        found = ada.call("findOne", query={})
        self.assertEqual(found["_id"], {"$oid": "64e" + "0" * 21})
        self.assertEqual(found["n"], int32(1))
        self.assertEqual(found["when"], {"$date": {"$numberLong": "1700000000000"}})
        self.assertEqual(found["price"], {"$numberDecimal": "1.10"})
        self.assertEqual(ada.custom_data["n"], int32(1))

        secret = self.site.folder / "secret"
        secret.write_bytes(SECRET)
        self.site.dossier(
            "issuer", "create", "own", "--app", self.name, f"issuer={issuer}", "audience=app",
            f"secret=@{secret}")
        bob = self.app.log_in("custom-token", token=secret_token(issued("bob", issuer), SECRET))
        self.assertEqual((bob.id, bob.custom_data["favoriteColor"]), (ids[1], "blue"))
        self.assertEqual(bob.profile["data"], {
            "email": "shared@example.test", "first_name": "Bob", "age": "7"})
        self.assertEqual(self.site.sql(f"select email from users where user_id = '{bob.id}'"), "")
        self.assertEqual(self.site.sql(
            f"select blocked_at is not null from users where user_id = '{ids[2]}'"), "t")
        self.assertEqual(self.site.sql(
            f"select extract(epoch from created_at)::bigint from users where user_id = '{ids[0]}'"),
            "1600000000")

    def test_users_of_documents(self):
        """The command of the guide makes users of an export of documents alone."""
        guide = next((ROOT / "Sources/AppServicesWire").rglob("Moving*.md")).read_text()
        [program] = re.findall("^jq -c '(select.*)' documents.ndjson", guide, re.MULTILINE)
        user, other = (f"64c9{number:020x}" for number in range(2))
        documents = self.file("only", [
            {"_id": {"$oid": "64e9" + "0" * 20}, "userId": user, "email": "only@example.test",
             "n": {"$numberInt": "1"}},
            {"_id": {"$oid": "64e9" + "1" * 20}, "userId": other}])
        users = self.site.folder / "only.users"
        users.write_bytes(subprocess.run(["jq", "-c", program, documents], check=True,
                                         capture_output=True).stdout)
        self.assertEqual([row["status"] for row in self.load(users)], ["created"])
        rows = self.load(documents, kind=DOCUMENTS, status=17)
        self.assertEqual([row["status"] for row in rows], ["updated", "failed"])
        self.app.email("reset/send", email="only@example.test")
        token = self.site.mailed("only@example.test", "ds_reset")
        self.app.email("reset", token=token, tokenId="any", password="correct horse battery")
        found = self.app.log_in("local-userpass", username="only@example.test",
                                password="correct horse battery")
        self.assertEqual((found.id, found.custom_data["n"]), (user, int32(1)))

    def test_a_document_is_never_a_user(self):
        """Users write documents. One may imitate another user's row of an export of users."""
        victim, attacker, nobody = (f"64c1{number:020x}" for number in range(3))
        self.load(self.file("two", [
            {"_id": user, "identities": [{"id": email, "provider_type": "local-userpass",
                                          "provider_data": {"email": email}}]}
            for user, email in [(victim, "victim@example.test"), (attacker, "evil@example.test")]]))
        path = self.file("crafted", [
            {"_id": {"$oid": victim}, "userId": attacker, "identities": [
                {"id": "evil-google", "provider_type": "oauth2-google"},
                {"id": "x", "provider_type": "local-userpass",
                 "provider_data": {"email": "taken-over@example.test"}}]},
            {"_id": 1, "userId": nobody, "a": 1}])
        self.assertEqual([(result["id"], result["status"]) for result in
                          self.load(path, kind=DOCUMENTS, status=17)],
                         [(attacker, "updated"), (nobody, "failed")])
        self.assertEqual(self.site.sql(
            "select string_agg(concat_ws(' ', u.user_id, u.email, i.provider), ',' order by u.user_id)"
            " from users u join identities i using (user_id)"
            f" where u.user_id in ('{victim}', '{attacker}', '{nobody}')"),
            f"{victim} victim@example.test password,{attacker} evil@example.test password")
        self.assertEqual(self.site.sql(
            f"select user_id from documents where user_id in ('{victim}', '{attacker}')"), attacker)
        # A document is not a user either, since it has no identities.
        [_, result] = self.load(path, "--update-existing", "--verified-emails", status=17)
        self.assertEqual((result["status"], result["errors"][0]["code"]), ("failed", "id"))

    def test_a_user_has_one_document(self):
        user, nobody = "64c2" + "0" * 20, "64c3" + "0" * 20
        self.load(self.file("one", [{"_id": user, "identities": []}]))
        lines = [{"_id": number, "userId": user, "a": number} for number in range(3)]
        path = self.file("several", ["{", *lines, {"_id": 4, "userId": nobody}])
        for size in ["1", "500"]:
            results = self.load(path, "--batch", size, kind=DOCUMENTS, status=17)
            self.assertEqual([result["status"] for result in results],
                             ["failed", "updated"] + ["failed"] * 3)
            self.assertEqual([result["errors"][0]["code"] for result in results[2:]],
                             ["duplicate", "duplicate", "no_such_user"])
        self.assertEqual(
            self.site.sql(f"select body ->> 'a' from documents where user_id = '{user}'"), "0")
        self.assertEqual(
            self.site.sql(f"select count(*) from users where user_id = '{nobody}'"), "0")

    def test_addresses_that_differ_in_case(self):
        """App Services distinguished them; here an address belongs to one user."""
        users = [f"64c7{number:020x}" for number in range(2)]
        path = self.file("cases", [{"_id": user, "identities": [
            {"id": user, "provider_type": "local-userpass", "provider_data": {"email": email}}]}
            for user, email in zip(users, ["Cased@example.test", "cased@example.test"])])
        first, second = self.load(path, status=17)
        self.assertEqual([first["status"], second["status"]], ["created", "failed"])
        self.assertEqual(second["errors"][0]["code"], "email_taken")

    def test_a_reset_keeps_identities_of_an_imported_user_if_the_address_was_confirmed(self):
        """An app without email confirmation lets an attacker register any address."""
        for number, (options, providers) in enumerate([
                ([], "password"), (["--verified-emails"], "jwt:https://accounts.google.com,password")]):
            user, email = f"64c4{number:020x}", f"proved-{number}@example.test"
            self.load(self.file("proved", [{"_id": user, "identities": [
                {"id": "x", "provider_type": "local-userpass", "provider_data": {"email": email}},
                {"id": f"g-{email}", "provider_type": "oauth2-google"}]}]), *options)
            self.app.email("reset/send", email=email)
            self.app.email("reset", token=self.site.mailed(email, "ds_reset"), tokenId="any",
                           password="correct horse battery")
            self.assertEqual(self.app.log_in("local-userpass", username=email,
                                             password="correct horse battery").id, user)
            self.assertEqual(self.site.sql(
                "select string_agg(provider, ',' order by provider) from identities"
                f" where user_id = '{user}'"), providers)

    def test_incompatible_options(self):
        path = self.file("none", [])
        for options in [["--format", DOCUMENTS, "--update-existing"],
                        ["--format", DOCUMENTS, "--skip-existing"],
                        ["--format", DOCUMENTS, "--verified-emails"], ["--issuer", "https://x"]]:
            run = self.site.dossier("user", "import", "--app", self.name, *options, path,
                                    check=False)
            self.assertEqual(run.returncode, 64, run.stdout + run.stderr)

    def test_documents_by_their_own_id(self):
        self.site.dossier("app", "set", "--app", self.name, "app_services_user_field=_id")
        self.addCleanup(self.site.dossier, "app", "set", "--app", self.name, "app_services_user_field=null")
        users = [f"64c5{number:020x}" for number in range(3)]
        self.load(self.file("owners", [{"_id": user, "identities": [
            {"id": f"x-{user}", "provider_type": "oauth2-google"}]} for user in users]))
        lines = [{"_id": users[0], "a": 1}, {"_id": {"$oid": users[1]}, "a": 2},
                 {"_id": "mine", "userId": users[2]}, {"_id": "64c6" + "0" * 20}]
        results = self.load(self.file("own-ids", lines), kind=DOCUMENTS, status=17)
        self.assertEqual([result["status"] for result in results],
                         ["updated", "updated", "failed", "failed"])
        self.assertEqual([result["errors"][0]["code"] for result in results[2:]],
                         ["required", "no_such_user"])
        self.site.dossier(
            "issuer", "create", "google", "--app", self.name, "issuer=https://accounts.google.com",
            "audience=app", f"secret=@{self.secret()}")
        for number, user in enumerate(users[:2]):
            found = self.app.log_in("oauth2-google", id_token=secret_token(
                issued(f"x-{user}", "https://accounts.google.com"), SECRET))
            self.assertEqual(found.id, user)
            self.assertEqual(found.call("findOne", query={"_id": user}),
                             {"_id": user, "a": int32(number + 1)})

    def test_custom_token_users_require_an_issuer(self):
        path = self.file("tokens", [{"_id": "64f" + "0" * 21, "identities": [
            {"id": "bob", "provider_type": "custom-token"}]}])
        [result] = self.load(path, status=17)
        self.assertEqual(result["errors"][0]["code"], "issuer")

    def test_settings(self):
        for name, value in [("app_services_collection", "a/b"), ("app_services_collection", "a//b"),
                            ("app_services_collection", "a/b/c/d"), ("app_services_user_field", ""),
                            ("app_services_user_field", "a.b"), ("app_services_user_field", "$a")]:
            run = self.site.dossier("app", "set", "--app", self.name, f"{name}={value}", check=False)
            self.assertNotEqual(run.returncode, 0, (name, value))
        self.site.dossier("app", "create", "shop-set")
        self.site.dossier("app", "set", "--app", "shop-set", f"app_services_collection={COLLECTION}",
                          "app_services_user_field=owner", "app_services=true")
        user = App(self.site, "shop-set").log_in("anon-user")
        user.call("insertOne", document={"owner": user.id, "a": 1})
        self.assertEqual(user.call("findOne", query={"owner": user.id})["a"], int32(1))
        self.site.dossier("app", "set", "--app", "shop-set", "app_services_collection=null")
        self.refused(404, "service not found", "ServiceNotFound", user.call, "find")


if __name__ == "__main__":
    unittest.main()
