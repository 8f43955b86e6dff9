"""Users who move from Auth0: its export, joined with the file of password hashes."""

import json
import os
import signal
import subprocess

from authenticator import Authenticator
from machine import BUILD, wait_until
from moving import CUSTOM, MovedCase
from test_import import HASHES, lines

# How many users move in the test of interruptions, and how many have a hash of each family.
MOVED = int(os.environ.get("DOSSIER_TEST_MOVED", "2000"))
FAMILY = 20 if MOVED > 10_000 else 1
GOOGLE = "https://accounts.google.com"
SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"


class Auth0Import(MovedCase):
    def test_hashes_of_each_family_sign_in_and_are_replaced(self):
        users, hashes, emails = [], [], []
        # The file of hashes has bcrypt only; its ids are those of Auth0 or the tenant's own.
        for name, own in [("2a", None), ("2b", "own-b")]:
            emails.append(f"{name}@example.com")
            oid = f"65f1c0de{len(emails):016x}"
            users.append({"user_id": f"auth0|{own or oid}", "email": emails[-1],
                          "email_verified": True})
            hashes.append({"_id": {"$oid": oid}, "email": emails[-1], "passwordHash": HASHES[name]}
                          | ({"alt_id": own} if own else {}))
        for name, value in CUSTOM.items():
            emails.append(f"{name.replace(' ', '-')}@example.com")
            users.append({"user_id": f"auth0|{len(emails)}", "email": emails[-1],
                          "email_verified": True, "custom_password_hash": value})
        results = self.load(users, hashes)
        self.assertEqual({result["status"] for result in results}, {"created"})
        self.assertFalse([result for result in results if "left_out" in result])
        self.assertEqual(
            self.sql("select string_agg(foreign_id, ' ' order by user_id) from users"
                     " where app_id = {app}").split(), [user["user_id"] for user in users])
        for email in emails:
            with self.subTest(email):
                stored = ("select hash from passwords join users using (user_id) "
                          f"where email = '{email}' and app_id = {{app}}")
                self.expect(self.sign_in(email, "wrong password"), 401)
                self.assertFalse(self.sql(stored).startswith("$argon2id$v=19$m=19456,"))
                self.expect(self.sign_in(email), 200)
                self.assertTrue(self.sql(stored).startswith("$argon2id$v=19$m=19456,t=2,p=1$"))
                self.expect(self.sign_in(email), 200)

    def test_supported_parts_are_imported_and_others_reported(self):
        self.dossier(
            "issuer", "create", "google-oauth2", "--app", self.app, f"issuer={GOOGLE}",
            "audience=app", "jwks_url=https://www.googleapis.com/oauth2/v3/certs")
        ada = {
            "user_id": "auth0|ada", "email": "ada@example.com", "email_verified": True,
            "name": "Ada", "nickname": "ada", "phone_number": "+441234567890", "blocked": False,
            "picture": "https://s.gravatar.com/avatar/1", "created_at": "2020-01-02T03:04:05.678Z",
            "last_login": "2026-03-04T05:06:07.080Z", "logins_count": 12,
            "user_metadata": {"theme": "dark"}, "app_metadata": {"plan": "pro"},
            "identities": [{"connection": "Username-Password-Authentication", "provider": "auth0",
                            "user_id": "ada", "isSocial": False},
                           {"connection": "google-oauth2", "provider": "google-oauth2",
                            "user_id": "108", "isSocial": True},
                           {"connection": "github", "provider": "github", "user_id": 7,
                            "isSocial": True}]}
        google = {"user_id": "google-oauth2|109", "email": "grace@example.com"}
        ldap = {"user_id": "auth0|l", "email": "l@example.com",
                "custom_password_hash": {"algorithm": "ldap", "hash": {"value": "{X}x"}}}
        nobody = {"user_id": "github|8"}
        results = self.load([ada, google, ldap, nobody, {"email": "no-id@example.com"}],
                            [{"_id": {"$oid": "ada"}, "passwordHash": HASHES["2b"]}], status=17)
        self.assertEqual([result["status"] for result in results],
                         ["created"] * 3 + ["failed"] * 2)
        reasons = [[(fault["pointer"], fault["code"]) for fault in
                    result.get("left_out", result.get("errors", []))] for result in results]
        self.assertEqual(reasons, [
            [("/identities/2", "no_issuer")], [], [("/user_id", "hash_algorithm")],
            [("/user_id", "no_issuer"), ("/email", "no_login_method")], [("/user_id", "required")]])
        grant = self.expect(self.sign_in("ada@example.com"), 200).json
        self.assertEqual(grant["user_id"], results[0]["id"])
        me = self.me(grant, "", headers=self.headers).json
        self.assertEqual((me["name"], me["nickname"], me["phone"], me["email_verified"]),
                         ("Ada", "ada", "+441234567890", True))
        self.assertEqual(self.me(grant, "/metadata", headers=self.headers).json, {"theme": "dark"})
        self.assertEqual(self.sql(
            "select string_agg(subject, ' ' order by subject) from identity_subjects"
            " where app_id = {app} and provider = 'jwt:" + GOOGLE + "'"), "108 109")
        # One login has been counted since.
        self.assertEqual(self.sql("select login_count from users where foreign_id = 'auth0|ada'"
                                  " and app_id = {app}"), "13")
        self.reset_by_mail("l@example.com", "a new password", headers=self.headers)
        self.expect(self.sign_in("l@example.com", "a new password"), 200)
        # The reset revoked what an attacker may have added, but not the id.
        self.assertEqual(self.sql("select subject from identity_subjects where app_id = {app}"
                                  f" and provider = 'auth0' and user_id = '{results[2]['id']}'"),
                         "auth0|l")
        # The same file again changes the same users, by their ids.
        again = self.load([{**ada, "name": "Ada L."}, google], [], "--update-existing")
        self.assertEqual([(result["id"], result["status"]) for result in again],
                         [(result["id"], "updated") for result in results[:2]])
        self.expect(self.sign_in("ada@example.com"), 200)
        # Another user cannot take the id.
        run = self.dossier("user", "export", "--all", "--app", self.app)
        rows = [json.loads(line) for line in run.stdout.splitlines()]
        self.assertEqual({row["foreign_id"] for row in rows},
                         {"auth0|ada", "google-oauth2|109", "auth0|l"})
        self.users.write_text(lines([{"id": results[1]["id"], "foreign_id": "auth0|ada"}]))
        self.dossier("user", "import", "--app", self.app, "--update-existing", "--results",
                     self.report, self.users, status=17)
        self.assertEqual(self.results()[0]["errors"][0]["code"], "foreign_id_taken")

    def test_an_authenticator_app_still_works(self):
        user = {"user_id": "auth0|totp", "email": "totp@example.com", "email_verified": True,
                "password_hash": HASHES["2b"],
                "mfa_factors": [{"totp": {"secret": SECRET}}, {"phone": {"value": "+1"}}]}
        self.site.set_app(self.app, mfa="optional")
        [result] = self.load([user], [])
        self.assertEqual(result["left_out"][0]["pointer"], "/mfa_factors/1")
        # A second import adds no second authenticator.
        self.load([user], [], "--update-existing")
        self.assertEqual(self.sql("select count(*) from second_factors join users using (user_id)"
                                  " where app_id = {app}"), "1")
        app = Authenticator({"id": "", "uri": "", "secret": SECRET})
        refused = self.expect(self.sign_in("totp@example.com"), 401, "additional_factor_required")
        flow = refused.json["flow"]
        for code, status in [(app.wrong(), 401), (app.code(), 200)]:
            self.expect(self.post("/v1/login/second-factor", {"flow": flow, "code": code},
                                  headers=self.headers), status)

    def test_roles_of_the_app_are_assigned_and_others_are_left_out(self):
        for name in ["editor", "chief"]:
            self.dossier("role", "create", "--app", self.app, name)
        self.dossier("app", "create", f"{self.app}-other")
        self.dossier("role", "create", "--app", f"{self.app}-other", "theirs")
        user = {"user_id": "auth0|roles", "email": "roles@example.com"}
        named = {**user, "roles": ["editor", "theirs", 7, "Editor", "editor"]}
        results = self.load([named, {"user_id": "auth0|x", "email": "x@example.com", "roles": "editor"}],
                            [])
        self.assertEqual(
            [[(fault["pointer"], fault["code"]) for fault in result["left_out"]
              if fault["code"] != "no_hash"] for result in results],
            [[("/roles/1", "no_role"), ("/roles/2", "no_role"), ("/roles/3", "no_role")],
             [("/roles", "type")]])
        stored = ("select string_agg(r.name, ' ' order by r.name) from user_roles u join roles r "
                  f"using (role_id) where u.user_id = '{results[0]['id']}'")
        self.assertEqual(self.sql(stored), "editor")
        # Another import adds roles, and takes none.
        self.load([{**user, "roles": ["chief"]}], [], "--update-existing")
        self.assertEqual(self.sql(stored), "chief editor")

    def test_an_import_that_is_killed_and_resumed_writes_each_user_once(self):
        # Each family has the same number of users; all others have bcrypt, as in an export.
        families = [HASHES["2a"], HASHES["2b"], *CUSTOM.values()]
        numbers = range(len(families) * FAMILY)
        with self.users.open("w") as users, self.hashes.open("w") as hashes:
            for n in range(MOVED):
                own = families[n // FAMILY] if n in numbers else HASHES["2b"]
                user = {"user_id": f"auth0|{n}", "email": f"u{n}@example.com",
                        "email_verified": True}
                if isinstance(own, dict):
                    user["custom_password_hash"] = own
                else:
                    hashes.write(json.dumps({"_id": {"$oid": str(n)}, "passwordHash": own}) + "\n")
                users.write(json.dumps(user) + "\n")
        command = list(map(str, self.command("--batch", "20", "--resume")))
        self.report.unlink(missing_ok=True)
        for number in [signal.SIGKILL, signal.SIGINT]:
            child = subprocess.Popen([BUILD / "dossier", *command], env=self.site.environment,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            seen = self.report.read_text().count("\n") if self.report.exists() else 0
            wait_until(lambda: self.report.exists()
                       and self.report.read_text().count("\n") > seen + MOVED / 20, 600, "rows")
            child.send_signal(number)
            self.assertIn(child.wait(), (18, -signal.SIGKILL))
        # With another file of hashes the rest would not fit.
        text = self.hashes.read_text()
        self.hashes.write_text(text.replace(HASHES["2b"], HASHES["2a"]))
        self.dossier(*command, status=19)
        self.hashes.write_text(text)
        self.dossier(*command)
        self.assertEqual([result["line"] for result in self.results()], list(range(1, MOVED + 1)))
        self.assertEqual(self.sql(
            "select count(*) || ' ' || count(distinct foreign_id) || ' ' || count(hash) from users"
            " join passwords using (user_id) where app_id = {app}"), f"{MOVED} {MOVED} {MOVED}")
        for n in [*numbers, MOVED - 1]:
            grant = self.expect(self.sign_in(f"u{n}@example.com"), 200).json
            self.assertEqual(self.sql(
                f"select foreign_id from users where user_id = '{grant['user_id']}'"), f"auth0|{n}")
