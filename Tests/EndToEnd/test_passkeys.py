"""Passkeys of users, by /v1."""

import unittest

from cases import in_parallel
from passkeys import BACKED_UP, RP_ID, Passkey, PasskeyCase, decoded


class SignUp(PasskeyCase):
    def test_a_user_signs_up_and_in_with_a_passkey_alone(self):
        for algorithm in [-7, -8, -257]:
            passkey, grant = self.registered(Passkey(algorithm), name="Ada's phone")
            user = grant["user_id"]
            self.assertEqual(passkey.handle.decode(), user)
            profile = self.expect(self.me(grant), 200).json
            self.assertEqual((profile["email"], profile["anonymous"]), (None, False))
            again = self.expect(self.show(passkey), 200).json
            self.assertEqual(again["user_id"], user)
            [listed] = self.passkeys(again)
            self.assertEqual(
                (listed["name"], listed["domain"], listed["transports"], listed["backed_up"]),
                ("Ada's phone", RP_ID, ["hybrid", "internal"], False))
            self.assertIsNotNone(listed["last_used_at"])
            self.assertEqual(self.site.sql(
                f"select distinct amr from sessions where user_id = '{user}'"), "pop user mfa")

    def test_a_user_with_an_address_gets_a_mail_and_can_recover(self):
        email = "keys@example.com"
        passkey, grant = self.registered(email=email, name="Ada Lovelace")
        profile = self.expect(self.me(grant), 200).json
        self.assertEqual((profile["email"], profile["email_verified"]), (email, False))
        self.expect(self.verify(self.site.mailed(email, "ds_verify"), grant), 204)
        # A device that was lost: the mailed code signs in, and a new passkey is added.
        found = self.sign_in_by_code(email)
        self.assertEqual(found["user_id"], grant["user_id"])
        self.added(found)
        self.assertEqual(len(self.passkeys(found)), 2)
        self.expect(self.show(passkey), 200)

    def test_the_name_of_a_user_is_kept(self):
        passkey = Passkey()
        flow, options = self.options("/v1/register/passkey", {"name": "Grace Hopper"})
        self.assertEqual(options["user"]["displayName"], "Grace Hopper")
        grant = self.expect(self.post("/v1/register/passkey", {
            "flow": flow, "credential": passkey.made(options)}), 201).json
        self.assertEqual(self.expect(self.me(grant), 200).json["name"], "Grace Hopper")

    def test_an_address_of_another_user_is_refused_at_the_end_only(self):
        self.expect(self.register("taken@example.com"), 201)
        free = self.options("/v1/register/passkey", {"email": "free@example.com"})
        taken = self.options("/v1/register/passkey", {"email": "taken@example.com"})
        self.assertEqual(free[1].keys(), taken[1].keys())
        self.registered(status=409, code="email_taken", email="taken@example.com")

    def test_verify_first_needs_the_mailed_code(self):
        self.setting({"sign_up": "immediate"}, sign_up="verify_first")
        self.options("/v1/register/passkey", {}, status=422, code="validation_failed")
        email = "first@example.com"
        passkey = Passkey()
        flow, options = self.options("/v1/register/passkey", {"email": email})
        body = {"flow": flow, "credential": passkey.made(options)}
        self.expect(self.post("/v1/register/passkey", body), 422)
        self.expect(self.post("/v1/register/passkey", body | {"code": "00000000"}),
                    401, "code_invalid")
        body["code"] = self.mailed_code(email)
        grant = self.expect(self.post("/v1/register/passkey", body), 201).json
        profile = self.expect(self.me(grant), 200).json
        self.assertEqual((profile["email"], profile["email_verified"]), (email, True))
        # The same for a known address, whose owner gets a mail.
        known = self.options("/v1/register/passkey", {"email": email})
        self.assertEqual(known[1].keys(), options.keys())
        self.registered(status=401, code="code_invalid", email=email, entered="12345678")

    def test_closed_registration_refuses(self):
        self.setting({"sign_up": "immediate"}, sign_up="closed")
        self.options("/v1/register/passkey", {}, status=403, code="sign_up_closed")

    def test_the_setting_off_refuses_all(self):
        passkey, grant = self.registered()
        flow, options = self.options("/v1/login/passkey")
        self.setting({"passkey": "optional"}, passkey="off")
        for path in ["/v1/login/passkey", "/v1/register/passkey"]:
            self.options(path, status=403, code="passkeys_off")
        self.options("/v1/me/passkeys", grant=grant, status=403, code="passkeys_off")
        body = {"flow": flow, "credential": passkey.shown(options)}
        self.expect(self.post("/v1/login/passkey", body), 403, "passkeys_off")
        self.assertEqual(len(self.passkeys(grant)), 1)


class OfUsers(PasskeyCase):
    def test_a_user_adds_renames_and_removes_a_passkey(self):
        email = "adds@example.com"
        grant = self.verified(email)
        old = grant["access_token"]
        passkey = self.added(grant, name="Laptop")
        self.expect(self.site.get("/v1/me", token=old), 401)
        self.expect_mail(email, "A passkey")
        [listed] = self.passkeys(grant)
        flow, options = self.options("/v1/me/passkeys", grant=grant)
        self.assertEqual([decoded(one["id"]) for one in options["excludeCredentials"]],
                         [passkey.id])
        path = f"/v1/me/passkeys/{listed['id']}"
        token = grant["access_token"]
        for name in ["", "a" * 65, "a\nb"]:
            self.expect(self.site.request("PATCH", path, {"name": name}, {
                "Content-Type": "application/merge-patch+json"}, token=token), 422)
        self.expect(self.site.request("PATCH", path, {"name": "Old laptop"}, {
            "Content-Type": "application/merge-patch+json"}, token=token), 204)
        self.assertEqual(self.passkeys(grant)[0]["name"], "Old laptop")
        by_passkey = self.expect(self.show(passkey), 200).json
        by_password = self.expect(self.login(email), 200).json
        self.expect(self.site.request("DELETE", path, token=by_password["access_token"]), 204)
        # Its sessions end, and no others.
        self.expect(self.me(by_passkey), 401, "session_ended")
        self.expect(self.me(by_password), 200)
        self.expect(self.show(passkey), 401, "passkey_unknown")
        self.expect(self.site.request("DELETE", path, token=by_password["access_token"]), 404)

    def test_a_session_keeps_its_passkey_through_changes(self):
        passkey, grant = self.registered(email="keeps@example.com")
        self.added(grant)
        ids = {one["id"] for one in self.passkeys(grant)}
        other = self.expect(self.show(passkey), 200).json
        mine = self.site.sql(
            f"select key_id from sessions where user_id = '{grant['user_id']}'"
            " and ended_at is null and provider = 'passkey'").splitlines()
        self.assertEqual(len(mine), 2)
        self.assertEqual(len(set(mine) & ids), 1)
        path = f"/v1/me/passkeys/{mine[0]}"
        self.expect(self.site.request("DELETE", path, token=other["access_token"]), 204)
        self.expect(self.me(grant), 401, "session_ended")
        self.expect(self.me(other), 200)

    def test_a_removal_ends_the_sessions_of_its_passkey_only(self):
        email = "two-keys@example.com"
        grant = self.verified(email)
        passkeys = [self.added(grant) for _ in range(2)]
        [newest, _] = self.passkeys(grant)
        sessions = [self.expect(self.show(passkey), 200).json for passkey in passkeys]
        by_password = self.expect(self.login(email), 200).json
        self.expect(self.site.request("DELETE", f"/v1/me/passkeys/{newest['id']}",
                                      token=by_password["access_token"]), 204)
        self.expect(self.me(sessions[1]), 401, "session_ended")
        self.expect(self.me(sessions[0]), 200)
        self.expect(self.show(passkeys[0]), 200)

    def test_the_last_way_in_stays(self):
        passkey, grant = self.registered()
        [only] = self.passkeys(grant)
        path = f"/v1/me/passkeys/{only['id']}"
        answer = self.site.request("DELETE", path, token=grant["access_token"])
        self.expect(answer, 409, "last_identity")
        self.expect(self.show(passkey), 200)

    def test_a_guest_keeps_id_and_data(self):
        guest = self.expect(self.post("/v1/login/anonymous", {}), 200).json
        self.expect(self.site.request("PUT", "/v1/me/metadata", {"theme": "dark"}, {
            "Content-Type": "application/json"}, token=guest["access_token"]), 200, None)
        user = guest["user_id"]
        passkey = self.added(guest)
        self.assertEqual(guest["user_id"], user)
        self.assertFalse(self.expect(self.me(guest), 200).json["anonymous"])
        again = self.expect(self.show(passkey), 200).json
        self.assertEqual(again["user_id"], user)
        self.assertEqual(self.expect(self.me(again, "/metadata"), 200).json, {"theme": "dark"})
        self.assertEqual(self.site.sql(
            "select distinct provider from sessions "
            f"where user_id = '{user}' and ended_at is null"), "passkey")

    def test_a_passkey_needs_a_fresh_proof_and_has_a_limit(self):
        grant = self.verified("limit@example.com")
        self.site.set_app(passkeys_per_user=2)
        self.addCleanup(self.site.set_app, passkeys_per_user=20)
        self.added(grant)
        self.added(grant)
        self.added(grant, status=409, code="too_many_passkeys")
        self.site.sql("update sessions set authenticated_at = now() - interval '1 day' "
                      f"where user_id = '{grant['user_id']}'")
        self.options("/v1/me/passkeys", grant=grant, status=401, code="reauthentication_required")

    def test_a_user_confirms_a_change_with_a_passkey(self):
        email = "confirms@example.com"
        grant = self.verified(email)
        passkey = self.added(grant)
        grace, _ = self.registered()
        self.site.sql("update sessions set authenticated_at = now() - interval '1 day' "
                      f"where user_id = '{grant['user_id']}'")
        for one, status in [(grace, 401), (passkey, 200)]:
            flow, options = self.options("/v1/login/passkey")
            answer = self.post("/v1/reauthenticate", {
                "provider": "passkey", "flow": flow, "credential": one.shown(options)},
                token=grant["access_token"])
            self.expect(answer, status)
        grant.update(answer.json)
        # The signature confirms once.
        answer = self.post("/v1/reauthenticate", {
            "provider": "passkey", "flow": flow, "credential": one.shown(options)},
            token=grant["access_token"])
        self.expect(answer, 401)
        self.added(grant)
        self.assertEqual(self.site.sql(
            "select amr from sessions where ended_at is null "
            f"and user_id = '{grant['user_id']}'"), "pwd pop user mfa")

    def test_only_passkeys_are_removed_here(self):
        email = "kinds@example.com"
        grant = self.verified(email)
        self.added(grant)
        identities = self.expect(self.me(grant, "/identities"), 200).json
        [password] = [one["id"] for one in identities if one["provider"] == "password"]
        self.expect(self.site.request("DELETE", f"/v1/me/passkeys/{password}",
                                      token=grant["access_token"]), 404, "not_found")
        self.expect(self.login(email), 200)

    def test_a_sign_in_states_whether_the_passkey_is_backed_up(self):
        passkey, grant = self.registered(Passkey(eligible=True))
        for is_backed_up in [True, False, True]:
            passkey.flags = passkey.flags & ~BACKED_UP | (BACKED_UP if is_backed_up else 0)
            grant = self.expect(self.show(passkey), 200).json
            self.assertEqual(self.passkeys(grant)[0]["backed_up"], is_backed_up)

    def test_back_ends_list_and_remove(self):
        email = "helped@example.com"
        grant = self.verified(email)
        passkey = self.added(grant)
        key = {"Authorization": f"Bearer {self.site.client('--operator')['secret']}"}
        path = f"/v1/users/{grant['user_id']}/passkeys"
        [listed] = self.expect(self.site.get(path, headers=key), 200).json
        one = f"{path}/{listed['id']}"
        for headers, status in [({}, 401), ({"Authorization": f"Bearer {grant['access_token']}"}, 401),
                                ({**key, **self.site.add_app("elsewhere")}, 404)]:
            for method, url in [("GET", path), ("DELETE", one)]:
                self.expect(self.site.request(method, url, headers=headers), status)
        self.expect(self.site.request("DELETE", one, headers=key), 204)
        self.expect(self.show(passkey), 401, "passkey_unknown")

    def test_a_deleted_user_leaves_nothing(self):
        passkey, grant = self.registered()
        self.expect(self.site.request("DELETE", "/v1/me", token=grant["access_token"]), 204)
        self.expect(self.show(passkey), 401, "passkey_unknown")
        for table in ["passkeys", "identities", "identity_subjects"]:
            self.assertEqual(self.site.sql(
                f"select count(*) from {table} where user_id = '{grant['user_id']}'"), "0")
        # Another user may have it.
        self.registered(passkey)

    def test_a_takeover_deletes_passkeys(self):
        email = "prepared@example.com"
        passkey, grant = self.registered(email=email)
        owner = self.sign_in_by_code(email)
        self.assertEqual(owner["user_id"], grant["user_id"])
        self.expect(self.me(grant), 401, "session_ended")
        self.expect(self.show(passkey), 401, "passkey_unknown")
        self.assertEqual(self.passkeys(owner), [])


class SecondStep(PasskeyCase):
    def test_a_passkey_needs_no_code(self):
        self.set_mfa("required")
        passkey, grant = self.registered()
        self.expect(self.me(grant), 200)
        self.expect(self.show(passkey), 200)

    def test_a_passkey_is_the_second_step_of_a_password(self):
        email = "step@example.com"
        grant = self.verified(email)
        passkey = self.added(grant)
        # A passkey alone adds no step, unless the app requires one.
        self.expect(self.login(email), 200)
        self.set_mfa("required")
        flow = self.asked(self.login(email), "passkey")
        self.expect(self.post("/v1/login/second-factor/enroll", {"flow": flow}),
                    401, "code_invalid")
        grace, _ = self.registered()
        for one, status, code in [(grace, 401, "code_invalid"), (passkey, 200, None)]:
            asked, options = self.options("/v1/login/passkey")
            body = {"flow": flow, "passkey_flow": asked, "credential": one.shown(options)}
            done = self.expect(self.post("/v1/login/second-factor", body), status, code)
        user = done.json["user_id"]
        self.assertEqual(user, grant["user_id"])
        self.assertEqual(self.site.sql(
            f"select amr from sessions where user_id = '{user}' order by session_id desc limit 1"),
            "pwd pop user mfa")
        self.expect(self.post("/v1/login/second-factor", body), 401)
        # The signature of another step is refused.
        body["flow"] = self.asked(self.login(email), "passkey")
        self.expect(self.post("/v1/login/second-factor", body), 401)
        self.expect(self.post("/v1/login/second-factor", {"flow": flow}), 422)

    def test_an_app_and_a_passkey_are_both_offered(self):
        email = "both@example.com"
        grant = self.verified(email)
        self.protected(grant)
        self.added(grant)
        self.asked(self.login(email), "totp", "recovery_code", "passkey")
        self.setting({"passkey": "optional"}, passkey="off")
        self.asked(self.login(email), "totp", "recovery_code")


class Attacks(PasskeyCase):
    def setUp(self):
        super().setUp()
        self.passkey, self.grant = self.registered()

    def refused(self, passkey, code="passkey_invalid", **members):
        self.expect(self.show(passkey, **members), 401, code)

    def test_client_data_of_another_page_or_ceremony_is_refused(self):
        passkey = self.passkey
        for origin in ["http://localhost:8080/", "http://LOCALHOST", "https://localhost.evil",
                       "https://localhost:8443", "http://app.localhost:8080", "null", ""]:
            self.refused(passkey, origin=origin)
        for members in [{"crossOrigin": True}, {"topOrigin": "http://localhost:8080"},
                        {"type": "webauthn.create"}, {"challenge": "AAAA"}]:
            self.refused(passkey, **members)
        passkey.rp_id = "evil.example"
        self.refused(passkey)

    def test_a_signature_works_once(self):
        flow, options = self.options("/v1/login/passkey")
        body = {"flow": flow, "credential": self.passkey.shown(options)}
        answers = in_parallel(4, lambda _: self.post("/v1/login/passkey", body))
        self.assertEqual(sorted(answer.status for answer in answers), [200, 401, 401, 401])
        self.expect(self.post("/v1/login/passkey", body), 401, "passkey_invalid")

    def test_a_flow_of_another_purpose_or_age_is_refused(self):
        creation, options = self.options("/v1/register/passkey")
        for flow in [creation, "", "x", creation[:-2], "A" * 5000]:
            answer = self.post("/v1/login/passkey", {
                "flow": flow, "credential": self.passkey.shown(options)})
            self.assertIn(answer.status, [400, 422], flow)
        signing, asked = self.options("/v1/login/passkey")
        new = Passkey()
        self.expect(self.post("/v1/register/passkey", {
            "flow": signing, "credential": new.made(asked | {"user": {"id": "AAAA"}})}),
            400, "flow_expired")
        # Another domain than at the beginning.
        self.setting({"passkey_rp_id": RP_ID}, passkey_rp_id="id.example.com")
        self.expect(self.post("/v1/login/passkey", {
            "flow": signing, "credential": self.passkey.shown(asked)}), 400, "flow_expired")

    def test_a_passkey_for_one_user_is_not_added_to_another(self):
        ada, grace = self.verified("ada-x@example.com"), self.verified("grace-x@example.com")
        flow, options = self.options("/v1/me/passkeys", grant=ada)
        body = {"flow": flow, "credential": Passkey().made(options)}
        self.expect(self.post("/v1/me/passkeys", body, token=grace["access_token"]),
                    400, "flow_expired")
        # Nor the passkey of another, or the same twice.
        flow, options = self.options("/v1/me/passkeys", grant=ada)
        for passkey in [self.passkey, self.added(ada)]:
            flow, options = self.options("/v1/me/passkeys", grant=ada)
            self.expect(self.post("/v1/me/passkeys", {
                "flow": flow, "credential": passkey.made(options)}, token=ada["access_token"]),
                409, "passkey_exists")

    def test_a_flow_adds_one_passkey(self):
        grant = self.verified("once-a@example.com")
        flow, options = self.options("/v1/me/passkeys", grant=grant)
        bodies = [{"flow": flow, "credential": Passkey().made(options)} for _ in range(2)]
        answer = self.post("/v1/me/passkeys", bodies[0], token=grant["access_token"])
        token = self.expect(answer, 200).json["access_token"]
        for body in bodies:
            self.expect(self.post("/v1/me/passkeys", body, token=token), 401, "passkey_invalid")

    def test_a_registration_works_once(self):
        flow, options = self.options("/v1/register/passkey")
        body = {"flow": flow, "credential": Passkey().made(options)}
        answers = in_parallel(3, lambda _: self.post("/v1/register/passkey", body))
        self.assertEqual(sorted(answer.status for answer in answers), [201, 401, 401])
        # Another passkey by the same flow.
        body["credential"] = Passkey().made(options)
        self.expect(self.post("/v1/register/passkey", body), 401, "passkey_invalid")

    def test_an_unverified_user_is_told_and_absence_is_not(self):
        self.passkey.flags = 1
        self.expect(self.show(self.passkey), 422, "user_verification_missing")
        self.passkey.flags = 4
        self.refused(self.passkey)
        new = Passkey()
        new.flags = 1
        self.registered(new, 422, "user_verification_missing")

    def test_a_counter_that_does_not_grow_is_refused_and_recorded(self):
        passkey = self.passkey
        passkey.count = 7
        self.expect(self.show(passkey), 200)
        for count in [7, 6, 0]:
            passkey.count = count
            self.refused(passkey)
        self.assertEqual(len(self.events(self.grant["user_id"], "passkey_counter")), 3)
        passkey.count = 8
        self.expect(self.show(passkey), 200)
        # A passkey of several devices has no common counter.
        synced, _ = self.registered(Passkey(eligible=True))
        for count in [0, 5, 3]:
            synced.count = count
            self.expect(self.show(synced), 200)

    def test_two_signatures_with_one_counter_sign_in_once(self):
        """A copy of the key signs at the same time, so that each sees the counter of before."""
        self.passkey.count = 5
        bodies = []
        for _ in range(4):
            flow, options = self.options("/v1/login/passkey")
            bodies.append({"flow": flow, "credential": self.passkey.shown(options)})
        answers = in_parallel(4, lambda index: self.post("/v1/login/passkey", bodies[index]))
        self.assertEqual(sorted(answer.status for answer in answers), [200, 401, 401, 401])

    def test_options_of_a_sign_in_name_no_passkey(self):
        _, options = self.options("/v1/login/passkey")
        self.assertEqual(set(options), {"challenge", "rpId", "timeout", "userVerification"})
        self.assertEqual((options["rpId"], options["userVerification"]), (RP_ID, "required"))

    def test_another_handle_or_key_is_refused(self):
        other, _ = self.registered()
        self.passkey.handle = other.handle
        self.refused(self.passkey)
        self.passkey.handle = None
        self.refused(self.passkey)
        self.passkey.handle = b"x" * 24
        self.refused(self.passkey)
        self.passkey.handle = self.grant["user_id"].encode()
        self.passkey.key = other.key
        self.refused(self.passkey)

    def test_eligibility_for_backups_does_not_change(self):
        self.passkey.flags |= 8
        self.refused(self.passkey)

    def test_a_blocked_user_learns_nothing(self):
        self.site.dossier("user", "block", "--yes", self.grant["user_id"])
        self.refused(self.passkey, "wrong_credentials")
        self.assertEqual(len(self.events(self.grant["user_id"], "login_failure")), 1)

    def test_an_unknown_passkey_is_told(self):
        passkey = Passkey()
        passkey.handle = self.grant["user_id"].encode()
        self.refused(passkey, "passkey_unknown")
        passkey.handle = b"0" * 24
        self.refused(passkey, "passkey_unknown")

    def test_apps_do_not_share_passkeys(self):
        other = self.site.add_app("other", passkey="optional", passkey_rp_id=RP_ID)
        flow, options = self.options("/v1/login/passkey", headers=other)
        body = {"flow": flow, "credential": self.passkey.shown(options)}
        self.expect(self.post("/v1/login/passkey", body, headers=other), 401, "passkey_invalid")
        self.expect(self.post("/v1/login/passkey", body), 400, "flow_expired")

    def test_malformed_credentials_are_refused(self):
        _, options = self.options("/v1/login/passkey")
        whole = self.passkey.shown(options)
        for change in [{}, {"id": ""}, {"rawId": "AAAA"}, {"type": "password"}, {"response": []},
                       {"response": whole["response"] | {"signature": "!"}},
                       {"response": whole["response"] | {"clientDataJSON": "A" * 8000}},
                       {"response": whole["response"] | {"authenticatorData": "AAAA"}}]:
            flow, _ = self.options("/v1/login/passkey")
            credential = (whole | change) if change else {}
            self.expect(self.post("/v1/login/passkey", {"flow": flow, "credential": credential}),
                        401, "passkey_invalid")
        for credential in [[], "x", None, 7]:
            answer = self.post("/v1/login/passkey", {"flow": flow, "credential": credential})
            self.assertIn(answer.status, [401, 422])


class Settings(PasskeyCase):
    def test_rules_of_the_settings(self):
        for setting, values in {
            "passkey_rp_id": ["Example.com", "127.0.0.1", "example", "https://example.com", "a b.c"],
            "passkey_origins": ['["http://example.com"]', '["https://Example.com"]',
                                '["https://example.com/"]', '["https://example.com:443"]',
                                '["android:apk-key-hash:abc"]'],
            "passkey": ["on"], "passkeys_per_user": ["101"],
        }.items():
            for value in values:
                run = self.site.dossier("app", "set", f"{setting}={value}", check=False)
                self.assertNotEqual(run.returncode, 0, value)
        self.site.dossier(
            "app", "set",
            'passkey_origins=["https://app.example.com:8443", "android:apk-key-hash:'
            + "A" * 43 + '"]')
        self.addCleanup(self.site.set_app, passkey_origins=None)
        passkey, _ = self.registered()
        for origin in ["https://app.example.com:8443", "android:apk-key-hash:" + "A" * 43]:
            passkey.origin = origin
            self.expect(self.show(passkey), 200)


if __name__ == "__main__":
    unittest.main()
