"""Connections that take the name of another, secrets of connections, and changes at once."""

import json
import unittest
import urllib.parse

from asking import JSON, MERGE
from cases import in_parallel
from connections import ConnectionCase
from test_auth0 import Auth0Case


class RecordCase(Auth0Case, ConnectionCase):
    SCOPES = [*Auth0Case.SCOPES, "read:connections", "update:users"]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.operator = cls.site.client("--operator")["secret"]

    def issuers(self, *names, preset="oidc"):
        """Adds issuers, each with a key and a person of its own."""
        added = [self.upstreams.add(preset, name) for name in names]
        for issuer in added:
            issuer.rotate()
            issuer.is_new(f"{issuer.name}-{self.own_email()}")
        return added

    def ask(self, method, path="", body=None, version=None, key=None):
        """Sends a request to `/v1/connections` as the operator."""
        media = {} if body is None else MERGE if method == "PATCH" else JSON
        match = {} if version is None else {"If-Match": f'"{version}"'}
        return self.site.request(method, f"/v1/connections{path}", body, {**media, **match},
                                 key or self.operator)

    def named(self, name, issuer, **attributes):
        """Creates a connection to an issuer under any name."""
        answer = self.ask("POST", "", {"name": name, "label": name, **issuer.settings, **attributes})
        if answer.status == 201:
            issuer.name, issuer.redirect_uri = name, f"{self.issuer}u/callback/{name}"
            self.addCleanup(self.ask, "DELETE", f"/{name}?force=true")
        return answer

    def connected(self, name, issuer, **attributes):
        return self.expect(self.named(name, issuer, **attributes), 201).json

    def enter(self, issuer, **lies):
        """Signs the person of an issuer in by an ID token."""
        return self.post("/v1/login/connection", {
            "connection": issuer.name, "id_token": issuer.native_token(**lies)})

    def user_of(self, issuer):
        return self.expect(self.enter(issuer), 200).json["user_id"]


class Replaced(RecordCase):
    def test_a_new_connection_of_an_old_name_knows_nothing_of_the_old_issuer(self):
        old, new = self.issuers("old", "new")
        self.connected("company", old)
        # Both workers know the documents of the old issuer.
        [user] = {self.user_of(old) for _ in range(8)}
        self.expect(self.ask("DELETE", "/company?force=true"), 204)
        self.connected("company", new)
        before = len(old.requests)
        for _ in range(8):
            # The old issuer signs for a user of the new one.
            forged = old.native_token(iss=new.base, sub=new.person.subject, aud=new.client_id)
            body = {"connection": "company", "id_token": forged}
            self.expect(self.post("/v1/login/connection", body), 401, "external_token_invalid")
            self.expect(self.enter(old), 401, "external_token_invalid")
            self.assertNotEqual(self.user_of(new), user)
        self.assertEqual(self.signed_in_at(new)["sub"], self.owner(new))
        # Neither the secret of the new one nor a browser has gone to the old one.
        self.assertEqual(len(old.requests), before)
        self.assertEqual(new.refusals, [])
        # Its users sign in again by a connection of any name.
        self.connected("other", old)
        self.assertEqual(self.user_of(old), user)

    def test_a_user_with_two_accounts_at_a_service_needs_its_connection(self):
        [issuer] = self.issuers("twice")
        self.connected("twice", issuer)
        grant = self.expect(self.enter(issuer), 200).json
        issuer.is_new()
        link = {"provider": "connection", "connection": "twice", "id_token": issuer.native_token()}
        self.expect(self.attach(grant, **link), 200)
        answer = self.expect(self.ask("DELETE", "/twice"), 409, "connection_in_use")
        self.assertEqual(answer.json["users"], 1)
        # An API key is another way.
        self.expect(self.post("/v1/me/api-keys", {"name": "laptop"}, token=grant["access_token"]), 201)
        self.expect(self.ask("DELETE", "/twice"), 204)

    def test_an_account_waits_no_longer_than_its_connection(self):
        [issuer] = self.issuers("brief")
        self.connected("brief", issuer, email_trust="verified")
        email = self.own_email()
        grant = self.verified(email)
        issuer.is_new(email)
        flow = self.expect(self.enter(issuer), 409, "account_exists").json["flow"]
        self.expect(self.ask("PATCH", "/brief", {"enabled": False}), 200)
        link = {"provider": "pending", "flow": flow}
        self.expect(self.attach(grant, **link), 403, "pending_identity_invalid")
        self.expect(self.ask("PATCH", "/brief", {"enabled": True}), 200)
        self.expect(self.attach(grant, **link), 200)


class Names(RecordCase):
    """Names by which Auth0's API knows users."""

    def shown(self, user):
        """Returns the identities of a user."""
        return self.expect(self.management(
            "GET", f"users/auth0|{user}", token=self.back_end_token()), 200).json["identities"]

    def links(self, identity, user):
        """Checks that the pair of an identity names its user, who is linked to another one by it."""
        primary = self.expect(self.register(f"{user}@example.com"), 201).json["user_id"]
        found = self.expect(self.management(
            "GET", f"users/{identity['provider']}|{identity['user_id']}",
            token=self.back_end_token()), 200).json
        self.assertEqual(found["user_id"], f"auth0|{user}")
        pair = {"provider": identity["provider"], "user_id": identity["user_id"]}
        self.expect(self.management("POST", f"users/auth0|{primary}/identities", pair,
                                    self.back_end_token()), 201)
        self.assertEqual(self.site.sql(f"select count(*) from users where user_id = '{user}'"), "0")
        return primary

    def test_the_pair_of_an_identity_names_no_user_of_another_service(self):
        """Two services count their users alike."""
        for preset, names in [("oidc", ["oidc", "staff"]), ("gitlab", ["gitlab", "works"])]:
            with self.subTest(preset):
                first, second = self.issuers(f"{preset}-1", f"{preset}-2")
                self.connected(names[0], first, preset=preset)
                self.connected(names[1], second, preset=preset)
                second.person.subject = first.person.subject
                stranger, user = self.user_of(first), self.user_of(second)
                [identity] = self.shown(user)
                self.assertEqual((identity["provider"], identity["connection"], identity["user_id"]),
                                 (names[1], names[1], second.person.subject))
                [other] = self.shown(stranger)
                self.assertEqual(other["provider"], names[0])
                primary = self.links(identity, user)
                self.assertEqual([self.owner(first), self.owner(second)], [stranger, primary])
                found = self.expect(self.management("GET", "users?" + urllib.parse.urlencode(
                    {"q": f'identities.provider:"{names[1]}"'}), token=self.back_end_token()), 200)
                self.assertEqual([one["user_id"] for one in found.json], [f"auth0|{primary}"])

    def test_connections_to_one_service_share_its_users(self):
        [google] = self.issuers("g", preset="google")
        self.connected("google", google)
        self.connected("more", google, client_id="more")
        google.client_id = "more"
        user = self.user_of(google)
        [identity] = self.shown(user)
        self.assertEqual(identity["provider"], "google-oauth2")
        google.client_id, google.name = "g.client-1", "google"
        self.assertEqual(self.user_of(google), user)
        self.links(identity, user)

    def test_one_connection_has_the_name_of_its_preset(self):
        first, second = self.issuers("git-1", "git-2", preset="gitlab")
        self.connected("forge", first, position=0)
        self.connected("gitlab", second, position=1)
        listed = self.expect(self.management(
            "GET", "connections", token=self.back_end_token()), 200).json
        names = {one["display_name"]: one["name"] for one in listed if "display_name" in one}
        self.assertEqual((names["forge"], names["gitlab"]), ("forge", "gitlab"))

    def test_names_of_other_ways_to_sign_in_are_refused(self):
        [issuer] = self.issuers("reserved")
        for name in ["auth0", "anonymous", "email", "password", "google-oauth2", "windowslive", "github",
                     "apple"]:
            answer = self.named(name, issuer, preset="oidc")
            self.expect(answer, 422, "validation_failed")
            self.assertEqual([one["pointer"] for one in answer.json["errors"]], ["/name"])
        for name in ["auth0", "anonymous", "email"]:
            body = {"name": name, "issuer": "https://issuer.example", "audience": "a", "secret": "s" * 32}
            answer = self.site.request("POST", "/v1/issuers", body, JSON, self.operator)
            self.expect(answer, 422, "validation_failed")
        self.connected("google-oauth2", self.issuers("again", preset="google")[0])


class Texts(RecordCase):
    """Attributes that pages, emails and browsers get."""

    def refuses(self, body, pointer, path="/v1/connections"):
        answer = self.site.request("POST", path, body, JSON, self.operator)
        self.expect(answer, 422, "validation_failed")
        self.assertEqual([one["pointer"] for one in answer.json["errors"]], [pointer])

    def test_a_label_is_a_line_that_people_can_read(self):
        [issuer] = self.issuers("labels")
        body = {"name": "labels", **issuer.settings}
        for label in ["a\nb", "a\tb", "a\u001b[31mb", "a\u009bb", "\u202eelgooG", "a\u2066b", "\u200b", " "]:
            with self.subTest(repr(label)):
                self.refuses({**body, "label": label}, "/label")
        self.assertEqual(self.connected("labels", issuer, label="")["label"], "labels")
        changed = self.ask("PATCH", "/labels", {"label": "\u202eelgooG"})
        self.expect(changed, 422, "validation_failed")
        self.expect(self.ask("PATCH", "/labels", {"label": "\u05d0\u05d1\u200f & <b>Co</b>"}), 200)

    def test_the_name_of_an_issuer_is_a_line_that_people_can_read(self):
        body = {"name": "own", "audience": "a", "secret": "s" * 32}
        for issuer in ["a\nb", "a\u001b[31mb", "\u202ea", " "]:
            self.refuses({**body, "issuer": issuer}, "/issuer", "/v1/issuers")

    def test_results_go_to_pages_and_apps_only(self):
        [issuer] = self.issuers("pages")
        body = {"name": "pages", **issuer.settings}
        for url in ["javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "file:///etc/passwd",
                    "http://shop.example.com/handled", 'https://shop.example.com/"x', "https://a@b.example",
                    "https://shop.example.com/#x", "//shop.example.com", "https://", "x" * 2001 + ":/"]:
            with self.subTest(url[:40]):
                self.refuses({**body, "app_services_redirects": [url]}, "/app_services_redirects/0")
        self.connected("pages", issuer, app_services_redirects=[
            "https://shop.example.com/handled?a=b", "http://localhost:3000/h", "com.example.shop:/h"])


class Secrets(RecordCase):
    def test_no_caller_reads_a_secret(self):
        """Nor do files, logs, events, metrics and error messages have one."""
        [upstream] = self.issuers("sealed")
        [apple] = self.issuers("apple", preset="apple")
        key = "".join(apple.client_key.private.splitlines()[1:-1])
        secrets = [upstream.secret, key[:40], "replaced secret", "mistyped secret"]
        shown = [self.connected("sealed", upstream), self.connected("apple", apple)]
        for path in ["", "/sealed", "/apple"]:
            shown.append(self.expect(self.ask("GET", path), 200).json)
        for name in ["sealed", "apple"]:
            shown.append(self.expect(self.ask("POST", f"/{name}/check"), 200).json)
        self.signed_in_at(upstream)
        # A secret of the wrong kind, and one beside a fault.
        for body in [{"client_secret": "mistyped secret"}, {"client_secret": 7},
                     {"client_secret": "mistyped secret" * 1000}]:
            shown.append(self.expect(self.ask("PATCH", "/apple", body), 422).json)
        shown.append(self.expect(self.ask(
            "PATCH", "/sealed", {"client_secret": "mistyped secret", "link": "x"}), 422).json)
        shown.append(self.expect(self.ask(
            "PATCH", "/sealed", {"client_secret": "replaced secret"}), 200).json)
        page, _ = self.go(upstream, self.new_visitor())
        shown += [page.body.decode(), self.expect(self.ask("POST", "/sealed/check"), 200).json]
        token = self.back_end_token()
        listed = self.expect(self.management("GET", "connections", token=token), 200).json
        shown += [listed, *(self.management("GET", f"connections/{one['id']}", token=token).json
                            for one in listed)]
        shown.append(self.expect(self.site.get("/v1/connections/public"), 200).json)
        for command in [["connection", "list"], ["connection", "show", "apple"], ["audit"]]:
            shown.append(self.site.dossier(*command, "--app", "default"))
        self.site.create_app("files")
        self.create(upstream, app="files")
        shown.append(self.site.dossier("export-config", "--app", "files", output="text"))
        self.assertIn(upstream.client_id, shown[-1])
        shown.append(self.site.dossier("doctor", check=False).stdout)
        shown.append(self.site.get("/metrics").body.decode())
        shown.append((self.site.folder / "dossierd.log").read_text())
        shown += [path.read_text() for path in self.site.inbox.folder.glob("*.eml")]
        tables = self.site.sql("select format('%I.%I', schemaname, tablename) from pg_tables "
                               "where schemaname = 'public'").split()
        stored = [self.site.sql(f"select t::text from {table} t") for table in tables]
        self.assertIn("sealed", "".join(stored))
        for text in [one if isinstance(one, str) else json.dumps(one) for one in shown + stored]:
            for secret in secrets:
                for form in [secret, secret.encode().hex()]:
                    self.assertNotIn(form, text, text[:200])

    def test_a_secret_goes_to_no_new_url_unless_it_is_sent_with_it(self):
        """The key of an operator could read it at a server of its own."""
        [upstream] = self.issuers("moving")
        [facebook] = self.issuers("meta", preset="facebook")
        self.connected("moving", upstream)
        self.connected("meta", facebook)
        elsewhere = "https://evil.example/token"
        for name, patch in [("moving", {"token_url": elsewhere}), ("meta", {"token_url": elsewhere}),
                            ("meta", {"token_url": None}), ("meta", {"userinfo_url": elsewhere})]:
            answer = self.expect(self.ask("PATCH", f"/{name}", patch), 422, "validation_failed")
            self.assertEqual([one["pointer"] for one in answer.json["errors"]], ["/client_secret"])
        kept = facebook.settings["token_url"]
        for name, patch in [("moving", {"userinfo_url": elsewhere}), ("meta", {"token_url": kept}),
                            ("moving", {"token_url": elsewhere, "client_secret": "new"}),
                            ("moving", {"token_url": None, "client_secret": None}),
                            ("moving", {"token_url": elsewhere})]:
            self.expect(self.ask("PATCH", f"/{name}", patch), 200)

    def test_tokens_of_other_apis_manage_no_connection(self):
        [issuer] = self.issuers("managed")
        self.connected("managed", issuer)
        email, _ = self.user()
        tokens, _ = self.tokens(email=email)
        keys = [self.back_end_token(), self.back_end["secret"], tokens["access_token"],
                tokens["id_token"], issuer.native_token(), self.user_token(issuer)]
        body = {"name": "more", **issuer.settings}
        for key in keys:
            for method, path, sent in [
                    ("GET", "", None), ("POST", "", body), ("GET", "/managed", None),
                    ("PATCH", "/managed", {"email_trust": "always", "link": "auto"}),
                    ("POST", "/managed/check", None), ("DELETE", "/managed?force=true", None)]:
                answer = self.ask(method, path, sent, key=key)
                self.assertIn(answer.status, [401, 403], (method, path, answer.body))
        shown = self.expect(self.ask("GET", "/managed"), 200).json
        self.assertEqual((shown["link"], shown["version"]), ("ask", 1))

    def user_token(self, issuer):
        return self.expect(self.enter(issuer), 200).json["access_token"]


class AtOnce(RecordCase):
    def test_twenty_of_many_creations_at_once_are_made(self):
        self.site.create_app("crowded")
        [issuer] = self.issuers("crowd")

        def create(number):
            return self.site.request(
                "POST", "/v1/connections", {"name": f"crowd-{number}", **issuer.settings},
                {**JSON, "Dossier-App": "crowded"}, self.operator).status

        found = in_parallel(26, create)
        self.assertEqual((found.count(201), found.count(422)), (20, 6), found)

    def test_changes_at_once_are_all_kept(self):
        [issuer] = self.issuers("busy")
        version = self.connected("busy", issuer)["version"]
        scopes = [f"scope-{number}" for number in range(8)]
        patches = [{"label": "Busy"}, {"position": 7}, {"scopes": scopes}, {"link": "never"},
                   {"client_secret": issuer.secret}, {"domains": ["a.example"]}]
        found = in_parallel(
            len(patches), lambda index: self.ask("PATCH", "/busy", patches[index]))
        self.assertEqual([one.status for one in found], [200] * len(patches))
        shown = self.expect(self.ask("GET", "/busy"), 200).json
        self.assertEqual((shown["label"], shown["position"], shown["scopes"], shown["link"]),
                         ("Busy", 7, scopes, "never"))
        self.assertEqual((shown["domains"], shown["version"]), (["a.example"], version + len(patches)))
        # Of changes to one version, one is made.
        found = in_parallel(
            6, lambda place: self.ask("PATCH", "/busy", {"position": place}, shown["version"]))
        self.assertEqual(sorted(one.status for one in found), [200] + [412] * 5)

    def test_the_service_of_a_connection_does_not_change(self):
        one, two = self.issuers("fixed", "moved")
        self.connected("fixed", one)
        for patch in [{"issuer": two.base}, {"issuer": None}, {"preset": "google"}, {"name": "x"},
                      {"app": "x"}, {"version": 7}]:
            self.expect(self.ask("PATCH", "/fixed", patch), 422, "validation_failed")


if __name__ == "__main__":
    unittest.main()
