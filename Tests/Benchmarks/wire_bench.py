"""Measurements of sign-ins, tokens and the other wires."""

import concurrent.futures
import http.client
import json
import time
import urllib.parse

from bench import Bench
from asking import ADDRESS
from machine import wait_until

SERVICES = "/api/client/v2.0/app/default"
PASSWORD, PASSWORDS = "correct horse", 64


def service_call(name, **arguments):
    """The body of an operation of App Services on the custom data of a user."""
    return json.dumps({"name": name, "service": "mongodb-atlas", "arguments": [
        {"database": "my_database", "collection": "users", **arguments}]})


def wait_for_success(site, send):
    """Waits until each worker knows the settings with which the request succeeds."""
    # nginx hands requests to the workers in turn.
    wait_until(lambda: all(send().status < 300 for _ in range(4 * len(site.workers()))), 60,
               "the settings")


def offer_services(site):
    """Names the app's collection."""
    site.set_app(app_services_collection="mongodb-atlas/my_database/users")
    token = site.login()["access_token"]
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    wait_for_success(site, lambda: site.request(
        "POST", f"{SERVICES}/functions/call", service_call("count"), headers))


class WireBench(Bench):
    def refresh(self):
        # The tokens of an earlier run are used up, and a session may refresh a hundred times at once.
        grants = [self.site.login() for _ in range(2_000)]
        bodies = self.file("refreshes", [
            json.dumps({"refresh_token": grant["refresh_token"]}) for grant in grants])
        return self.requests("/v1/token/refresh", bodies, "refresh")

    def find_one(self):
        """The operation of App Services on the custom data of every user."""
        offer_services(self.site)
        body = service_call("findOne", query={"color": "blue"})
        self.site.sql("insert into documents (user_id, kind, body, version) values " + ",".join(
            f"""('{user}', 'custom_data', '{{"userId": "{user}", "color": "blue"}}', 1)"""
            for user, _ in self.ids) + " on conflict do nothing")
        return self.wrk(self.site.port, self.tokens, "POST", f"{SERVICES}/functions/call",
                        body=body)

    def anonymous_logins(self, path="/v1/login/anonymous"):
        return self.requests(path, self.file("anonymous", 2 * ["{}"]), ADDRESS_FIELD=ADDRESS)

    def client(self):
        """A client with a grant, made once."""
        if not hasattr(self, "made"):
            made = self.site.dossier("client", "create", "--app", "default", "bench", "kind=web",
                                     "callback_urls=https://app.example.com/cb")
            api = self.site.dossier(
                "resource-server", "create", "https://api.example.com/", "--app", "default",
                "name=Posts", "scopes.read:posts=Read posts")
            self.site.dossier("client", "grant", made["id"], api["id"], "--scope", "read:posts")
            self.made = made
        return self.made

    def client_grant(self):
        """The body of a request for a token, which is signed with RS256."""
        return json.dumps({
            "grant_type": "client_credentials", "client_id": self.client()["id"],
            "client_secret": self.client()["secret"], "audience": "https://api.example.com/"})

    def client_tokens(self):
        return self.requests("/oauth/token", self.file("clients", 2 * [self.client_grant()]))

    def client_refreshes(self):
        """Refreshes of a client: each makes an access token and an ID token."""
        if not hasattr(self, "native"):
            self.site.dossier(
                "resource-server", "create", "https://refresh.example.com/", "--app", "default",
                "name=Refreshes", "allows_offline_access=true")
            self.native = self.site.dossier(
                "client", "create", "--app", "default", "bench refreshes", "kind=native",
                "callback_urls=https://app.example.com/cb", "password_grant=true")["id"]
        members = {"grant_type": "refresh_token", "client_id": self.native}
        self.passwords()
        # A session may refresh a hundred times at once.
        lines = []
        for number in range(3 * PASSWORDS):
            answer = self.site.request("POST", "/oauth/token", json.dumps({
                "grant_type": "password", "client_id": self.native, "password": PASSWORD,
                "username": f"bench{number % PASSWORDS}@example.com",
                "scope": "openid offline_access", "audience": "https://refresh.example.com/"}),
                {"Content-Type": "application/json"})
            lines.append(json.dumps({**members, "refresh_token": answer.json["refresh_token"]}))
        return self.requests("/oauth/token", self.file("refreshes", lines), "refresh", clients=8,
                             MEMBERS=json.dumps(members)[1:-1] + ",")

    def management(self):
        """A file with a token of a back end for the Management API, made once."""
        if not hasattr(self, "managed"):
            servers = self.site.dossier("resource-server", "list")
            own = next(server for server in servers if server["identifier"] == "api/v2/")
            made = self.site.dossier("client", "create", "--app", "default", "Back end", "kind=machine")
            self.site.dossier("client", "grant", made["id"], own["id"], "--scope", "read:users",
                              "--scope", "update:users", "--scope", "create:users")
            issuer = self.site.get("/.well-known/openid-configuration").json["issuer"]
            answer = self.site.request("POST", "/oauth/token", json.dumps({
                "grant_type": "client_credentials", "client_id": made["id"],
                "client_secret": made["secret"], "audience": issuer + "api/v2/"}),
                {"Content-Type": "application/json"})
            self.managed = self.file("managed", [answer.json["access_token"]])
            self.managed_paths = self.file("managed-paths", [
                f"/api/v2/users/auth0%7C{user}" for user, _ in self.ids])
        return self.managed

    def managed_user(self, method="GET", body=None):
        token = self.management()
        return self.wrk(self.site.port, token, method, body=body, paths=self.managed_paths)

    def created_users(self):
        body = json.dumps({
            "connection": "Username-Password-Authentication", "email": "UNIQUE@example.com",
            "password": PASSWORD, "verify_email": False})
        return self.wrk(self.site.port, self.management(), "POST", "/api/v2/users", clients=8,
                        body=body)

    def managed_users(self, query, name="users"):
        path = f"/api/v2/{name}?{query}"
        return self.wrk(self.site.port, self.management(), path=path, clients=8)

    def authorization(self):
        """The path of a request that stores an authorization, and leads to the first page."""
        query = urllib.parse.urlencode({
            "response_type": "code", "client_id": self.client()["id"], "scope": "openid",
            "redirect_uri": "https://app.example.com/cb", "code_challenge": "A" * 43,
            "code_challenge_method": "S256"})
        return f"/authorize?{query}"

    def authorizations(self):
        return self.wrk(self.site.port, self.tokens, path=self.authorization())

    def passwords(self):
        """A file with the addresses and passwords of users, made once."""
        if not hasattr(self, "entries"):
            lines = [json.dumps({"email": f"bench{n}@example.com", "password": PASSWORD})
                     for n in range(PASSWORDS)]
            for line in lines:
                answer = self.site.request(
                    "POST", "/v1/register", line, {"Content-Type": "application/json"})
                assert answer.status == 201, answer.body
            self.entries = self.file("passwords", lines)
        return self.entries

    def password_logins(self):
        return self.requests("/v1/login/password", self.passwords(), clients=8)

    def once(self, method, requests, succeeds, clients=8):
        """Sends each request once, which wrk would repeat: a path, a body and headers.

        `succeeds` gets the response and its text.
        """
        def timed(request):
            started = time.monotonic()
            connection = http.client.HTTPConnection("127.0.0.1", self.site.port)
            connection.request(method, *request)
            response = connection.getresponse()
            text = response.read().decode()
            connection.close()
            assert succeeds(response, text), (response.status, text)
            return time.monotonic() - started

        before, started = self.processor(self.site.port), time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(clients) as threads:
            times = sorted(threads.map(timed, requests))
        seconds, after = time.monotonic() - started, self.processor(self.site.port)
        count = len(times)
        return {
            "rate": count / seconds, "p50_us": round(times[count // 2] * 1e6),
            "p99_us": round(times[count * 99 // 100] * 1e6),
            "processor_us": {kind: (after[kind] - before[kind]) / count for kind in after}}
