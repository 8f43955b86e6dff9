"""Writes to the rows of several nodes, and checks that all nodes have all of a write or nothing of it."""

import itertools
import uuid

from asking import JSON

PASSWORD = "correct horse battery"


class Spanning:
    """The writes of a client that span nodes: registrations, links of addresses, and sign-ins on a device.

    Few of them have a password, whose hash takes long. Each address is used once, since a request that
    failed may have been committed.
    """

    # Turns of the client between two sign-ins, and between two writes with a password.
    SIGN_IN, PASSWORDS = 4, 16
    # A device has room for 20 users.
    USERS = 10

    def __init__(self, client):
        self.client = client
        self.numbers = itertools.count()
        # The user of each address; None if the request failed.
        self.registered, self.linked = {}, {}
        # The acknowledged sign-ins of each device. A failed one makes the secret uncertain.
        self.devices = []
        self.secret = None

    def write(self, turn):
        if turn % self.SIGN_IN == 0:
            self.sign_in()
        if turn % self.PASSWORDS == 1:
            self.register()
        if turn % self.PASSWORDS == 1 + self.PASSWORDS // 2:
            self.link()

    def post(self, what, path, body, headers=(), token=None):
        """Sends a request. Returns the response, or None if it is no success."""
        answer = self.client.ask(what, "POST", path, body, {**JSON, **dict(headers)}, token,
                                 self.client.across)
        return answer if answer and answer.status in (200, 201) else None

    def credentials(self):
        return {"email": f"{uuid.uuid4().hex[:12]}-{next(self.numbers)}@example.com",
                "password": PASSWORD}

    def register(self):
        body = self.credentials()
        answer = self.enter("register", "/v1/register", body)
        self.registered[body["email"]] = answer and answer.json["user_id"]

    def link(self):
        """Links an address to a new guest."""
        guest = self.post("guest", "/v1/login/anonymous", {})
        if guest:
            body = self.credentials()
            answer = self.post("link", "/v1/me/identities", {"provider": "password", **body},
                               token=guest.json["access_token"])
            self.linked[body["email"]] = answer and guest.json["user_id"]

    def sign_in(self):
        self.enter("sign in", "/v1/login/anonymous", {})

    def enter(self, what, path, body):
        """Signs in a new user on the device, or on a new one after a failure. Returns the response."""
        if self.secret is None or len(self.devices[-1].grants) == self.USERS:
            self.secret = None
        headers = {"Dossier-Device": self.secret} if self.secret else {}
        answer = self.post(what, path, body, headers)
        if not answer:
            if self.secret:
                self.devices[-1].is_certain = False
            self.secret = None
            return None
        if not self.secret:
            self.devices.append(Device())
        self.secret = answer.json["device_secret"]
        self.devices[-1].grants.append(answer.json)
        return answer

    def lost(self):
        """Returns the acknowledged writes that are not stored."""
        found = []
        for email, user in [*self.registered.items(), *self.linked.items()]:
            if user:
                answer = self.client.site.request(
                    "POST", "/v1/login/password", {"email": email, "password": PASSWORD}, JSON)
                if answer.status != 200 or answer.json["user_id"] != user:
                    found.append((self.client.group, "password", email, user, answer.body))
        return found + [lost for device in self.devices for lost in device.lost(self.client.site)]


def place(site, key, table="users"):
    """Returns the name of the node with the rows of a user, or of another key of a table."""
    port = site.sql(
        "select n.nodeport from pg_dist_node n join pg_dist_placement p using (groupid) "
        f"where p.shardid = get_shard_id_for_distribution_column('{table}', '{key}')")
    return next(data.name for data, known in site.nodes() if known == int(port))


class Device:
    """A device, and the tokens of the sign-ins there."""

    def __init__(self):
        self.grants = []
        # False if a sign-in failed, which may have replaced the secret.
        self.is_certain = True

    def lost(self, site):
        found = []
        for grant in self.grants:
            me = site.get("/v1/me", token=grant["access_token"])
            if me.status == 401 and me.json["code"] == "token_expired":
                body = {"refresh_token": grant["refresh_token"]}
                renewed = site.request("POST", "/v1/token/refresh", body, JSON)
                me = site.get("/v1/me", token=renewed.json["access_token"])
            if me.status != 200:
                found.append(("session", grant["user_id"], me.body))
        if self.is_certain:
            headers = {"Dossier-Device": self.grants[-1]["device_secret"]}
            answer = site.get("/v1/device", headers=headers)
            users = {grant["user_id"] for grant in self.grants}
            listed = {user["user_id"] for user in answer.json.get("users", [])}
            if not users <= listed:
                found.append(("device", self.grants[-1]["device_id"], users - listed, answer.body))
        return found


# Each pair of queries has the two sides of writes to different nodes, or to different tables.
SIDES = {
    "an address of a subject":
        ("select user_id, identity_id, subject from identity_subjects where provider = 'email'",
         "select user_id, identity_id, subject from identities where provider = 'password'"),
    "an address of a user":
        ("select user_id, subject from identities where provider = 'password'",
         "select user_id, email from users where email is not null"),
    "a password": ("select user_id from identities where provider = 'password'",
                   "select user_id from passwords"),
    "a user of a device": ("select unnest(user_ids), device_id from devices",
                           "select user_id, device_id from device_accounts"),
    "a session": ("select user_id, device_id from device_accounts",
                  "select user_id, device_id from sessions where ended_at is null"),
    "a user": ("select user_id from users", "select user_id from identities"),
}


def halves(sql):
    """Returns the rows without their other half, of all users of a database at rest.

    `sql` executes a query on the database.
    """
    def rows(query):
        return set(sql(query).splitlines())

    return {(what, row) for what, sides in SIDES.items()
            for row in rows(sides[0]) ^ rows(sides[1])}
