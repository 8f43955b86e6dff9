"""An international domain has two spellings, which are one address on every route."""

import json
import unittest
import urllib.parse

from hosted import PASSWORD
from test_auth0 import Auth0Case

OTHER = "another house"


class Spellings(Auth0Case):
    def setUp(self):
        super().setUp()
        self.settings(email_code=True)
        self.site.sql("delete from rate_limits")
        name = self._testMethodName.split("_")[1]
        self.unicode, self.ascii = f"{name}@bücher.example", f"{name}@xn--bcher-kva.example"
        self.spellings = [self.unicode, self.ascii, f"{name}@BU\u0308CHER.example",
                          self.ascii.upper(), f"{name}@ｂücher。example"]

    def filtered(self, text):
        return [user["email"] for user in self.site.dossier("user", "list", "--filter", text)]

    def test_both_spellings_are_one_user(self):
        user = self.expect(self.register(self.unicode, PASSWORD), 201).json["user_id"]
        for email in self.spellings:
            with self.subTest(email):
                self.expect(self.register(email, OTHER), 409, "email_taken")
                grant = self.expect(self.login(email, PASSWORD), 200).json
                self.assertEqual((grant["user_id"], self.me(grant).json["email"]), (user, self.ascii))
                self.assertEqual(self.filtered(f'email = "{email}"'), [self.ascii])
                self.assertIn(self.ascii, self.filtered(f'email in ("x@example.com", "{email}")'))
                self.assertIn(self.ascii,
                              self.filtered(f'email_domain = "{email.partition("@")[2]}"'))
                self.assertEqual(self.site.dossier("user", "show", email)["id"], user)
                found = self.management(
                    "GET", f"users?q=email:%22{urllib.parse.quote(email)}%22", token=self.back_end_token())
                self.assertEqual([one["email"] for one in self.expect(found, 200).json], [self.ascii])
                found = self.management(
                    "GET", f"users-by-email?email={urllib.parse.quote(email)}", token=self.back_end_token())
                self.assertEqual([one["email"] for one in found.json], [self.ascii])
                self.refused(11, "user", "create", f"email={email}")
                self.site.sql("delete from rate_limits")

    def refused(self, status, *arguments):
        run = self.site.dossier(*arguments, check=False)
        self.assertEqual(run.returncode, status, run.stderr)
        return run.stderr

    def test_codes_and_resets_find_the_user_of_each_spelling(self):
        user = self.verified_user()
        for count, email in enumerate(self.spellings[:3], 1):
            with self.subTest(email):
                asked = self.post("/v1/login/code/request", {"email": email})
                flow = self.expect(asked, 202).json["flow"]
                code = self.mailed_code(self.ascii, count)
                self.assertEqual(self.expect(self.enter(flow, code), 200).json["user_id"], user)
                asked = self.post("/v1/password/reset-request", {"email": email})
                self.expect(asked, 202)
                token = self.site.mailed(self.ascii, "ds_reset", count)
                self.assertEqual(self.expect(self.reset(token, PASSWORD), 200).json["user_id"], user)
                self.site.sql("delete from rate_limits")

    def verified_user(self):
        grant = self.expect(self.register(self.unicode, PASSWORD), 201).json
        self.expect(self.verify(self.site.mailed(self.ascii, "ds_verify"), grant), 204)
        return grant["user_id"]

    def test_people_read_the_domain_in_unicode(self):
        self.sign_up(self.ascii)
        self.assertIn(self.unicode, self.visitor.open("/account").text)
        self.assertNotIn("xn--", self.visitor.page.text)
        # Words, so that no mail program makes a link of the address.
        self.settings(reset_text="For {{email}}: {{token}}")
        self.expect(self.post("/v1/password/reset-request", {"email": self.ascii}), 202)
        self.site.mailed(self.ascii, "ds_reset")
        self.assertIn("For people at bücher dot example:", self.site.mails(self.ascii)[-1])
        self.shows(self.visitor.open(self.link(self.ascii, "ds_verify")), "Verify your email address")
        self.assertIn(f"Use {self.unicode} for your", self.visitor.page.text)
        self.shows(self.sign_in(self.unicode, visitor=self.new_visitor()), "Your account")

    def test_deletions_take_the_address_as_people_read_it(self):
        self.sign_up(self.ascii)
        self.shows(self.visitor.open("/account/delete"), "Delete account")
        self.assertIn(f"Type {self.unicode} to confirm", self.visitor.page.text)
        self.visitor.submit("/account/delete", confirmation=self.unicode)
        self.expect(self.login(self.ascii, PASSWORD), 401)

    def test_imports_know_both_spellings(self):
        path, results = self.site.folder / "rows.ndjson", self.site.folder / "results.ndjson"
        path.write_text("".join(json.dumps({"email": email}) + "\n" for email in self.spellings))
        run = self.site.dossier("user", "import", path, "--results", results, check=False)
        self.assertEqual(run.returncode, 17, run.stderr)
        rows = [json.loads(line) for line in results.read_text().splitlines()]
        self.assertEqual([row["status"] for row in rows], ["created"] + ["failed"] * 4, rows)
        self.assertEqual(self.filtered('email ^= "imports@"'), [self.ascii])

    def test_unreachable_addresses_are_refused_alike(self):
        grant = self.verified("reached@example.com", PASSWORD)
        token = self.back_end_token()
        for email, code in [("kıss@example.com", "email"), ("a@xn--a.de", "email"),
                            ("a@localhost", "email"), ("a@xn--pypal-4ve.com", "mixed_scripts")]:
            details = set()
            for path, body, options in [
                    ("/v1/register", {"password": PASSWORD}, {}),
                    ("/v1/login/code/request", {}, {}), ("/v1/password/reset-request", {}, {}),
                    ("/v1/email/verify/request", {}, {}),
                    ("/v1/me/email", {}, {"token": grant["access_token"]})]:
                if code == "mixed_scripts" and ("reset" in path or "verify" in path):
                    # The app may have allowed the address before.
                    continue
                with self.subTest(email=email, path=path):
                    answer = self.post(path, {"email": email, **body}, **options)
                    [fault] = self.expect(answer, 422, "validation_failed").json["errors"]
                    self.assertEqual((fault["pointer"], fault["code"]), ("/email", code))
                    details.add(fault["detail"])
            self.assertEqual(len(details), 1, details)
            self.assertIn(details.pop(), self.refused(12, "user", "create", f"email={email}"))
            answer = self.management("PATCH", f"users/auth0|{grant['user_id']}", {"email": email},
                                     token)
            self.expect(answer, 400)

    def test_stored_addresses_are_rewritten(self):
        """Rows of a version that stored Unicode domains."""
        old, ascii_form = "stored@bücher.example", self.ascii
        user = self.expect(self.register(self.ascii, PASSWORD), 201).json["user_id"]
        other = self.expect(self.register("other@example.com", PASSWORD), 201).json["user_id"]
        self.age(user, old)
        self.expect(self.login(self.unicode, PASSWORD), 401)
        trial = self.site.dossier("user", "canonicalize", "--dry-run")
        self.assertEqual(trial, [])
        self.expect(self.login(self.unicode, PASSWORD), 401)
        self.assertEqual(self.site.dossier("user", "canonicalize"), [])
        for email in self.spellings:
            self.assertEqual(self.expect(self.login(email, PASSWORD), 200).json["user_id"], user)
        self.assertEqual(self.rows(user), [ascii_form] * 3)
        token = self.site.mailed(self.ascii, "ds_verify")
        self.expect(self.verify(token, self.login(old, PASSWORD).json), 204)
        # The address that another user has in the canonical form is listed, and stays.
        self.age(other, old)
        run = self.site.dossier("user", "canonicalize", check=False)
        self.assertEqual(run.returncode, 11, run.stderr)
        self.assertEqual(json.loads(run.stdout), [{
            "app": "default", "user_id": other, "email": old, "canonical": ascii_form,
            "other_user_id": user}])
        self.assertEqual(self.rows(other), [old] * 3)
        self.site.dossier("user", "delete", other, "--yes")
        self.assertEqual(self.site.dossier("user", "canonicalize"), [])

    def age(self, user, email):
        """Stores the address of a user as an older version did."""
        for change in [
                f"update users set email = '{email}' where user_id = '{user}'",
                f"update identities set subject = '{email}' where user_id = '{user}'",
                f"update mail_tokens set email = '{email}' where user_id = '{user}'",
                f"update identity_subjects set subject = '{email}' where user_id = '{user}'"]:
            self.site.sql(change)

    def rows(self, user):
        return self.site.sql(
            f"select email from users where user_id = '{user}' union all "
            f"select subject from identities where user_id = '{user}' union all "
            f"select subject from identity_subjects where user_id = '{user}'").split("\n")


if __name__ == "__main__":
    unittest.main()
