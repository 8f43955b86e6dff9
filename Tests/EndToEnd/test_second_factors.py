"""Second factors that users and operators enroll, list and remove."""

import base64
import os
import re
import unittest
import urllib.parse

from authenticator import FactorCase
from cases import in_parallel


class SecondFactors(FactorCase):
    def test_a_code_confirms_a_factor_and_replaces_all_sessions(self):
        email = "enroll@example.com"
        grant = self.verified(email)
        other = self.expect(self.login(email), 200).json
        authenticator = self.enroll(grant)
        self.assertEqual(len(authenticator.secret), 20)
        # It has no effect before its first code.
        self.assertEqual(self.factors(grant), {"second_factors": [], "recovery_codes_left": 0})
        self.expect(self.login(email), 200)
        for code in [authenticator.wrong(), "x", "12345", "1234567"]:
            self.expect(self.confirm(grant, authenticator, code), 401, "code_invalid")
        self.expect(self.me(other), 200)
        # As people type it.
        code = authenticator.code()
        confirmed = self.expect(self.confirm(grant, authenticator, f"{code[:3]} {code[3:]}"), 200)
        codes = confirmed.json["recovery_codes"]
        self.assertEqual(len(set(codes)), 10)
        for code in codes:
            self.assertRegex(code, "^[0-9a-hjkmnp-tv-z]{6}(-[0-9a-hjkmnp-tv-z]{6}){3}$")
        listed = self.factors(grant)
        self.assertEqual(listed["recovery_codes_left"], 10)
        self.assertEqual([(f["id"], f["last_used_at"]) for f in listed["second_factors"]],
                         [(authenticator.id, None)])
        self.expect(self.me(other), 401, "session_ended")
        user = grant["user_id"]
        self.assertEqual(self.site.sql(
            "select distinct end_reason from sessions "
            f"where user_id = '{user}' and ended_at is not null"), "second_factor_add")
        self.assertEqual(self.site.sql(
            f"select amr from sessions where user_id = '{user}' and ended_at is null"), "pwd mfa otp")
        self.assertEqual(len(self.events(user, "second_factor_add")), 1)
        self.expect_mail(email, "authenticator app was added")
        # Confirmed once.
        self.later(user)
        self.expect(self.confirm(grant, authenticator), 404, "not_found")

    def test_secrets_and_codes_are_not_stored_in_plain_text(self):
        grant = self.verified("stored@example.com")
        authenticator, codes = self.protected(grant)
        where = f"where user_id = '{grant['user_id']}'"
        secret = self.site.sql(f"select secret from second_factors {where}")
        self.assertNotIn(authenticator.secret.hex(), secret)
        hashes = self.site.sql(f"select code_hash from recovery_codes {where}").splitlines()
        self.assertEqual((len(set(hashes)), {len(hash) for hash in hashes}), (10, {2 + 64}))
        for code in codes:
            self.assertNotIn(code.encode().hex(), " ".join(hashes))

    def test_the_uri_names_the_app_and_the_account(self):
        email = "o+k@example.com"
        grant = self.verified(email)
        authenticator = self.enroll(grant)
        secret = re.search("secret=([A-Z2-7]{32})&", authenticator.uri)[1]
        self.assertEqual(authenticator.uri, "otpauth://totp/Dossier:o%2Bk%40example.com"
                         f"?secret={secret}&issuer=Dossier")
        self.site.set_app(mfa_issuer="Ada & Søns: 100%")
        self.addCleanup(self.site.sql, "update apps set settings = settings - 'mfa_issuer'")
        uri = urllib.parse.urlsplit(self.enroll(grant).uri)
        self.assertEqual((uri.scheme, uri.netloc), ("otpauth", "totp"))
        issuer, account = uri.path[1:].split(":")
        self.assertEqual(urllib.parse.unquote(issuer), "Ada & Søns: 100%")
        self.assertEqual(urllib.parse.unquote(account), email)
        self.assertEqual(urllib.parse.parse_qs(uri.query)["issuer"], ["Ada & Søns: 100%"])

    def test_an_enrollment_replaces_an_unconfirmed_one_and_five_are_the_limit(self):
        grant = self.verified("many@example.com")
        first = self.enroll(grant)
        second = self.enroll(grant)
        self.expect(self.confirm(grant, first), 404, "not_found")
        self.expect(self.confirm(grant, second), 200)
        for _ in range(4):
            self.protected(grant)
        self.assertEqual(len(self.factors(grant)["second_factors"]), 5)
        full = self.post("/v1/me/second-factors", {}, token=grant["access_token"])
        self.assertEqual(self.expect(full, 409, "second_factor_limit").json["limit"], 5)
        # Each factor accepts its own codes.
        self.sign_in("many@example.com", second)

    def test_one_of_two_concurrent_confirmations_counts(self):
        grant = self.verified("twice@example.com")
        authenticator = self.enroll(grant)
        answers = in_parallel(3, lambda _: self.confirm(grant, authenticator))
        self.assertEqual(sorted(answer.status for answer in answers), [200, 401, 401])
        self.assertEqual(self.factors(grant)["recovery_codes_left"], 10)

    def test_a_user_removes_a_factor(self):
        email = "remove@example.com"
        grant = self.verified(email)
        first, _ = self.protected(grant)
        second, _ = self.protected(grant)
        token = grant["access_token"]
        stranger = self.verified("stranger@example.com")["access_token"]
        path = "/v1/me/second-factors/"
        self.expect(self.site.request("DELETE", path + first.id, token=stranger), 404, "not_found")
        self.expect(self.site.request("DELETE", path + first.id, token=token), 204)
        self.expect(self.site.request("DELETE", path + first.id, token=token), 404, "not_found")
        self.assertEqual(self.factors(grant)["recovery_codes_left"], 10)
        flow = self.asked(self.login(email))
        self.later(grant["user_id"])
        self.expect(self.prove(flow, first.code()), 401, "code_invalid")
        # The recovery codes are deleted with the last factor.
        self.expect(self.site.request("DELETE", path + second.id, token=token), 204)
        self.assertEqual(self.factors(grant), {"second_factors": [], "recovery_codes_left": 0})
        self.expect(self.login(email), 200)
        self.assertEqual(len(self.events(grant["user_id"], "second_factor_remove")), 2)
        self.expect_mail(email, "authenticator app was removed", 2)

    def test_new_recovery_codes_replace_the_old_ones(self):
        email = "again@example.com"
        grant = self.verified(email)
        path = "/v1/me/recovery-codes"
        self.expect(self.post(path, {}, token=grant["access_token"]), 404, "not_found")
        _, old = self.protected(grant)
        made = self.expect(self.post(path, {}, token=grant["access_token"]), 200).json
        new = made["recovery_codes"]
        self.assertEqual((len(set(new)), set(new) & set(old)), (10, set()))
        flow = self.asked(self.login(email))
        self.expect(self.prove(flow, old[0]), 401, "code_invalid")
        self.expect(self.prove(flow, new[0]), 200)
        self.assertEqual(self.factors(grant)["recovery_codes_left"], 9)
        self.assertEqual(len(self.events(grant["user_id"], "recovery_codes_make")), 1)
        self.expect_mail(email, "recovery codes")

    def test_changes_of_factors_require_a_recent_sign_in(self):
        grant = self.verified("fresh@example.com")
        authenticator, _ = self.protected(grant)
        key = self.expect(self.post("/v1/me/api-keys", {"name": "script"},
                                    token=grant["access_token"]), 201).json["key"]
        script = self.expect(self.post("/v1/login/api-key", {"key": key}), 200).json
        guest = self.site.login()
        changes = [("POST", "/v1/me/second-factors", {}), ("POST", "/v1/me/recovery-codes", {}),
                   ("DELETE", f"/v1/me/second-factors/{authenticator.id}", None)]
        self.site.sql("update sessions set authenticated_at = now() - interval '1 hour' "
                      f"where user_id = '{grant['user_id']}' and provider = 'password'")
        for caller in [grant, script, guest]:
            for method, path, body in changes:
                with self.subTest(path=path, user=caller["user_id"]):
                    headers = {"Content-Type": "application/json"} if body is not None else {}
                    self.expect(self.site.request(method, path, body, headers,
                                                  caller["access_token"]),
                                401, "reauthentication_required")
        self.assertEqual(len(self.factors(script)["second_factors"]), 1)

    def test_an_app_without_second_factors_requires_none(self):
        email = "off@example.com"
        grant = self.verified(email)
        authenticator, _ = self.protected(grant)
        waiting = self.enroll(grant)
        self.set_mfa("off")
        token = grant["access_token"]
        for path, body in [("/v1/me/second-factors", {}), ("/v1/me/recovery-codes", {}),
                           (f"/v1/me/second-factors/{waiting.id}/confirm", {"code": "123456"})]:
            self.expect(self.post(path, body, token=token), 403, "mfa_disabled")
        self.expect(self.login(email), 200)
        self.assertEqual(len(self.factors(grant)["second_factors"]), 1)
        self.expect(self.site.request(
            "DELETE", f"/v1/me/second-factors/{authenticator.id}", token=token), 204)

    def test_an_operator_removes_lost_factors(self):
        email = "lost@example.com"
        grant = self.verified(email)
        user = grant["user_id"]
        key = {"Authorization": f"Bearer {self.site.client('--operator')['secret']}"}
        path = f"/v1/users/{user}/second-factors"
        # The user has no factor yet.
        self.expect(self.site.request("DELETE", path, headers=key), 404, "not_found")
        self.assertEqual(self.events(user, "second_factor_remove"), [])
        for command in [False, True]:
            self.protected(grant)
            self.protected(grant)
            self.asked(self.login(email))
            if command:
                self.site.dossier("user", "second-factors", "remove", "--yes", email)
            else:
                self.expect(self.site.request("DELETE", path, headers=key), 204)
            self.assertEqual(self.factors(grant), {"second_factors": [], "recovery_codes_left": 0})
            self.expect(self.login(email), 200)
        events = self.events(user, "second_factor_remove")
        self.assertEqual(len(events), 2)
        self.assertRegex(events[0], '^client:[0-9a-f]{24} {"count": 2}$')
        self.assertEqual(events[1], 'operator:tester {"count": 2}')
        self.expect_mail(email, "removed the authenticator apps from your account", 2)
        unknown = self.site.request("DELETE", f"/v1/users/{'0' * 24}/second-factors", headers=key)
        self.expect(unknown, 404, "not_found")
        elsewhere = {**key, **self.site.add_app("elsewhere")}
        self.expect(self.site.request("DELETE", path, headers=elsewhere), 404, "not_found")

    def test_an_export_lists_factors_without_their_secrets(self):
        grant = self.verified("export@example.com")
        authenticator, _ = self.protected(grant)
        exported = self.expect(self.me(grant, "/export"), 200).json
        self.assertEqual([factor["id"] for factor in exported["second_factors"]],
                         [authenticator.id])
        self.assertEqual(exported["recovery_codes"], 10)
        self.assertNotIn("secret", exported["second_factors"][0])


class MasterKeys(FactorCase):
    def test_factors_survive_a_change_of_the_master_key(self):
        email = "sealed@example.com"
        grant = self.verified(email)
        authenticator, codes = self.protected(grant)
        old = self.site.environment["DOSSIER_MASTER_KEY"]
        new = base64.b64encode(os.urandom(32)).decode()
        for keys in [f"{old},{new}", f"{new},{old}"]:
            self.restart(DOSSIER_MASTER_KEY=keys)
        told = self.site.dossier("key", "reencrypt")
        self.assertEqual((told["discarded"], told["recovery_codes"]), ([], 10))
        # A recovery code needs the key that it was made with.
        self.expect(self.prove(self.asked(self.login(email)), codes[0]), 200)
        self.restart(DOSSIER_MASTER_KEY=new)
        self.expect(self.prove(self.asked(self.login(email)), codes[1]), 401, "code_invalid")
        self.sign_in(email, authenticator)


if __name__ == "__main__":
    unittest.main()
