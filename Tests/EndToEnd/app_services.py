"""A client of App Services, as strict as the published SDKs are: realm-web in what it sends and
when it repeats a call, realm-core in what it takes."""

import base64
import json
import re

from cases import Case
from extended_json import decoded, encoded

PREFIX = "/api/client/v2.0"
NO_DEVICE = "0" * 24
PASSWORD = "correct horse battery"
COLLECTION = "mongodb-atlas/my_database/users"
# More repetitions would be an endless loop.
PATIENCE = 4


class ServiceError(Exception):
    def __init__(self, answer, body):
        super().__init__(f"{answer.status} {body}")
        self.status, self.body = answer.status, body
        self.error, self.code = body.get("error"), body.get("error_code")


def claims(token):
    """Returns the claims of a token as an SDK reads them."""
    parts = token.split(".")
    assert len(parts) == 3 and all(parts), token
    payload = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    for name in ["exp", "iat"]:
        assert type(payload[name]) is int, payload
    assert isinstance(payload.get("user_data", {}), dict), payload
    return payload


class User:
    def __init__(self, app, identifier, access, refresh):
        self.app, self.id, self.access, self.refresh = app, identifier, access, refresh
        self.state = "active"
        self.profile = None

    @property
    def custom_data(self):
        return decoded(claims(self.access).get("user_data", {}))

    @property
    def device_id(self):
        return claims(self.access)["baas_device_id"]

    @property
    def identities(self):
        return [identity["provider_type"] for identity in self.profile["identities"]]

    def refresh_custom_data(self):
        answer = self.app.send("POST", f"{PREFIX}/auth/session", bearer=self.refresh)
        self.access = answer["access_token"]
        claims(self.access)
        return self.custom_data

    def refresh_profile(self):
        profile = self.fetch("GET", f"{PREFIX}/auth/profile")
        assert isinstance(profile["type"], str) and isinstance(profile["data"], dict), profile
        assert all(isinstance(value, str) for value in profile["data"].values()), profile
        for identity in profile["identities"]:
            assert isinstance(identity["id"], str), profile
            assert isinstance(identity["provider_type"], str), profile
        self.profile = profile

    def fetch(self, method, path, body=None):
        """Sends a request with the access token. After each 401, repeats it with a new one."""
        for _ in range(PATIENCE):
            try:
                return self.app.send(method, path, body, bearer=self.access)
            except ServiceError as error:
                isStale = error.code == "InvalidSession" or error.error == "unauthorized"
                if error.status != 401 or not isStale:
                    raise
            try:
                self.refresh_custom_data()
            except ServiceError as error:
                if error.status == 401:
                    self.access, self.refresh, self.state = None, None, "logged-out"
                raise
        raise AssertionError(f"an SDK repeats {method} {path} for ever")

    def call(self, name, **arguments):
        """Runs an operation on the collection of custom data."""
        return self.function(name, {"database": "my_database", "collection": "users", **arguments})

    def function(self, name, *arguments, service="mongodb-atlas"):
        body = {"name": name, "arguments": [encoded(argument) for argument in arguments]}
        if service:
            body["service"] = service
        return decoded(self.fetch("POST", f"{self.app.path}/functions/call", body))

    def link(self, provider, **payload):
        body = {**payload, "options": self.app.options}
        answer = self.fetch(
            "POST", f"{self.app.path}/auth/providers/{provider}/login?link=true", body)
        assert answer["user_id"] == self.id and isinstance(answer["device_id"], str), answer
        self.access = answer["access_token"]
        self.refresh_profile()

    def log_out(self):
        if self.refresh:
            try:
                self.app.send("DELETE", f"{PREFIX}/auth/session", bearer=self.refresh)
            except ServiceError as error:
                if "failed to find refresh token" not in error.error:
                    raise
        self.access, self.refresh, self.state = None, None, "logged-out"

    def delete(self):
        self.fetch("DELETE", f"{PREFIX}/auth/delete")
        self.log_out()


class App:
    """The state that an SDK keeps for one app on one machine."""

    def __init__(self, site, name, slash=False):
        self.site, self.name = site, name
        self.path = f"{PREFIX}/app/{name}"
        self.base = "/" if slash else ""
        self.users = []
        self.device = None
        self.is_located = False

    @property
    def current(self):
        return next((user for user in self.users if user.state == "active"), None)

    @property
    def options(self):
        device = {"sdkVersion": "2.0.1", "platform": "node", "platformVersion": "20.20.2"}
        if self.device:
            device["deviceId"] = {"$oid": self.device}
        return {"device": device}

    def send(self, method, path, body=None, bearer=None):
        """Sends one request, and checks the response as realm-web and realm-core do."""
        if not self.is_located:
            self.is_located = True
            location = self.send("GET", f"{self.path}/location")
            assert set(location) == {"hostname", "ws_hostname", "deployment_model", "location"}
            assert location["hostname"] == f"http://127.0.0.1:{self.site.port}", location
            assert location["ws_hostname"] == f"ws://127.0.0.1:{self.site.port}", location
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if bearer is not None:
            headers["Authorization"] = f"Bearer {bearer}"
        return checked(self.site, self.site.request(method, self.base + path, body, headers))

    def log_in(self, provider, **payload):
        body = {**payload, "options": self.options}
        grant = self.send("POST", f"{self.path}/auth/providers/{provider}/login", body)
        for name in ["access_token", "refresh_token", "user_id", "device_id"]:
            assert isinstance(grant[name], str), grant
        assert re.fullmatch("[0-9a-f]{24}", grant["device_id"]), grant
        claims(grant["refresh_token"])
        assert claims(grant["access_token"])["sub"] == grant["user_id"]
        known = next((user for user in self.users if user.id == grant["user_id"]), None)
        user = known or User(self, grant["user_id"], None, None)
        user.access, user.refresh = grant["access_token"], grant["refresh_token"]
        user.state = "active"
        if known:
            self.users.remove(known)
        self.users.insert(0, user)
        if grant["device_id"] != NO_DEVICE:
            self.device = grant["device_id"]
        user.refresh_profile()
        return user

    def switch(self, user):
        self.users.remove(user)
        self.users.insert(0, user)

    def remove(self, user):
        if user.state == "active":
            user.log_out()
        user.state = "removed"
        self.users.remove(user)

    def email(self, path, **body):
        """Sends an email/password request with the token of the current user, if any."""
        path = f"{self.path}/auth/providers/local-userpass/{path}"
        if self.current:
            return self.current.fetch("POST", path, body)
        return self.send("POST", path, body)


def check_link(site, answer, body):
    """Checks that the link of an error explains its code and names the request."""
    base = f"http://127.0.0.1:{site.port}"
    link = body["link"]
    if link.startswith("/"):
        # nginx made the error, without knowing what the client asked.
        assert "X-Request-Id" not in answer.headers, body
        link = base + link
    else:
        assert f"logs?co_id={answer.headers['X-Request-Id']}#" in link, (link, answer.headers)
    assert link.startswith(base + "/"), link
    path, _, code = link.removeprefix(base).partition("#")
    assert code == body["error_code"], body
    page = site.request("GET", path)
    assert page.status == 200 and page.headers["Content-Type"] == "text/html; charset=utf-8", page
    assert f'<dt id="{code}">'.encode() in page.body, body


def checked(site, answer):
    """Returns the body of a response. Fails on anything that SDKs cannot read."""
    kind = answer.headers["Content-Type"]
    if not answer.body:
        assert kind is None, f"an empty answer is {kind}"
        assert 200 <= answer.status < 300, answer.status
        return None
    assert kind.startswith("application/json"), kind
    body = json.loads(answer.body)
    if 200 <= answer.status < 300:
        # realm-core looks for errors here too.
        if kind == "application/json" and isinstance(body, dict):
            assert not isinstance(body.get("error"), str) and not body.get("error_code"), body
        return body
    assert kind == "application/json", kind
    assert isinstance(body["error"], str) and body["error"], body
    assert isinstance(body["error_code"], str) and body["error_code"], body
    check_link(site, answer, body)
    raise ServiceError(answer, body)


class Services(Case):
    """Tests in an app of their own."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.name = "shop-qwert"
        cls.site.add_app(cls.name, app_services_collection=COLLECTION, anonymous_users_per_ip=10**6,
                         failures_per_ip=10**6)

    def setUp(self):
        self.app = App(self.site, self.name)

    def refused(self, status, error, code, action, *arguments, **options):
        with self.assertRaises(ServiceError) as caught:
            action(*arguments, **options)
        told = caught.exception
        self.assertEqual(told.status, status, told.body)
        self.assertIn(error, told.error)
        self.assertEqual(told.code, code, told.body)

    def anonymous(self):
        return self.app.log_in("anon-user")

    def own(self, user, **members):
        user.call("insertOne", document={"userId": user.id, **members})


class Recording(Services):
    """Sends requests as SDKs do, and compares whole responses."""

    def ask(self, method, path, body=None, headers=None, token=None):
        return self.site.request(method, path, body, headers, token)

    def assertAnswer(self, answer, status, body):
        self.assertEqual(answer.status, status, answer.body)
        if body is None:
            self.assertEqual(answer.body, b"")
            self.assertIsNone(answer.headers["Content-Type"])
        else:
            told = answer.json
            if answer.status >= 400:
                check_link(self.site, answer, told)
                del told["link"]
            self.assertEqual(told, body)
            self.assertEqual(answer.headers["Content-Type"], "application/json")
        self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")

    def path(self, rest):
        return f"{PREFIX}/app/{self.name}{rest}"

    def login(self):
        answer = self.ask("POST", self.path("/auth/providers/anon-user/login"))
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json
