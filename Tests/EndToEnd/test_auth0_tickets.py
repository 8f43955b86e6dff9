"""Back ends make links to pages that set a password or verify an address, as Auth0's SDKs do."""

import urllib.parse

from hosted import PASSWORD
from openid import CALLBACK, LOGOUT, target
from test_auth0 import START, Auth0Case

VERSION_4 = START + """
from auth0.management import Tickets
tickets = Tickets(domain, access, protocol="http")
made = [tickets.create_pswd_change({"user_id": site["user"], "ttl_sec": 60}),
        tickets.create_pswd_change({"email": site["mail"], "mark_email_as_verified": True,
                                    "connection_id": "Username-Password-Authentication"}),
        tickets.create_pswd_change({"email": site["mail"], "connection_id": "con_0123456789abcdef",
                                    "includeEmailInRedirect": True}),
        tickets.create_email_verification({"user_id": site["user"]})]
for ticket in made:
    assert ticket["ticket"].startswith("http://%s/u/" % domain), ticket
assert len({ticket["ticket"] for ticket in made}) == 4, made
print("done")
"""

VERSION_6 = START + """
from auth0.management import Auth0
client = Auth0(base_url="http://%s/api/v2" % domain, token=access)
identity = {"user_id": site["user"][6:], "provider": "auth0"}
assert client.tickets.change_password(user_id=site["user"], ttl_sec=0, identity=identity).ticket
assert client.tickets.verify_email(user_id=site["user"], client_id=site["page"]).ticket
print("done")
"""


class Tickets(Auth0Case):
    SCOPES = Auth0Case.SCOPES + ["create:user_tickets"]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.dossier("client", "set", cls.page["id"], f"logout_urls={LOGOUT}")

    def ticket(self, kind, **body):
        token = self.back_end_token()
        answer = self.expect(self.management("POST", f"tickets/{kind}", body, token), 201)
        return urllib.parse.urlsplit(answer.json["ticket"])._replace(scheme="", netloc="").geturl()

    def is_verified(self, user):
        path = f"users/{user}?fields=email_verified"
        return self.management("GET", path, token=self.back_end_token()).json["email_verified"]

    def new_user(self, prefix=""):
        mail, user = self.user(prefix + self.own_email())
        return mail, f"auth0|{user}"

    def test_the_sdks(self):
        mail, user = self.new_user()
        self.run_program("4.13.0", VERSION_4, user=user, mail=mail)
        self.run_program("6.8.0", VERSION_6, user=user, mail=mail)

    def test_a_password_is_set_once(self):
        mail, user = self.new_user()
        path = self.ticket("password-change", user_id=user)
        self.visitor.open(path)
        self.shows(self.visitor.submit(new_password="another horse battery"), "Your password has been changed")
        self.assertFalse(self.is_verified(user))
        self.visitor.open(path)
        self.assertEqual(self.visitor.page.status, 404)
        self.shows(self.sign_in(mail, "another horse battery"), "Your account")
        self.assertEqual(self.site.mails(mail)[1:], [])

    def test_a_password_change_may_verify_the_address(self):
        mail, user = self.new_user()
        self.visitor.open(self.ticket("password-change", user_id=user, mark_email_as_verified=True))
        self.visitor.submit(new_password="another horse battery")
        self.assertTrue(self.is_verified(user))

    def test_an_address_is_verified_by_its_user(self):
        mail, user = self.new_user()
        path = self.ticket("email-verification", user_id=user)
        self.visitor.open(path)
        self.visitor.submit("/verify", password=PASSWORD)
        self.assertTrue(self.is_verified(user))
        self.shows(self.visitor.open(path), "Already verified")

    def test_the_browser_goes_to_a_registered_url(self):
        mail, user = self.new_user()
        for client in [{}, {"client_id": self.page["id"]}]:
            self.visitor.open(self.ticket(
                "password-change", user_id=user, result_url=LOGOUT + "?a=1", **client))
            page = self.visitor.submit(new_password="another horse battery")
            self.assertEqual(target(page), LOGOUT + "?a=1&success=true")
        _, other = self.new_user("other")
        self.visitor = self.new_visitor()
        self.visitor.open(self.ticket("email-verification", user_id=other, result_url=LOGOUT))
        page = self.visitor.submit("/verify", password=PASSWORD)
        self.assertEqual(target(page), LOGOUT + "?success=true")

    def test_a_ticket_expires(self):
        _, user = self.new_user()
        path = self.ticket("password-change", user_id=user, ttl_sec=60)
        days = self.site.sql("select expires_at < now() + interval '1 minute' from mail_tokens where "
                             f"user_id = '{user[6:]}' and purpose = 'reset'")
        self.assertEqual(days, "t")
        self.site.sql("update mail_tokens set expires_at = now()")
        self.assertEqual(self.visitor.open(path).status, 404)

    def test_invalid_requests(self):
        mail, user = self.new_user()
        token = self.back_end_token()
        body = {"user_id": user, "other": 1}
        made = self.expect(self.management("POST", "tickets/password-change", body, token), 201)
        self.assertEqual(made.json["ignored_members"], ["other"])
        known = {"user_id": user}
        for status, code, body in [
                (400, "invalid_body", {}), (400, "invalid_body", {**known, "email": mail}),
                (400, "inexistent_connection", {"email": mail}),
                (400, "inexistent_connection", {"email": mail, "connection_id": "x"}),
                (400, "invalid_body", {**known, "ttl_sec": -1}),
                (400, "invalid_body", {**known, "ttl_sec": 1e30}),
                (400, "invalid_body", {**known, "ttl_sec": "60"}),
                (400, "invalid_body", {**known, "new_password": "x"}),
                (400, "invalid_body", {**known, "organization_id": "org_1"}),
                (400, "invalid_body", {**known, "identity": 1}),
                (400, "invalid_body", {**known, "mark_email_as_verified": "true"}),
                (400, "invalid_body", {**known, "includeEmailInRedirect": "x"}),
                (400, "invalid_body", {**known, "client_id": "x"}),
                (400, "invalid_body", {**known, "client_id": "0" * 24}),
                (400, "invalid_body", {**known, "result_url": "https://evil.example/"}),
                (400, "invalid_body", {**known, "result_url": LOGOUT + "/x"}),
                (400, "invalid_body", {**known, "result_url": LOGOUT + "#x"}),
                (400, "invalid_body", {**known, "result_url": "javascript:alert(1)"}),
                (400, "invalid_body", {**known, "result_url": CALLBACK}),
                (400, "invalid_body", {**known, "result_url": LOGOUT, "client_id": self.native["id"]}),
                (404, "inexistent_user", {"user_id": "auth0|" + "0" * 24}),
                (404, "inexistent_user", {"email": "x" + mail,
                                          "connection_id": "Username-Password-Authentication"})]:
            with self.subTest(body):
                answer = self.management("POST", "tickets/password-change", body, token)
                self.refused(answer, status, code)
        body = {**known, "mark_email_as_verified": True}
        made = self.expect(self.management("POST", "tickets/email-verification", body, token), 201)
        self.assertEqual(made.json["ignored_members"], ["mark_email_as_verified"])
