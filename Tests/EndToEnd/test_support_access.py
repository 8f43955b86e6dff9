"""Support access: a user's code opens a session that only reads, by the API, the pages and the console."""

import base64
import json
import re
import subprocess
import unittest

from asking import JSON
from cases import Administration
from console import ConsoleCase
from deployment import BUILD
from machine import wait_until

REASON = "The game does not save."


def claims(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


class SupportCase(ConsoleCase, Administration):
    def person(self):
        """Returns the tokens of a new user with a verified address, and the address."""
        email = self.new_address()
        return self.verified(email), email

    def code(self, grant):
        return self.expect(self.post("/v1/me/support-codes", token=grant["access_token"]), 201).json["code"]

    def opened(self, code):
        return self.site.dossier("support-session", "create", code, REASON)

    def write(self, grant, method, path, body=None):
        headers = {"PATCH": {"Content-Type": "application/merge-patch+json"}}.get(method, JSON)
        return self.site.request(method, path, body, headers if body is not None else {},
                                 token=grant["access_token"])

    def shown(self, session):
        return self.site.dossier("support-session", "show", session)


class Sessions(SupportCase):
    def test_a_code_opens_a_session_that_both_see(self):
        grant, email = self.person()
        made = self.expect(self.post("/v1/me/support-codes", token=grant["access_token"]), 201).json
        self.assertRegex(made["code"], r"^[0-9a-z]{4}-[0-9a-z]{4}$")
        opened = self.opened(made["code"].upper().replace("-", " "))
        self.assertEqual(opened["user_id"], grant["user_id"])
        token = claims(opened["access_token"])
        self.assertEqual([token["act"], token["scope"]], [{"sub": "operator:tester"}, "read:current_user"])
        self.assertLessEqual(token["exp"] - token["iat"], 1_800)
        # The user sees it in the sessions, the events and an email.
        sessions = self.expect(self.me(grant, "/sessions"), 200).json
        self.assertEqual([item["provider"] for item in sessions if item["id"] == opened["id"]], ["support"])
        event = next(item for item in self.me(grant, "/audit").json if item["action"] == "support_session")
        self.assertEqual([event["actor"], event["detail"], event["session_id"]],
                         ["operator:tester", {"reason": REASON}, opened["id"]])
        wait_until(lambda: any(REASON in text for text in self.site.mails(email)), what="the email")
        # Support sees what the user sees.
        self.assertEqual(self.expect(self.me(opened), 200).json["email"], email)
        data = self.shown(opened["id"])["data"]
        self.assertEqual(data["profile"]["email"], email)

    def test_the_user_ends_it_at_any_time(self):
        grant, _ = self.person()
        opened = self.opened(self.code(grant))
        left = self.code(grant)
        self.expect(self.write(grant, "DELETE", "/v1/me/support-sessions"), 204)
        self.expect(self.me(opened), 401, "session_ended")
        self.refused(10, "support-session", "show", opened["id"])
        # The code that was left is void too.
        self.refused(12, "support-session", "create", left, REASON)
        # Like any other session, it ends by its id.
        opened = self.opened(self.code(grant))
        self.expect(self.write(grant, "DELETE", f"/v1/me/sessions/{opened['id']}"), 204)
        self.expect(self.me(opened), 401, "session_ended")
        self.expect(self.me(grant), 200)

    def test_the_support_ends_it(self):
        grant, _ = self.person()
        opened = self.opened(self.code(grant))
        self.site.dossier("support-session", "end", opened["id"])
        self.expect(self.me(opened), 401, "session_ended")
        self.refused(10, "support-session", "end", opened["id"])

    def test_it_ends_after_half_an_hour(self):
        grant, _ = self.person()
        opened = self.opened(self.code(grant))
        ends = self.site.sql("select extract(epoch from expires_at - created_at)::int from sessions "
                             f"where session_id = '{opened['id']}'")
        self.assertEqual(ends.strip(), "1800")
        self.site.sql(f"update sessions set expires_at = now() where session_id = '{opened['id']}'")
        self.expect(self.me(opened), 401, "session_ended")
        self.refused(10, "support-session", "show", opened["id"])

    def test_a_block_ends_it(self):
        grant, _ = self.person()
        code = self.code(grant)
        self.site.dossier("user", "block", "--yes", grant["user_id"])
        self.refused(12, "support-session", "create", code, REASON)


class Codes(SupportCase):
    def test_a_code_works_once(self):
        grant, _ = self.person()
        code = self.code(grant)
        self.opened(code)
        self.refused(12, "support-session", "create", code, REASON)

    def test_a_new_code_replaces_the_one_before(self):
        grant, _ = self.person()
        first, second = self.code(grant), self.code(grant)
        self.refused(12, "support-session", "create", first, REASON)
        self.opened(second)

    def test_a_code_expires(self):
        grant, _ = self.person()
        code = self.code(grant)
        lasts = self.site.sql("select extract(epoch from expires_at - now())::int from support_codes "
                              f"where user_id = '{grant['user_id']}'")
        self.assertLessEqual(int(lasts), 600)
        self.site.sql("update support_codes set expires_at = now()")
        self.refused(12, "support-session", "create", code, REASON)

    def test_a_code_is_of_one_app(self):
        grant, _ = self.person()
        code = self.code(grant)
        self.site.dossier("app", "create", "other")
        self.refused(12, "support-session", "create", code, REASON, "--app", "other")
        self.opened(code)

    def test_guesses_are_limited(self):
        self.site.dossier("app", "create", "guessed")
        self.site.dossier("app", "set", "--app", "guessed", "failure_minutes=1440")
        arguments = ["support-session", "create", "0000-0000", REASON, "--app", "guessed"]
        for _ in range(10):
            self.refused(12, *arguments, words="This code is wrong or used")
        self.refused(16, *arguments, words="too many attempts")

    def test_the_database_has_no_code(self):
        grant, _ = self.person()
        code = self.code(grant).replace("-", "")
        stored = self.site.sql("select * from support_codes")
        self.assertNotIn(code, stored)
        self.assertNotIn(code.encode().hex(), stored)

    def test_reasons_are_one_line(self):
        grant, _ = self.person()
        code = self.code(grant)
        for reason in ["", "two\nlines", "x" * 201]:
            self.refused(12, "support-session", "create", code, reason)
        self.opened(code)


class ReadOnly(SupportCase):
    SETTINGS = {**ConsoleCase.SETTINGS}

    def test_no_wire_writes_with_it(self):
        self.site.dossier(
            "app", "set", "--app", "default", "app_services=true", "parra=true", "auth0_management=true",
            "auth0_dbconnections=true", "failures_per_ip=100000", "passkey=off")
        grant, _ = self.person()
        user = grant["user_id"]
        self.expect(self.write(grant, "PUT", "/v1/me/metadata", {"a": 1}), 200)
        opened = self.opened(self.code(grant))
        before = self.state(user)
        listing = subprocess.run([BUILD / "dossierd", "routes", "--all"], check=True,
                                 capture_output=True, text=True).stdout
        routes = re.findall(r"^(POST|PUT|PATCH|DELETE) +(/\S+)", listing, re.M)
        self.assertGreater(len(routes), 150)
        token = opened["access_token"]
        refused = 0
        for method, pattern in routes:
            # The forms of pages take cookies, and no tokens.
            if pattern.startswith(("/console", "/account", "/u/")):
                continue
            path = re.sub(r"\{user\}", user, pattern)
            path = re.sub(r"\{[^}]+\}", "a" * 24, path)
            for kind in ["application/json", "application/merge-patch+json"]:
                answer = self.site.request(method, path, {"name": "Eve"}, {"Content-Type": kind}, token=token)
                refused += answer.status in (401, 403)
        self.assertGreater(refused, 100)
        for method, path, body in [
                ("PUT", "/v1/me/metadata", {"a": 2}), ("PATCH", "/v1/me", {"name": "Eve"}),
                ("DELETE", "/v1/me", None), ("POST", "/v1/me/support-codes", None),
                ("POST", "/v1/reauthenticate", {"provider": "password", "email": "x@example.com",
                                                "password": "correct horse"}),
                ("POST", "/v1/logout", None), ("DELETE", "/v1/me/sessions", None)]:
            self.expect(self.write(opened, method, path, body), 403, "insufficient_scope")
        self.assertEqual(self.state(user), before)
        self.expect(self.me(opened), 200)

    def state(self, user):
        return [self.site.sql(f"select {columns} from {table} where user_id = '{user}' order by 1")
                for table, columns in [
                    ("users", "version, email, name, blocked_at"), ("documents", "kind, body, version"),
                    ("properties", "key, value"), ("identities", "identity_id, subject"),
                    ("sessions", "session_id, ended_at"), ("passwords", "changed_at"),
                    ("api_keys", "key_id"), ("second_factors", "factor_id"), ("passkeys", "passkey_id"),
                    ("support_codes", "expires_at"), ("pictures", "name")]]


class AccountPage(SupportCase):
    def test_the_page_makes_a_code_and_ends_the_access(self):
        email = self.own_email()
        self.sign_up(email)
        self.shows(self.visitor.open("/account/support"), "Support")
        page = self.shows(self.visitor.submit("/account/support"), "Support")
        code = re.search(r"[0-9a-z]{4}-[0-9a-z]{4}", page.text)[0]
        opened = self.opened(code)
        page = self.visitor.open("/account/support")
        self.assertIn("Support can see your account until", page.text)
        self.assertNotIn(code, page.text)
        page = self.visitor.open("/account/sessions")
        self.assertIn("Support", page.text)
        # It needs no recent sign-in.
        self.site.sql("update sessions set authenticated_at = now() - interval '1 day'")
        self.visitor.open("/account/support")
        page = self.shows(self.visitor.submit("/support/end"), "Support")
        self.assertIn("Support can't see your account any more.", page.text)
        self.expect(self.me(opened), 401, "session_ended")

    def test_the_overview_leads_there(self):
        self.sign_up(self.own_email())
        page = self.visitor.open("/account")
        self.assertIn('href="/account/support"', page.body.decode())


class Console(SupportCase):
    def test_an_administrator_sees_what_the_user_sees(self):
        visitor = self.administrator("support")
        grant, email = self.person()
        self.shows(visitor.open("/console/default/support"), "Support access")
        page = visitor.submit("/support", code="0000-0000", reason=REASON)
        self.shows(page, "Support access", "Code: This code is wrong or used, or more than 10 minutes old.",
                   status=422)
        self.assertEqual(visitor.form("/support").fields["reason"], REASON)
        page = self.shows(visitor.submit("/support", code=self.code(grant)), "What the user sees Read only")
        self.assertIn(email, page.text)
        self.assertNotIn("eyJhbGci", page.body.decode())
        # It is a page for people, and no JSON.
        for text in ["Profile", "Sessions", "Password", "Signed in"]:
            self.assertIn(text, page.text)
        for text in ["refreshed_at", "{", "user_id"]:
            self.assertNotIn(text, page.text)
        path = page.path
        # It is of one administrator.
        other = self.administrator("owner")
        self.assertIn("This session has ended, or is not yours.", other.open(path).text)
        page = self.shows(visitor.submit("/end"), "Support access")
        self.assertIn("The session has ended.", page.text)
        self.assertIn("This session has ended", visitor.open(path).text)
        event = next(item for item in self.me(grant, "/audit").json if item["action"] == "support_session")
        self.assertRegex(event["actor"], "^administrator:[0-9a-f]{24}$")

    def test_the_user_ends_what_an_administrator_sees(self):
        visitor = self.administrator("support")
        grant, _ = self.person()
        visitor.open("/console/default/support")
        page = visitor.submit("/support", code=self.code(grant), reason=REASON)
        self.expect(self.write(grant, "DELETE", "/v1/me/support-sessions"), 204)
        self.assertIn("This session has ended", visitor.open(page.path).text)

    def test_a_viewer_and_an_old_authentication_are_refused(self):
        viewer = self.administrator("viewer")
        self.assertNotIn("Support access", viewer.open("/console/default").text)
        page = self.shows(viewer.open("/console/default/support"), "Not allowed", status=403)
        self.assertIn("Support, an admin or an owner can do it.", page.text)
        grant, _ = self.person()
        support = self.administrator("support")
        support.open("/console/default/support")
        self.site.sql("update sessions set authenticated_at = now() - interval '1 hour' "
                      "where style = 'console'")
        page = support.submit("/support", code=self.code(grant), reason=REASON)
        self.shows(page, "Confirm that it is you", status=403)

    def test_a_reason_is_shown_as_text(self):
        visitor = self.administrator("support")
        grant, email = self.person()
        visitor.open("/console/default/support")
        visitor.submit("/support", code=self.code(grant), reason="<script>alert(1)</script>")
        wait_until(lambda: any("<script>" in text for text in self.site.mails(email)), what="the email")
        html = self.site.mail_messages(email)[-1].get_body(("html",)).get_content()
        self.assertNotIn("<script", html)


if __name__ == "__main__":
    unittest.main()
