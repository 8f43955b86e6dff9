"""Concurrent requests: of a client that repeats them, of two taps or of two users."""

import unittest

from app_services import PREFIX, App
from cases import Held, Waiting, in_parallel
from issuers import claims, secret_token

MINE, THEIRS = "my own password", "another password"
SECRET = b"a secret of thirty-two bytes or more"
APP = "shop-at-once"
SERVICES = f"{PREFIX}/app/{APP}/auth/providers"


class AtOnce(Waiting):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        generous = {"failures_per_ip": 10**6, "failures_per_identifier": 100}
        cls.site.set_app(**generous)
        cls.site.add_app(APP, **generous)
        cls.site.add_app("careful", sign_up="verify_first", app_services_registration=True,
                         **generous)
        secret = cls.site.folder / "secret"
        secret.write_bytes(SECRET)
        cls.site.dossier(
            "issuer", "create", "web", "--app", "default", "issuer=https://issuer.example.com",
            "audience=app", f"secret=@{secret}")
        cls.key = cls.site.client("--app", "default", "scopes=create:users,read:users")["secret"]

    def users(self, email):
        return int(self.site.sql(f"select count(*) from users where email = '{email}'"))

    def both(self, locked, *requests):
        """Returns the responses to requests that all waited for the lock."""
        with locked:
            answers = [self.started(request) for request in requests]
            self.wait_for(len(requests))
        return [answer() for answer in answers]

    def row(self, query):
        return Held(self.site, f"{query} for update")

    # Registrations

    def test_equal_registrations_create_one_user(self):
        email = "equal@example.com"
        bare = "select count(*) from users where email is null and not anonymous"
        before = self.site.sql(bare)
        for statuses in [[201] + [409] * 5, [409] * 6]:
            answers = in_parallel(6, lambda _: self.register(email, MINE))
            self.assertEqual(sorted(answer.status for answer in answers), statuses)
            self.assertEqual(self.users(email), 1)
            self.expect(self.login(email, MINE), 200)
        # The refused registrations leave no users.
        self.assertEqual(self.site.sql(bare), before)

    def test_concurrent_registrations_of_a_free_address_create_one_user(self):
        email = self.own_email()
        # All have looked up the user, and will write next.
        passwords = [MINE, MINE, THEIRS]
        answers = self.both(self.site.locked("users in share mode"),
                            *[lambda p=password: self.register(email, p)
                              for password in passwords])
        self.assertEqual(sorted(answer.status for answer in answers), [201, 409, 409])
        winner = next(i for i in range(3) if answers[i].status == 201)
        for password in {MINE, THEIRS}:
            self.expect(self.login(email, password),
                        200 if password == passwords[winner] else 401)
        self.assertEqual(self.users(email), 1)

    def test_concurrent_codes_of_registrations_create_one_user(self):
        email, app = "equal-careful@example.com", {"Dossier-App": "careful"}
        answers = in_parallel(4, lambda _: self.register(email, MINE, headers=app))
        self.assertEqual([answer.status for answer in answers], [202] * 4)
        self.assertEqual(self.users(email), 0)
        self.mailed_code(email, 4)
        # The mails do not say to which flow a code belongs.
        flows, codes = [answer.json["flow"] for answer in answers], self.codes(email)
        answers = in_parallel(16, lambda n: self.enter(flows[n % 4], codes[n // 4], headers=app))
        self.assertEqual(sorted(answer.status for answer in answers), [200] + [401] * 15)
        self.assertEqual(self.users(email), 1)

    def test_equal_registrations_by_app_services_create_one_user(self):
        for name in [APP, "careful"]:
            email, app = f"equal-at-{name}@example.com", App(self.site, name)
            path = f"{app.path}/auth/providers/local-userpass"
            answers = in_parallel(
                6, lambda _: self.post(f"{path}/register", {"email": email, "password": MINE}))
            self.assertEqual(sorted(answer.status for answer in answers), [201] + [409] * 5)
            refused = {answer.json["error_code"] for answer in answers if answer.status == 409}
            self.assertEqual(refused, {"AccountNameInUse"})
            self.assertEqual(self.users(email), 1)
            token = self.site.mailed(email, "ds_verify")
            answers = in_parallel(
                3, lambda _: self.post(f"{path}/confirm", {"token": token, "tokenId": "any"}))
            self.assertEqual(sorted(answer.status for answer in answers), [204, 400, 400])
            app.log_in("local-userpass", username=email, password=MINE)

    def test_concurrent_creations_by_a_client_create_one_user(self):
        email = self.own_email()
        make = lambda: self.post(
            "/v1/users", {"email": email, "password": MINE}, token=self.key)
        answers = self.both(self.site.locked("users in share mode"), make, make)
        self.assertEqual(sorted(answer.status for answer in answers), [201, 409])
        refused = next(answer for answer in answers if answer.status == 409)
        self.expect(refused, 409, "user_exists")
        self.assertEqual(self.users(email), 1)

    # Sign-ins

    def test_sign_ins_on_one_device_all_succeed(self):
        email = "tabs@example.com"
        self.expect(self.post(f"{SERVICES}/local-userpass/register",
                              {"email": email, "password": MINE}), 201)
        first = self.expect(self.services_login(email), 200).json
        options = {"device": {"deviceId": first["device_id"]}}
        answers = in_parallel(4, lambda _: self.post(f"{SERVICES}/local-userpass/login", {
            "username": email, "password": MINE, "options": options}))
        self.assertEqual([answer.status for answer in answers], [200] * 4)
        # The tabs of a browser share the device, not the tokens: each of them stays signed in.
        for grant in [first, *[answer.json for answer in answers]]:
            self.expect(self.post(f"{PREFIX}/auth/session", {}, token=grant["refresh_token"]), 201)

    # Links

    def registered(self, email):
        """Registers by App Services. Returns two anonymous users who can link the registration."""
        self.expect(self.post(f"{SERVICES}/local-userpass/register",
                              {"email": email, "password": MINE}), 201)
        return [self.expect(self.post(f"{SERVICES}/anon-user/login", {}), 200).json
                for _ in range(2)]

    def link_registered(self, grant, email):
        return self.post(f"{SERVICES}/local-userpass/login?link=true",
                         {"username": email, "password": MINE}, token=grant["access_token"])

    def services_login(self, email):
        return self.post(f"{SERVICES}/local-userpass/login", {"username": email, "password": MINE})

    def test_equal_links_both_succeed(self):
        email = self.own_email()
        user, _ = self.registered(email)
        # Both have found the registration, and count the attempt.
        answers = self.both(
            self.site.locked("rate_limits"), *[lambda: self.link_registered(user, email)] * 2)
        self.assertEqual([answer.status for answer in answers], [200] * 2)
        login = self.expect(self.services_login(email), 200).json
        self.assertEqual(login["user_id"], user["user_id"])
        self.assertEqual(self.users(email), 1)

    def test_one_of_two_users_links_an_identity(self):
        email = self.own_email()
        users = self.registered(email)
        answers = self.both(
            self.site.locked("rate_limits"), *[lambda user=user: self.link_registered(user, email)
                                            for user in users])
        self.assertEqual(sorted(answer.status for answer in answers), [200, 409])

    def test_a_login_concurrent_with_a_link(self):
        email = self.own_email()
        user, _ = self.registered(email)
        with self.site.locked("devices in share mode"):
            login = self.started(lambda: self.services_login(email))
            self.wait_for(1)
            # The sign-in has locked the user of the registration, so the link waits for it.
            link = self.started(lambda: self.link_registered(user, email))
            self.wait_for(2)
        signed_in = self.expect(login(), 200).json
        self.assertEqual(link().status, 409)
        self.assertNotEqual(signed_in["user_id"], user["user_id"])

    def test_one_of_two_equal_token_links_gets_the_session(self):
        email = self.own_email()
        user = self.site.login()
        token = secret_token(claims(email), SECRET)
        link = lambda: self.post("/v1/me/identities", {"provider": "jwt", "token": token},
                                 token=user["access_token"])
        answers = self.both(
            self.row(f"select from users where user_id = '{user['user_id']}'"), link, link)
        # The first link ends the session that the second one comes in.
        self.assertEqual(sorted(answer.status for answer in answers), [200, 401])
        grant = next(answer.json for answer in answers if answer.status == 200)
        identity, = self.me(grant, "/identities").json
        self.assertEqual(identity["provider"], "jwt:https://issuer.example.com")

    # API keys

    def test_concurrent_keys_with_one_name(self):
        name = self.own_email()
        user, _ = self.registered(name)
        make = lambda: self.post(f"{PREFIX}/auth/api_keys", {"name": "same"},
                                 token=user["refresh_token"])
        answers = self.both(
            self.row(f"select from users where user_id = '{user['user_id']}'"), make, make)
        self.assertEqual(sorted(answer.status for answer in answers), [201, 409])
        refused = next(answer for answer in answers if answer.status == 409)
        self.assertEqual(refused.json["error_code"], "APIKeyAlreadyExists")
        # /v1 distinguishes keys by their ids.
        user = self.site.login()
        for _ in range(2):
            self.expect(self.post("/v1/me/api-keys", {"name": "same"},
                                  token=user["access_token"]), 201)


if __name__ == "__main__":
    unittest.main()
