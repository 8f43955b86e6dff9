"""How many statements PostgreSQL executes for a request.

A statement is a line of the log of statements: `begin` and `commit` count too. The numbers are exact,
so a change that adds one must say why, and one that saves one lowers the number here.
"""

import unittest

from asking import JSON, MERGE
from hosted import PASSWORD
from machine import wait_until
from openid import FORM, Party, claims
from parra import Client
from test_auth0 import Auth0Case


class StatementCounts(Auth0Case):
    SETTINGS = {**Auth0Case.SETTINGS, "DOSSIER_LOG": "debug"}
    # A worker reads these now and then, for all requests.
    SHARED = {"apps.list", "client_origins.all", "connections.list", "keyring.load", "native_apps.all",
              "log_streams.list", "schemas.all", "search_values.kinds", "user_data_api.all",
              "webhooks.list"}

    def setUp(self):
        super().setUp()
        self.marks = 0
        self.email, self.user_id = self.user()

    def new_mark(self):
        self.marks += 1
        return {"X-Request-Id": f"{self._testMethodName}-{self.marks}"}

    def check(self, mark, count, requests=1):
        """Checks the number of statements of requests that have one id."""
        def found():
            return [line for line in self.site.log_lines()
                    if line.get("request") == mark["X-Request-Id"]]

        def have_ended():
            names = [line.get("statement") for line in found()]
            return sum("route" in line for line in found()) == requests and (
                names.count("transaction.begin")
                == names.count("transaction.commit") + names.count("transaction.rollback"))

        wait_until(have_ended, what=f"the end of {mark}")
        names = [line["statement"] for line in found()
                 if "statement" in line and line["statement"] not in self.SHARED]
        self.assertEqual(len(names), count, names)

    def checked(self, count, send):
        """Sends a request, and checks the number of its statements."""
        mark = self.new_mark()
        answer = self.expect(send(mark), 200)
        self.check(mark, count)
        return answer

    def login(self):
        return lambda mark: self.post(
            "/v1/login/password", {"email": self.email, "password": PASSWORD}, headers=mark)

    # The hosted pages

    def visit(self, *steps):
        """Takes steps at the pages. Returns their mark, and the number of requests."""
        mark, requests = self.new_mark(), 0
        self.visitor.headers.update(mark)
        for step in steps:
            step()
            requests += len(self.visitor.trace)
        return mark, requests

    def sign_in(self, path):
        return self.visit(lambda: self.visitor.open(path),
                          lambda: self.visitor.submit(email=self.email),
                          lambda: self.visitor.submit("/password", password=PASSWORD))

    def test_a_sign_in_at_the_pages_and_the_account(self):
        mark, requests = self.sign_in("/account")
        self.shows(self.visitor.page, "Your account")
        self.check(mark, 37, requests)
        mark, requests = self.visit(lambda: self.visitor.open("/account"))
        self.shows(self.visitor.page, "Your account")
        self.check(mark, 4, requests)

    def test_a_sign_in_for_a_client(self):
        party = Party(self, self.page)
        mark, requests = self.sign_in(party.path)
        code = party.code(self.visitor.page)
        self.check(mark, 37, requests)
        self.checked(10, lambda mark: party.exchange(code, headers=mark))
        # The browser is signed in.
        party = Party(self, self.page, scope="openid offline_access")
        mark, requests = self.visit(lambda: self.visitor.open(party.path))
        code = party.code(self.visitor.page)
        self.check(mark, 8, requests)
        tokens = self.checked(10, lambda mark: party.exchange(code, headers=mark)).json
        self.checked(4, lambda mark: party.token(
            grant_type="refresh_token", refresh_token=tokens["refresh_token"], headers=mark))

    def test_versions_in_tokens_of_clients_cost_no_statement(self):
        self.site.dossier("app", "set", "token_versions=true")
        self.addCleanup(self.site.dossier, "app", "set", "token_versions=null")
        party = Party(self, self.page, scope="openid offline_access")
        self.sign_in(party.path)
        code = party.code(self.visitor.page)
        tokens = self.checked(10, lambda mark: party.exchange(code, headers=mark)).json
        tokens = self.checked(4, lambda mark: party.token(
            grant_type="refresh_token", refresh_token=tokens["refresh_token"], headers=mark)).json
        for token in ["access_token", "id_token"]:
            self.assertEqual(claims(tokens[token])["ver"].keys(),
                             {"profile", "metadata", "app_metadata", "custom_data"})
        # Of others, one, which also has the claims about the account.
        grant = self.expect(self.login()({}), 200).json
        for more in [[], ["access_token_claims=email"]]:
            self.site.dossier("app", "set", *more) if more else None
            grant = self.checked(2, lambda mark: self.post(
                "/v1/token/refresh", {"refresh_token": grant["refresh_token"]}, headers=mark)).json
        self.site.dossier("app", "set", "access_token_claims=null")

    # The APIs

    def test_a_sign_in_by_password(self):
        self.checked(21, self.login())
        grant = self.checked(21, self.login()).json
        self.checked(1, lambda mark: self.site.get(
            "/v1/me", headers=mark, token=grant["access_token"]))
        self.checked(1, lambda mark: self.post(
            "/v1/token/refresh", {"refresh_token": grant["refresh_token"]}, headers=mark))

    def test_the_changes_of_a_document(self):
        grant = self.expect(self.login()({}), 200).json
        for count in [5, 1]:
            self.checked(count, lambda mark: self.site.request(
                "PATCH", "/v1/me/metadata", {"count": count}, {**MERGE, **mark},
                grant["access_token"]))

    def test_a_change_of_a_document_that_is_published(self):
        app = self.site.add_app("published", event_feed=True, event_types=["metadata.changed"])
        grant = self.expect(self.register("published@example.com", headers=app), 201).json

        def statements():
            mark = self.new_mark()
            self.expect(self.site.request("PATCH", "/v1/me/metadata", {"count": self.marks},
                                          {**app, **MERGE, **mark}, grant["access_token"]), 200)

            def found():
                return [line for line in self.site.log_lines()
                        if line.get("request") == mark["X-Request-Id"]]

            wait_until(lambda: any("route" in line for line in found()))
            return [line["statement"] for line in found()
                    if "statement" in line and line["statement"] not in self.SHARED]

        # Each worker finds out once that the database is not distributed.
        wait_until(lambda: statements() == ["documents.update_and_queue"])

    def test_a_poll_of_the_revocation_feed_without_news(self):
        self.site.set_app(revocation_feed=True)
        self.addCleanup(self.site.set_app, revocation_feed=None)
        secret = self.site.client("--app", "default", "scopes=read:revocations")["secret"]

        def poll(**fields):
            query = f"?since={self.next}" if self.next else ""
            return self.site.get(f"/v1/revocations{query}", headers=fields, token=secret)

        self.next = ""
        wait_until(lambda: poll().status == 200)
        page = poll()
        self.next = page.json["next"]
        mark = self.new_mark()
        self.expect(poll(**mark, **{"If-None-Match": page.headers["ETag"]}), 304)
        self.check(mark, 2)

    def test_a_user_of_the_management_api(self):
        token = self.back_end_token()
        self.checked(3, lambda mark: self.site.get(
            f"/api/v2/users/auth0|{self.user_id}", headers=mark, token=token))

    def test_a_client_with_a_secret(self):
        body = (f"grant_type=client_credentials&client_id={self.back_end['id']}"
                f"&client_secret={self.back_end['secret']}&audience={self.api}")
        self.checked(3, lambda mark: self.site.request(
            "POST", "/oauth/token", body, {**FORM, **mark}))

    def test_a_change_of_a_user_of_parra(self):
        client = Client(self.site).launch()
        client.sign_up(self.own_email().replace("@", "-parra@"))
        names = {"first_name": "Ada", "last_name": None, "name": "ada"}
        for count, more in [(9, {"properties": {"theme": "dark"}}), (7, {})]:
            self.checked(count, lambda mark: client.send(
                "PUT", client.base + client.user_path, {**names, **more}, {**JSON, **mark},
                client.tokens["access_token"]))


if __name__ == "__main__":
    unittest.main()
