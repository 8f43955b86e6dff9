"""Measurements of sign-ins at another service: the callback, beside the ID token alone."""

import json
import random
import urllib.parse

from device_bench import DeviceBench
from asking import ADDRESS, JSON
from hosted import Visitor
from upstream import Upstream
from connections import browse, kept
from wire_bench import wait_for_success

PEOPLE, CALLBACKS = 64, 500


class ConnectionBench(DeviceBench):
    def issuer(self):
        """An issuer with a connection, and people who have signed in before; made once."""
        if not hasattr(self, "upstream"):
            self.upstream = Upstream()
            own = self.site.get("/.well-known/openid-configuration").json["issuer"]
            issuer = self.upstream.add("oidc", "upstream", algorithm="ES256")
            issuer.redirect_uri = f"{own}u/callback/upstream"
            settings = {**issuer.settings, "client_secret": f"@{kept(issuer.secret)}"}
            self.site.dossier("connection", "create", "upstream", "--app", "default",
                              *[f"{name}={value}" for name, value in settings.items()])

            def signed_in():
                return self.site.request(
                    "POST", "/v1/login/jwt", {"token": issuer.native_token()}, JSON)

            wait_for_success(self.site, signed_in)
            self.people = []
            for _ in range(PEOPLE):
                self.people.append(issuer.is_new())
                answer = signed_in()
                assert answer.status == 200, answer.body
        return self.upstream.issuers["upstream"]

    def stop(self):
        if hasattr(self, "upstream"):
            self.upstream.stop()
        super().stop()

    def token_logins(self):
        """Sign-ins by an ID token, which need no call of the issuer."""
        issuer, lines = self.issuer(), []
        for issuer.person in self.people:
            lines.append(json.dumps({"token": issuer.native_token()}))
        return self.requests("/v1/login/jwt", self.file("id-tokens", lines), clients=8,
                             ADDRESS_FIELD=ADDRESS)

    def callbacks(self):
        """Ends of redirects, each with a call of the issuer, which shares the machine."""
        issuer, requests = self.issuer(), []
        client = urllib.parse.quote(self.client()["id"])
        for number in range(CALLBACKS):
            issuer.person = self.people[number % PEOPLE]
            address = f"10.2.{random.randrange(256)}.{random.randrange(256)}"
            visitor = Visitor(self.site.port, **{ADDRESS: address})
            visitor.open(f"{self.authorization()}&connection=upstream")
            location = visitor.page.location
            while location.startswith("/"):
                location = visitor.open(location, follow=False).location
            forwarded = visitor.open(browse(location).path, follow=False).location
            cookies = "; ".join(f"{name}={value}" for name, value in visitor.cookies.items())
            requests.append((forwarded, None, {
                ADDRESS: address, "Cookie": cookies, "Accept": "text/html"}))
        return self.once("GET", requests, lambda response, text:
                         "code=" in (response.headers["Location"] or "") + text)
