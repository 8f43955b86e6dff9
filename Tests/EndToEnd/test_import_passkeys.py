"""Users who move with their passkeys: from Auth0, and from one deployment to another."""

import base64
import json

from moving import MovedCase
from passkeys import RP_ID, Passkey, cbor, encoded
from test_import import lines


class MovedPasskeys(MovedCase):
    def setUp(self):
        super().setUp()
        self.site.set_app(self.app, passkey="optional", passkey_rp_id=RP_ID)

    def passkey(self, algorithm=-7, **options):
        """Returns a passkey with the user handle of another server, which is no id here."""
        passkey = Passkey(algorithm, **options)
        passkey.handle = b"auth0-handle-of-a-user"
        return passkey

    def method(self, passkey, **members):
        """Returns a passkey as Auth0's Management API lists it."""
        return {"id": "passkey|dev_1", "type": "passkey", "key_id": encoded(passkey.id),
                "public_key": base64.b64encode(passkey.public_key()).decode(),
                "user_handle": encoded(passkey.handle), "credential_device_type":
                "multi_device" if passkey.flags & 8 else "single_device",
                "credential_backed_up": bool(passkey.flags & 16), "relying_party_id": RP_ID,
                "aaguid": "fbfc3007-154e-4ecc-8c0b-6e020557d7bd", "transports": ["internal", "x"],
                "created_at": "2025-01-02T03:04:05.678Z", "identity_user_id": "1",
                "user_agent": "Test"} | members

    def user(self, number, *methods, **members):
        return {"user_id": f"auth0|{number}", "email": f"moved{number}@example.com",
                "email_verified": True, "authentication_methods": list(methods)} | members

    def row(self, passkey, **members):
        """Returns a passkey in the format of Dossier."""
        return {"credential_id": encoded(passkey.id), "public_key": encoded(passkey.public_key()),
                "user_handle": encoded(passkey.handle)} | members

    def show(self, passkey):
        begun = self.expect(self.post("/v1/login/passkey/options", {}, headers=self.headers), 200).json
        return self.post("/v1/login/passkey", {
            "flow": begun["flow"], "credential": passkey.shown(begun["public_key"])},
            headers=self.headers)

    def passkeys(self, grant):
        return self.expect(self.me(grant, "/passkeys", headers=self.headers), 200).json

    def load_rows(self, rows, *flags, status=0):
        self.users.write_text(lines(rows))
        self.dossier("user", "import", "--app", self.app, "--results", self.report, *flags,
                     self.users, status=status)
        return self.results()

    def faults(self, result, name="left_out"):
        return [(fault["pointer"], fault["code"]) for fault in result.get(name, [])
                if fault["code"] != "no_hash"]

    def test_passkeys_of_auth0_sign_in_with_their_old_handle(self):
        keys = [self.passkey(-7), self.passkey(-8, eligible=True), self.passkey(-257)]
        only = self.passkey()
        results = self.load([
            self.user(1, *map(self.method, keys), {"type": "password"}, {"type": "totp"}),
            {"user_id": "auth0|2", "authentication_methods": [self.method(only)], "identities": []},
        ], [])
        self.assertEqual([(result["status"], self.faults(result)) for result in results],
                         [("created", [])] * 2)
        for passkey, result in [*((key, results[0]) for key in keys), (only, results[1])]:
            passkey.count += 1
            grant = self.expect(self.show(passkey), 200).json
            self.assertEqual(grant["user_id"], result["id"])
        profile = self.expect(self.me(grant, headers=self.headers), 200).json
        self.assertEqual((profile["anonymous"], profile["email"]), (False, None))
        grant = self.expect(self.show(keys[1]), 200).json
        listed = {one["backed_up"]: one for one in self.passkeys(grant)}[True]
        self.assertEqual(
            (listed["created_at"][:19], listed["transports"], listed["aaguid"], listed["domain"]),
            ("2025-01-02T03:04:05", ["internal"], "fbfc3007-154e-4ecc-8c0b-6e020557d7bd", RP_ID))
        # Only the handle that the authenticator stored is accepted, and not the id of the user.
        keys[0].handle = results[0]["id"].encode()
        keys[0].count += 1
        self.expect(self.show(keys[0]), 401, "passkey_invalid")
        # The next import changes nothing.
        again = self.load([self.user(1, *map(self.method, keys[1:]))], [], "--update-existing")
        self.assertEqual((again[0]["status"], len(self.passkeys(grant))), ("updated", 3))

    def test_passkeys_of_auth0_that_cannot_work_are_left_out_with_a_reason(self):
        good, other, unknown, cut = (self.passkey() for _ in range(4))
        # ES384, which no options offer, and a key that ends too early.
        unknown.public_key = lambda: cbor({1: 2, 3: -35})
        cut.public_key = lambda: good.public_key()[:-1]
        self.site.set_app(self.app, passkeys_per_user=2)
        [result] = self.load([self.user(
            1, self.method(unknown), self.method(cut),
            self.method(other, relying_party_id="example.com"), self.method(other, key_id="a b"),
            self.method(other, user_handle=None), self.method(other, credential_backed_up=True),
            {"type": "webauthn-roaming"}, self.method(good), self.method(other),
            self.method(self.passkey()))], [])
        place = "/authentication_methods/"
        self.assertEqual(self.faults(result), [
            (place + "0", "passkey"), (place + "1", "passkey"), (place + "2/rp_id", "rp_id"),
            (place + "3/credential_id", "base64url"), (place + "4/user_handle", "base64url"),
            (place + "5", "passkey"), (place + "6", "factor"), (place + "9", "too_many_passkeys")])
        details = {fault["pointer"]: fault["detail"] for fault in result["left_out"]}
        self.assertIn("its alg is not supported", details[place + "0"])
        for passkey in [good, other]:
            self.assertEqual(self.expect(self.show(passkey), 200).json["user_id"], result["id"])
        self.expect(self.show(unknown), 401, "passkey_unknown")
        # Without the setting, the user comes without passkeys.
        self.site.set_app(self.app, passkey="off", passkey_rp_id=None)
        [result] = self.load([self.user(2, self.method(self.passkey()))], [])
        self.assertEqual(self.faults(result), [(place + "0/rp_id", "rp_id")])

    def test_a_passkey_of_another_user_is_refused_and_names_no_user(self):
        passkey, other = self.passkey(), self.passkey()
        [ada] = self.load_rows([{"email": "ada@example.com", "passkeys": [self.row(passkey)]}])
        for flags in [[], ["--update-existing"]]:
            results = self.load_rows([
                # The credential id is no secret, so it must not lead to the user who has it.
                {"name": "Grace", "passkeys": [self.row(other), self.row(passkey)]},
                {"email": "grace@example.com", "passkeys": [self.row(passkey)]}], *flags, status=17)
            self.assertEqual([self.faults(result, "errors") for result in results],
                             [[("/passkeys/1", "passkey_taken")], [("/passkeys/0", "passkey_taken")]])
        twice = {"passkeys": [self.row(other), self.row(other)]}
        both = [{"id": number * 24, "passkeys": [self.row(other)]} for number in "ab"]
        results = self.load_rows([twice, *both], status=17)
        self.assertEqual([self.faults(result, "errors") for result in results],
                         [[("/passkeys/1", "duplicate")], [], [("/passkeys/0", "passkey_taken")]])
        self.assertEqual(self.expect(self.show(passkey), 200).json["user_id"], ada["id"])
        # Not even an update gives a user more than the app allows.
        self.site.set_app(self.app, passkeys_per_user=2)
        row = {"id": ada["id"], "passkeys": [self.row(self.passkey()), self.row(self.passkey())]}
        [result] = self.load_rows([row], "--update-existing", status=17)
        self.assertEqual(self.faults(result, "errors"), [("/passkeys", "too_many_passkeys")])

    def test_a_back_end_creates_a_user_with_a_passkey(self):
        key = {"Authorization": f"Bearer {self.site.client('--operator')['secret']}", **self.headers}
        passkey = self.passkey()
        body = {"passkeys": [self.row(passkey)]}
        user = self.expect(self.post("/v1/users", body, headers=key), 201).json
        self.assertEqual(self.expect(self.show(passkey), 200).json["user_id"], user["id"])
        answer = self.expect(self.post("/v1/users", body, headers=key), 409, "user_exists").json
        self.assertEqual(answer["errors"][0]["code"], "passkey_taken")
        body = {"passkeys": [self.row(self.passkey(), rp_id="example.com")]}
        self.expect(self.post("/v1/users", body, headers=key), 422, "validation_failed")

    def test_an_export_has_the_passkeys_and_can_be_imported(self):
        made, synced = self.passkey(-257), self.passkey(eligible=True)
        made.count = 7
        self.load_rows([{
            "email": "moved@example.com", "email_verified": True, "passkeys": [
                self.row(made, name="Ada's key", sign_count=5, created_at="2025-01-02T03:04:05Z"),
                self.row(synced, backup_eligible=True, backed_up=True, transports=["usb", "hybrid"])]}])
        self.expect(self.show(made), 200)
        out = self.site.folder / "passkeys.ndjson"
        self.dossier("user", "export", "--all", "--app", self.app, "--output", out)
        exported = out.read_text()
        [row] = lines_of(exported)
        self.assertEqual([(one["name"], one.get("sign_count"), one["backup_eligible"])
                          for one in row["passkeys"]],
                         [("Ada's key", 7, False), ("Passkey", None, True)])
        self.sql("delete from identity_subjects where app_id = {app}")
        self.sql("delete from users where app_id = {app}")
        self.assertEqual(self.load_rows([row])[0]["status"], "created")
        self.dossier("user", "export", "--all", "--app", self.app, "--output", out)
        self.assertEqual(lines_of(out.read_text()), lines_of(exported))
        # The counter was kept.
        self.expect(self.show(made), 401, "passkey_invalid")
        made.count = 8
        for passkey in [made, synced]:
            self.assertEqual(self.expect(self.show(passkey), 200).json["user_id"], row["id"])


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]
