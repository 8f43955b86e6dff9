"""Addresses by the client API of App Services: taken ones, verification by mail, takeover at a reset."""

import base64
import hmac
import struct
import time
import unittest

from app_services import COLLECTION, PASSWORD, PREFIX, App, Services
from asking import JSON
from cases import Held, Waiting, in_parallel

OTHER = "another password"


class Addresses(Services):
    count = 0

    def setUp(self):
        super().setUp()
        self.new_address()

    def new_address(self):
        Addresses.count += 1
        self.email = f"address{self.count}@example.test"

    def use(self, name, **settings):
        """Creates an app and a client of it."""
        self.site.add_app(name, app_services_collection=COLLECTION, failures_per_ip=10**6,
                          **settings)
        self.app = App(self.site, name)
        self.new_address()

    def modes(self, name):
        """Creates an app for each sign-up mode."""
        for mode in ["immediate", "verify_first"]:
            with self.subTest(mode):
                self.use(f"{name}-{mode.replace('_', '-')}", sign_up=mode,
                         app_services_registration=True)
                yield mode

    def register(self, password=PASSWORD):
        return self.app.email("register", email=self.email, password=password)

    def log_in(self, password=PASSWORD, app=None):
        return (app or self.app).log_in("local-userpass", username=self.email, password=password)

    def taken(self, password=PASSWORD):
        self.refused(409, "name already in use", "AccountNameInUse", self.register, password)

    def confirm(self, count=1):
        token = self.site.mailed(self.email, "ds_verify", count)
        self.assertIsNone(self.app.email("confirm", token=token, tokenId="any"))

    def reset(self, password, count=1):
        self.app.email("reset/send", email=self.email)
        token = self.site.mailed(self.email, "ds_reset", count)
        self.assertIsNone(self.app.email("reset", token=token, tokenId="any", password=password))

    def stored(self, columns):
        return self.site.sql(f"select {columns} from users where email = '{self.email}'")

    def actions(self, user):
        return self.site.sql("select string_agg(action, ' ' order by event_id) from audit "
                             f"where user_id = '{user}'").split()


class Taken(Addresses):
    def test_a_taken_address_in_every_mode(self):
        for _ in self.modes("taken"):
            self.assertEqual(self.register(), {})
            # It is taken with the same password too, and before its user has signed in.
            for password in [PASSWORD, OTHER]:
                self.taken(password)
            self.confirm()
            self.taken()
            user = self.log_in()
            self.taken(OTHER)
            self.refused(401, "unauthorized", "InvalidPassword", self.log_in, OTHER)
            # A blocked user keeps it. The caller is signed in, and must not get a 401.
            self.site.dossier("user", "block", "--yes", user.id, "--app", self.app.name)
            self.app = App(self.site, self.app.name)
            self.app.log_in("anon-user")
            for password in [PASSWORD, OTHER]:
                self.taken(password)

    def test_an_address_in_another_form(self):
        self.register()
        self.email = self.email.upper()
        self.taken()
        self.assertEqual(self.log_in().profile["data"]["email"], self.email.lower())

    def test_an_address_of_a_user_of_another_api(self):
        self.site.dossier("user", "create", "--app", self.name, f"email={self.email}")
        self.taken()
        self.email = f"v1-{self.email}"
        self.expect(self.site.request(
            "POST", "/v1/register", {"email": self.email, "password": PASSWORD},
            {**JSON, "Dossier-App": self.name}), 201)
        self.taken()

    def test_an_address_that_its_user_changed_is_free(self):
        self.register()
        self.log_in().delete()
        self.register(OTHER)
        self.log_in(OTHER)

    def test_one_of_concurrent_registrations_succeeds(self):
        for _ in range(8):
            self.new_address()
            statuses = in_parallel(4, lambda index: self.site.request(
                "POST", f"{self.app.path}/auth/providers/local-userpass/register",
                {"email": self.email, "password": f"{PASSWORD} {index}"}, JSON).status)
            self.assertEqual(sorted(statuses), [201, 409, 409, 409])
            self.assertEqual(self.stored("count(*)"), "1")
            self.log_in(f"{PASSWORD} {statuses.index(201)}")


class Verification(Addresses):
    def test_a_verification_revokes_nothing(self):
        user = self.anonymous()
        self.register()
        user.link("local-userpass", username=self.email, password=PASSWORD)
        other = self.log_in(app=App(self.site, self.name))
        key = other.app.send("POST", f"{PREFIX}/auth/api_keys", {"name": "kept"},
                             bearer=other.refresh)["key"]
        # The first mail was for the user that the registration made, and that the link replaced.
        self.confirm(2)
        for each in [user, other]:
            each.refresh_custom_data()
            each.refresh_profile()
        App(self.site, self.name).log_in("api-key", key=key)
        self.assertEqual(self.log_in().id, user.id)
        self.assertEqual(self.stored("email_verified"), "t")

    def test_the_mail_is_sent_on_registration_and_on_request(self):
        for _ in self.modes("mails"):
            self.register()
            self.site.mailed(self.email, "ds_verify")
            self.app.email("confirm/send", email=self.email)
            self.confirm(2)
            self.log_in()


class TakeOver(Addresses):
    """An attacker registers the address before its owner does (pre-hijacking)."""

    def plant(self):
        """Signs in as the attacker, stores data and creates credentials. Returns the user and a key."""
        attacker = self.log_in(app=App(self.site, self.app.name))
        attacker.call("insertOne", document={"userId": attacker.id, "planted": True})
        key = attacker.app.send("POST", f"{PREFIX}/auth/api_keys", {"name": "later"},
                                bearer=attacker.refresh)["key"]
        return attacker, key

    def assert_taken_over(self, attacker, key):
        """Asserts that all credentials of the attacker are revoked and the data is kept."""
        user = self.log_in(OTHER)
        self.assertEqual(user.id, attacker.id)
        self.assertEqual(user.identities, ["local-userpass"])
        self.assertTrue(user.call("findOne", query={})["planted"])
        self.refused(401, "failed to find refresh token", "InvalidSession",
                     attacker.refresh_custom_data)
        app = App(self.site, self.app.name)
        self.refused(401, "unauthorized", "AuthError", app.log_in, "api-key", key=key)
        self.refused(401, "unauthorized", "InvalidPassword", self.log_in, PASSWORD, app)
        self.assertEqual(self.actions(user.id).count("account_takeover"), 1)
        return user

    def test_a_reset_of_an_unverified_address(self):
        self.register()
        attacker, key = self.plant()
        self.taken(OTHER)
        self.reset(OTHER)
        self.assert_taken_over(attacker, key)

    def test_a_reset_of_an_address_that_is_verified_by_mail_only(self):
        for _ in self.modes("hijack"):
            # The attacker registers, and the recipient of the mail opens the link.
            self.register()
            self.confirm()
            attacker, key = self.plant()
            self.reset(OTHER)
            user = self.assert_taken_over(attacker, key)
            # The address is verified now: another reset is no takeover.
            self.reset(PASSWORD, 2)
            self.assertEqual(self.log_in().id, user.id)
            self.assertEqual(self.actions(user.id).count("account_takeover"), 1)

    def test_a_mailed_code_takes_over_too(self):
        self.use("hijack-code", email_code=True)
        self.register()
        self.confirm()
        attacker, key = self.plant()
        headers = {**JSON, "Dossier-App": self.app.name}
        asked = self.expect(self.site.request(
            "POST", "/v1/login/code/request", {"email": self.email}, headers), 202).json
        grant = self.expect(self.site.request(
            "POST", "/v1/login/code", {"flow": asked["flow"], "code": self.mailed_code(self.email)},
            headers), 200).json
        self.assertEqual(grant["user_id"], attacker.id)
        app = App(self.site, self.app.name)
        self.refused(401, "unauthorized", "InvalidPassword", self.log_in, PASSWORD, app)
        self.refused(401, "unauthorized", "AuthError", app.log_in, "api-key", key=key)
        self.refused(401, "failed to find refresh token", "InvalidSession",
                     attacker.refresh_custom_data)
        self.assertIn("account_takeover", self.actions(attacker.id))

    def test_an_address_that_its_user_verified_with_the_password_is_not_taken_over(self):
        self.register()
        headers = {**JSON, "Dossier-App": self.name}
        self.expect(self.site.request("POST", "/v1/email/verify", {
            "token": self.site.mailed(self.email, "ds_verify"), "password": PASSWORD}, headers), 200)
        user = self.log_in()
        self.reset(OTHER)
        self.assertEqual(self.log_in(OTHER).id, user.id)
        self.assertNotIn("account_takeover", self.actions(user.id))


class Overtaken(Waiting, Addresses):
    def test_a_link_with_a_password_that_a_concurrent_reset_replaced(self):
        """The attacker registered the address, and links it while its recipient resets the password."""

        email = self.own_email()
        self.email = email
        self.register()
        guest = App(self.site, self.name).log_in("anon-user")
        self.app.email("reset/send", email=email)
        token = self.site.mailed(email, "ds_reset")
        path = f"{self.app.path}/auth/providers/local-userpass"
        user = self.stored("user_id")
        with Held(self.site, f"select from users where user_id = '{user}' for update"):
            reset = self.started(lambda: self.post(
                f"{path}/reset", {"token": token, "tokenId": "any", "password": OTHER}))
            self.wait_for(1)
            link = self.started(lambda: self.post(
                f"{path}/login?link=true", {"username": email, "password": PASSWORD},
                token=guest.access))
            self.wait_for(2)
        reset, link = reset(), link()
        self.assertEqual((reset.status, link.status), (204, 400), link.body)
        self.assertEqual(link.json["error_code"], "InvalidPassword")
        self.assertEqual(self.stored("user_id"), user)
        self.assertEqual(self.log_in(OTHER).id, user)


class SecondFactor(Addresses):
    @staticmethod
    def code(secret):
        key = base64.b32decode(secret + "=" * (-len(secret) % 8))
        digest = hmac.digest(key, struct.pack(">Q", int(time.time()) // 30), "sha1")
        start = digest[-1] & 15
        number = struct.unpack(">I", digest[start:start + 4])[0] & 0x7FFFFFFF
        return f"{number % 10**6:06}"

    ERROR = (401, "second factor required", "AuthError")

    def test_a_user_with_a_second_factor_cannot_sign_in_here(self):
        self.use("shop-factors", mfa="optional")
        self.register()
        self.confirm()
        self.reset(PASSWORD)
        user = self.log_in()
        headers = {**JSON, "Dossier-App": self.app.name}
        native = self.expect(self.site.request(
            "POST", "/v1/login/password", {"email": self.email, "password": PASSWORD}, headers),
            200).json["access_token"]
        factor = self.expect(self.site.request(
            "POST", "/v1/me/second-factors", {}, headers, native), 201).json
        self.log_in()
        self.expect(self.site.request(
            "POST", f"/v1/me/second-factors/{factor['id']}/confirm",
            {"code": self.code(factor["secret"])}, headers, native), 200)
        self.refused(401, "failed to find refresh token", "InvalidSession",
                     user.refresh_custom_data)
        self.app = App(self.site, self.app.name)
        self.refused(*self.ERROR, self.log_in)
        self.refused(401, "unauthorized", "InvalidPassword", self.log_in, OTHER)
        # A reset changes the password, and skips no factor.
        self.reset(OTHER, 2)
        self.refused(*self.ERROR, self.log_in, OTHER)

    def test_an_app_that_requires_factors(self):
        self.use("shop-factors-required", mfa="required")
        self.register()
        self.refused(*self.ERROR, self.log_in)
        # An anonymous user has no first factor.
        guest = self.app.log_in("anon-user")
        key = self.app.send("POST", f"{PREFIX}/auth/api_keys", {"name": "program"},
                            bearer=guest.refresh)["key"]
        self.assertEqual(App(self.site, self.app.name).log_in("api-key", key=key).id, guest.id)


if __name__ == "__main__":
    unittest.main()
