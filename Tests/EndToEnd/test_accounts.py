"""Attacks on accounts by their address of mail, step by step as an attacker would."""

import json
import unittest

from cases import Case
from asking import JSON
from machine import wait_until
from issuers import Key, claims

MINE, THEIRS = "my own password", "attackers password"


class Accounts(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.key = Key(cls.site.folder, "one")
        keys = json.dumps({"keys": [cls.key.jwk]})
        cls.site.sql(
            "insert into issuers (app_id, name, issuer, audience, jwks) select app_id, 'web', "
            f"'https://issuer.example.com', 'app', '{keys}' from apps where name = 'default'")

    def setUp(self):
        # Each test is a story of its own, not a flood.
        self.site.sql("delete from attempts")

    def ask(self, path, email, **options):
        return self.expect(self.post(path, {"email": email}, **options), 202)

    def actions(self, grant):
        return [fact["action"] for fact in self.expect(self.me(grant, "/audit"), 200).json]

    def tokens(self, email, kind="dct"):
        """The tokens of a kind that were mailed to an address."""
        words = " ".join(self.site.mails(email)).split()
        return [word for word in words if word.startswith(f"{kind}_")]

    # Pre-hijacking

    def hijack(self, email):
        """An attacker registers an address that is not its own and makes every way in there is."""
        grant = self.expect(self.register(email, THEIRS), 201).json
        token = grant["access_token"]
        key = self.expect(self.post("/v1/me/api-keys", {"name": "later"}, token=token), 201).json
        jwt = self.key.token(claims(email))
        self.expect(self.post(
            "/v1/me/identities", {"provider": "jwt", "token": jwt}, token=token), 200)
        other = self.expect(self.login(email, THEIRS), 200).json
        return [grant, other], key["key"], jwt

    def assert_out(self, email, attack):
        grants, key, jwt = attack
        for grant in grants:
            self.expect(self.me(grant), 401, "session_ended")
            self.expect(self.refresh(grant), 401, "refresh_token_invalid")
            device = {"Dossier-Device": grant["device_secret"]}
            self.assertEqual(self.site.get("/v1/device", headers=device).json["users"], [])
        self.expect(self.post("/v1/login/api-key", {"key": key}), 401, "wrong_credentials")
        self.expect(self.login(email, THEIRS), 401, "wrong_credentials")
        stranger = self.expect(self.post("/v1/login/jwt", {"token": jwt}), 200).json
        self.assertNotEqual(stranger["user_id"], grants[0]["user_id"])

    def assert_mine(self, email, attack):
        mine = self.expect(self.login(email, MINE), 200).json
        self.assertEqual(mine["user_id"], attack[0][0]["user_id"])
        self.assertTrue(self.me(mine).json["email_verified"])
        self.assertEqual(
            [i["provider"] for i in self.me(mine, "/identities").json], ["password"])
        self.assertEqual(self.me(mine, "/api-keys").json, [])
        self.assertLessEqual(
            {"password_reset", "email_confirm", "unlink", "device_remove", "session_end"},
            set(self.actions(mine)))

    def test_who_resets_a_prepared_account_by_mail_shuts_everybody_else_out(self):
        attack = self.hijack("prepared@example.com")
        self.ask("/v1/password/reset-request", "prepared@example.com")
        token = self.site.mailed("prepared@example.com", "dpr")
        self.expect(self.reset(token, MINE), 200)
        self.assert_out("prepared@example.com", attack)
        self.assert_mine("prepared@example.com", attack)

    def test_who_takes_over_by_the_code_that_confirms_shuts_everybody_else_out(self):
        attack = self.hijack("taken-over@example.com")
        token = self.site.mailed("taken-over@example.com", "dct")
        # Its reader neither is in a session of that user nor knows the password.
        self.expect(self.confirm(token), 401, "claimant_unproved")
        self.expect(self.confirm(token, self.site.login()), 401, "claimant_unproved")
        self.expect(self.confirm(token, password=MINE), 401, "claimant_unproved")
        self.expect(self.reset(token, "short"), 422, "invalid")
        self.expect(self.reset(token, MINE), 200)
        self.expect(self.reset(token, MINE), 400, "mail_token_invalid")
        self.assert_out("taken-over@example.com", attack)
        self.assert_mine("taken-over@example.com", attack)

    def test_a_reset_of_a_proved_address_leaves_what_its_owner_has_linked(self):
        grant = self.confirmed("linked@example.com")
        jwt = self.key.token(claims("linked"))
        self.expect(self.post("/v1/me/identities", {"provider": "jwt", "token": jwt},
                              token=grant["access_token"]), 200)
        self.ask("/v1/password/reset-request", "linked@example.com")
        self.expect(self.reset(self.site.mailed("linked@example.com", "dpr"), MINE), 200)
        self.expect(self.me(grant), 401, "session_ended")
        login = self.expect(self.post("/v1/login/jwt", {"token": jwt}), 200).json
        self.assertEqual(login["user_id"], grant["user_id"])

    # Addresses that look like another's

    def test_an_address_has_no_characters_that_are_not_shown(self):
        grant = self.confirmed("looks@example.com")
        hidden = ["\u200b", "\u202e", "\ufeff", "\u00ad", "\u2066", "\u200d", "\u2028", "\u0007",
                  "\u034f", "\u3164", "\ufe0f", "\ue000", "\U000e0041", "\uffff"]
        for character in hidden:
            for email in [f"looks{character}@example.com", f"looks@example.com{character}",
                          f"{character}looks@example.com"]:
                for answer in [self.register(email),
                               self.post("/v1/me/email", {"email": email},
                                         token=grant["access_token"])]:
                    fault, = self.expect(answer, 422, "invalid").json["errors"]
                    self.assertEqual((fault["pointer"], fault["code"]), ("/email", "email"))
        self.assertIn("invisible", self.register("looks\u200b@example.com").json["errors"][0]["detail"])
        self.assertEqual(self.site.sql(
            "select count(*) from users where email like '%looks%'"), "1")
        # Of any script, as long as it is shown.
        for email in ["\u00fcml\u00e4ut@example.com", "\u0434\u0430@example.com",
                      "\u0645\u062b\u0627\u0644@example.com", "\u0909\u0926\u093e@example.com"]:
            self.expect(self.register(email), 201)

    # Confirming

    def test_a_code_that_another_asked_for_does_not_confirm_its_password(self):
        mine = self.expect(self.register("bound@example.com", MINE), 201).json
        own = self.site.mailed("bound@example.com", "dct")
        theirs = self.expect(self.register("bound@example.com", THEIRS), 201).json
        newest = self.site.mailed("bound@example.com", "dct", 2)
        # The victim shows the newest, which looks like its own.
        for shown in [{}, {"grant": mine}, {"password": MINE}]:
            refused = self.expect(self.confirm(newest, **shown), 401, "claimant_unproved")
            self.assertIn("/v1/password/reset", refused.json["detail"])
        self.assertFalse(self.me(theirs).json["email_verified"])
        self.expect(self.confirm(own, mine), 204)
        self.expect(self.login("bound@example.com", MINE), 200)
        self.expect(self.login("bound@example.com", THEIRS), 401, "wrong_credentials")
        self.expect(self.confirm(newest, theirs), 400, "mail_token_invalid")

    def test_a_session_that_has_ended_confirms_nothing(self):
        grant = self.expect(self.register("ended@example.com"), 201).json
        token = self.site.mailed("ended@example.com", "dct")
        self.expect(self.post("/v1/logout", token=grant["access_token"]), 204)
        self.expect(self.confirm(token, grant), 401, "session_ended")
        self.expect(self.confirm(token, {"access_token": "x"}), 401, "token_invalid")
        self.expect(self.confirm(token, password="correct horse"), 204)

    def test_a_code_proves_no_other_address_than_the_one_it_was_mailed_to(self):
        grant = self.expect(self.register("first-one@example.com", THEIRS), 201).json
        token = self.site.mailed("first-one@example.com", "dct")
        # As when it unlinks the address while the mail is under way, and links another.
        self.site.sql(
            "update identities set subject = 'another-one@example.com' "
            f"where user_id = '{grant['user_id']}'; "
            "update unconfirmed_emails set email_key = 'another-one@example.com' "
            f"where user_id = '{grant['user_id']}'; "
            "update users set email = 'another-one@example.com' "
            f"where user_id = '{grant['user_id']}'")
        self.expect(self.confirm(token, grant), 400, "mail_token_invalid")
        identity, = self.me(grant, "/identities").json
        self.assertEqual((identity["subject"], identity["confirmed"]),
                         ("another-one@example.com", False))

    def test_passwords_are_not_guessed_by_confirming(self):
        self.expect(self.register("guess@example.com"), 201)
        token = self.site.mailed("guess@example.com", "dct")
        statuses = [self.confirm(token, password=f"wrong {i}").status for i in range(12)]
        self.assertEqual((statuses[0], statuses[-1]), (401, 429))

    # Confirming, where somebody else may have been in the account before

    def linked(self, email, password=THEIRS):
        """An anonymous user who has claimed an address and has an API key from before.

        A link ends such keys; those of users are left who linked by a version that kept them.
        """
        grant = self.site.login()
        token = grant["access_token"]
        link = {"provider": "password", "email": email, "password": password}
        self.expect(self.post("/v1/me/identities", link, token=token), 200)
        # That version let the anonymous session make one.
        session = f"update sessions set provider = '%s' where user_id = '{grant['user_id']}'"
        self.site.sql(session % "password")
        key = self.expect(self.post("/v1/me/api-keys", {"name": "before"}, token=token), 201).json
        self.site.sql(session % "anonymous")
        self.site.sql("update identities set created_at = created_at - interval '1 hour' "
                      f"where user_id = '{grant['user_id']}' and provider = 'api-key'")
        return grant, key["key"], self.site.mailed(email, "dct")

    def key_status(self, key):
        return self.post("/v1/login/api-key", {"key": key}).status

    def test_a_session_that_no_password_has_opened_confirms_nothing(self):
        grant, key, token = self.linked("unshown@example.com")
        by_key = self.expect(self.post("/v1/login/api-key", {"key": key}), 200).json
        for session in [grant, by_key]:
            self.expect(self.confirm(token, session), 401, "claimant_unproved")
            self.expect(self.confirm(token, session, password=MINE), 401, "claimant_unproved")
        self.assertFalse(self.me(grant).json["email_verified"])

    def test_who_began_an_anonymous_account_is_out_when_its_address_is_proved(self):
        # Somebody began the session in the browser that the owner of the address then uses.
        for number, in_session in enumerate([False, True]):
            with self.subTest(in_session=in_session):
                email = f"begun-{number}@example.com"
                grant, key, token = self.linked(email, MINE)
                place = {"Dossier-Device": grant["device_secret"]}
                session = grant if in_session else None
                self.expect(self.confirm(token, session, password=MINE), 204)
                self.expect(self.me(grant), 401, "session_ended")
                self.expect(self.refresh(grant), 401, "refresh_token_invalid")
                self.assertEqual(self.site.get("/v1/device", headers=place).json["users"], [])
                self.assertEqual(self.key_status(key), 401)
                mine = self.expect(self.login(email, MINE), 200).json
                self.assertEqual(mine["user_id"], grant["user_id"])
                self.assertTrue(self.me(mine).json["email_verified"])
                self.assertEqual(
                    [i["provider"] for i in self.me(mine, "/identities").json], ["password"])
                self.assertLessEqual({"email_confirm", "unlink", "device_remove", "session_end"},
                                     set(self.actions(mine)))

    def test_who_shows_the_password_in_a_session_keeps_what_was_made_since(self):
        def prove(grant, _):
            return self.renewed(self.post(
                "/v1/reauthenticate", {"provider": "password", "password": MINE},
                token=grant["access_token"]), grant)

        def login(grant, email):
            grant.update(self.expect(self.login(email, MINE), 200).json)

        for number, show in enumerate([prove, login]):
            with self.subTest(number=number):
                email = f"keeps-{number}@example.com"
                grant, before, token = self.linked(email, MINE)
                begun = dict(grant)
                by_key = self.expect(self.post("/v1/login/api-key", {"key": before}), 200).json
                show(grant, email)
                key = self.expect(self.post("/v1/me/api-keys", {"name": "since"},
                                            token=grant["access_token"]), 201).json["key"]
                self.expect(self.confirm(token, grant), 204)
                self.expect(self.me(grant), 200)
                self.assertEqual(self.key_status(key), 200)
                # Whoever began it, as an anonymous user, has no way in any more.
                self.assertEqual(self.key_status(before), 401)
                for session in [begun, by_key]:
                    self.expect(self.me(session), 401, "session_ended")
                self.assertEqual(
                    [i["provider"] for i in self.me(grant, "/identities").json],
                    ["password", "api-key"])
                self.assertLessEqual({"unlink", "session_end"}, set(self.actions(grant)))
        # In a session by another way in, with the password beside.
        jwt = self.key.token(claims("keeps"))
        grant = self.expect(self.post("/v1/login/jwt", {"token": jwt}), 200).json
        link = {"provider": "password", "email": "keeps@example.com", "password": MINE}
        self.expect(self.post("/v1/me/identities", link, token=grant["access_token"]), 200)
        token = self.site.mailed("keeps@example.com", "dct")
        self.expect(self.confirm(token, grant), 401, "claimant_unproved")
        self.expect(self.confirm(token, grant, password=MINE), 204)
        self.expect(self.me(grant), 200)
        self.expect(self.post("/v1/login/jwt", {"token": jwt}), 200)

    def test_a_code_that_confirms_chooses_a_password_for_an_hour(self):
        for email, minutes, status in [("soon@example.com", 59, 200), ("late@example.com", 61, 400)]:
            with self.subTest(email):
                grant = self.expect(self.register(email), 201).json
                token = self.site.mailed(email, "dct")
                self.site.sql("update mail_tokens set expires_at = expires_at - "
                              f"interval '{minutes} minutes' where user_id = '{grant['user_id']}'")
                self.expect(self.reset(token, MINE), status)
        # It confirms for the rest of its day.
        self.expect(self.confirm(token, grant), 204)

    # Eviction

    def test_registrations_of_an_address_take_nothing_from_who_registered_first(self):
        first = self.expect(self.register("first@example.com", MINE), 201).json
        token = first["access_token"]
        self.expect(self.site.request(
            "PUT", "/v1/me/custom-data", {"level": 7}, JSON, token), 200)
        for index in range(6):
            self.expect(self.register("first@example.com", f"{THEIRS} {index}"), 201)
        again = self.expect(self.login("first@example.com", MINE), 200).json
        self.assertEqual(again["user_id"], first["user_id"])
        self.assertEqual(self.me(again, "/custom-data").json, {"level": 7})

    def test_the_claims_of_an_address_are_bounded_and_none_that_was_used_goes(self):
        email = "crowded@example.com"
        used = [self.expect(self.register(email, f"{MINE} {i}"), 201).json for i in range(3)]
        self.site.sql(
            "with made as (insert into users (user_id, app_id, anonymous, email) "
            "select new_object_id(), app_id, false, 'crowded@example.com' "
            "from apps, generate_series(1, 61) where name = 'default' returning *), "
            "password as (insert into passwords (user_id, hash) select user_id, '*' from made), "
            "identity as (insert into identities (user_id, identity_id, app_id, provider, subject) "
            "select user_id, new_object_id(), app_id, 'password', email from made) "
            "insert into unconfirmed_emails (app_id, email_key, user_id, disposable_from) "
            "select app_id, email, user_id, now() + interval '1 day' from made")
        # Two have come back: by the password, and for new tokens.
        one, two, three = (grant["user_id"] for grant in used)
        self.expect(self.login(email, f"{MINE} 1"), 200)
        self.expect(self.refresh(used[2]), 200)
        # The oldest that has only been registered makes room.
        count = f"select count(*) from unconfirmed_emails where email_key = '{email}'"
        self.assertEqual(self.site.sql(count), "64")
        for number in range(4):
            self.expect(self.register(email, f"{THEIRS} {number}"), 201)
        self.assertEqual(self.site.sql(count), "64")
        self.assertEqual(self.site.sql(f"select count(*) from users where user_id = '{one}'"), "0")
        self.expect(self.login(email, f"{MINE} 2"), 200)
        # Where all were used there is no room.
        self.site.sql("update users set login_count = 2 where email = 'crowded@example.com'")
        refused = self.expect(self.register(email, f"{THEIRS} 5"), 429, "too_many_attempts")
        self.assertGreater(int(refused.headers["Retry-After"]), 60)
        link = self.post(
            "/v1/me/identities", {"provider": "password", "email": email, "password": THEIRS},
            token=self.site.login()["access_token"])
        self.expect(link, 429, "too_many_attempts")
        self.assertEqual(self.site.sql(count), "64")
        self.assertEqual(self.site.sql(
            f"select count(*) from users where user_id in ('{two}', '{three}')"), "2")

    # One account, not two

    def test_registering_again_with_the_same_password_logs_in(self):
        first = self.expect(self.register("twice@example.com", MINE), 201).json
        again = self.expect(self.register("Twice@example.com", MINE), 201).json
        self.assertEqual(again["user_id"], first["user_id"])
        # The code is mailed again, and is that user's own.
        own = self.site.mailed("twice@example.com", "dct", 2)
        self.expect(self.confirm(own, again), 204)
        holder = self.expect(self.register("twice@example.com", MINE), 201).json
        self.assertEqual(holder["user_id"], first["user_id"])
        # Whoever comes with another password is another.
        other = self.expect(self.register("twice@example.com", THEIRS), 201).json
        self.assertNotEqual(other["user_id"], first["user_id"])
        self.assertEqual(self.login("twice@example.com", THEIRS).json["user_id"], other["user_id"])

    def test_registrations_and_logins_are_counted_each_for_themselves(self):
        self.confirmed("guarded@example.com", MINE)
        statuses = [self.register("guarded@example.com", f"{THEIRS} {i}").status for i in range(12)]
        self.assertEqual(set(statuses[:9]), {201})
        self.assertEqual(set(statuses[-2:]), {429})
        self.expect(self.login("guarded@example.com", MINE), 200)
        self.site.sql("delete from attempts")
        for index in range(11):
            last = self.login("guarded@example.com", f"wrong {index}")
        self.expect(last, 429, "too_many_attempts")
        self.expect(self.register("guarded@example.com", f"{THEIRS} 0"), 201)

    def test_a_blocked_user_does_not_come_in_by_registering(self):
        grant = self.confirmed("blocked@example.com", MINE)
        self.site.sql(f"update users set blocked_at = now() where user_id = '{grant['user_id']}'")
        self.expect(self.register("blocked@example.com", MINE), 401, "wrong_credentials")

    # Mail

    def test_another_form_of_an_address_ends_no_code_and_is_sent_to_the_stored_one(self):
        self.confirmed("forms@example.com")
        self.ask("/v1/password/reset-request", "forms@example.com")
        self.site.mailed("forms@example.com", "dpr")
        wide = "".join(chr(ord(letter) + 0xfee0) for letter in "forms") + "@example.com"
        self.ask("/v1/password/reset-request", wide)
        newest = self.site.mailed("forms@example.com", "dpr", 2)
        self.assertEqual(self.site.mails(wide), [])
        self.expect(self.reset(newest, MINE), 200)

    def test_who_claims_an_address_in_another_form_keeps_no_mail_from_others(self):
        def wide(name):
            return "".join(chr(ord(letter) + 0xfee0) for letter in name) + "@example.com"

        self.expect(self.register(wide("early"), THEIRS), 201)
        link = {"provider": "password", "email": wide("linked"), "password": THEIRS}
        self.expect(self.post("/v1/me/identities", link,
                              token=self.site.login()["access_token"]), 200)
        for email in ["early@example.com", "linked@example.com"]:
            self.ask("/v1/password/reset-request", email)
            self.expect(self.reset(self.site.mailed(email, "dpr"), MINE), 200)
            mine = self.expect(self.login(email, MINE), 200).json
            self.assertEqual(self.me(mine).json["email"], email)
        # Where no form can be sent mail, it stays as it was typed.
        odd = self.expect(self.register("J\u00fcrgen@example.com"), 201).json
        self.assertEqual(self.me(odd).json["email"], "J\u00fcrgen@example.com")

    def test_a_code_counts_until_the_mail_of_the_next_is_accepted(self):
        self.confirmed("kept@example.com")
        self.ask("/v1/password/reset-request", "kept@example.com")
        first = self.site.mailed("kept@example.com", "dpr")
        count = ("select count(*) from mail_tokens t join users using (user_id) "
                 "where users.email = 'kept@example.com'")
        wait_until(lambda: self.site.sql(count) == "1", what="the first token")
        aside = self.site.mail.with_name("aside")
        self.site.mail.rename(aside)
        try:
            self.ask("/v1/password/reset-request", "kept@example.com")
            wait_until(lambda: self.site.sql(count) == "2", what="the second token")
            self.expect(self.reset(first, MINE), 200)
        finally:
            aside.rename(self.site.mail)
        self.expect(self.login("kept@example.com", MINE), 200)

    def test_codes_for_an_unproved_address_go_to_who_is_known_on_the_device(self):
        theirs = self.expect(self.register("device@example.com", THEIRS), 201).json
        mine = self.expect(self.register("device@example.com", MINE), 201).json
        device = {"Dossier-Device": mine["device_secret"]}
        self.site.mailed("device@example.com", "dct", 2)

        def asked(path, kind, **options):
            """Whose token is mailed when it is asked for."""
            before = set(self.tokens("device@example.com", kind))
            self.ask(path, "device@example.com", **options)
            self.site.mailed("device@example.com", kind, len(before) + 1)
            new, = set(self.tokens("device@example.com", kind)) - before
            return self.owner(new)

        for request in [("/v1/confirm/request", "dct"), ("/v1/password/reset-request", "dpr")]:
            self.assertEqual(asked(*request, headers=device), mine["user_id"])
            # Without a device, the first; a device that is not proved is none.
            self.assertEqual(asked(*request), theirs["user_id"])
        self.site.sql("update devices set secret_hash = 'x' "
                      f"where device_id = '{mine['device_id']}'")
        self.assertEqual(asked(*request, headers=device), theirs["user_id"])

    def test_who_has_an_account_is_told_by_mail_and_without_a_code(self):
        holder = self.confirmed("told@example.com")
        newcomer = self.expect(self.register("Told@Example.com", THEIRS), 201).json
        mails = self.wait_for_mails("told@example.com", 2)
        self.assertIn("already has an account", mails[-1])
        self.assertNotIn("dct_", mails[-1])
        self.assertEqual(self.site.mails("Told@Example.com"), [])
        self.ask("/v1/confirm/request", "told@example.com")
        mails = self.wait_for_mails("told@example.com", 3)
        self.assertIn("already has an account", mails[-1])
        self.assertNotIn("dct_", mails[-1])
        # Nor does the newcomer see anywhere that it is not the first.
        self.ask("/v1/password/reset-request", "told@example.com")
        self.site.mailed("told@example.com", "dpr")
        export = self.expect(self.me(newcomer, "/export"), 200).json
        self.assertEqual(export["mails"], [])
        self.assertTrue(self.me(holder).json["email_verified"])

    def wait_for_mails(self, email, count):
        wait_until(lambda: len(self.site.mails(email)) >= count, what=f"{count} mails")
        return self.site.mails(email)


if __name__ == "__main__":
    unittest.main()
