"""Ways to another's account by way of a second protocol, an operator's program or a shared browser."""

import json
import unittest

from app_services import PASSWORD, App
from issuers import IssuerCase, claims

MINE, THEIRS = "correct horse", "another horse altogether"
HASH = "$6$salt$" + "a" * 86
SERVICES = "/api/client/v2.0"


class TakeOvers(IssuerCase):
    def setUp(self):
        self.app = App(self.site, "default")

    def provider(self, path):
        return f"{SERVICES}/app/default/auth/providers/{path}"

    def token(self, subject):
        return self.key.token(claims(subject))

    def age(self, user):
        """Lets an hour pass since the user has logged in."""
        self.site.sql("update sessions set authenticated_at = now() - interval '1 hour' "
                      f"where user_id = '{user}'")

    def key_of(self, grant):
        return self.expect(self.post("/v1/me/api-keys", {"name": "cron"},
                                     token=grant["access_token"]), 201).json["key"]

    def key_login(self, key):
        return self.post("/v1/login/api-key", {"key": key})

    def services_login(self, email, password):
        return self.post(self.provider("local-userpass/login"),
                         {"username": email, "password": password})

    # A stolen token

    def test_a_native_token_gets_none_of_app_services(self):
        grant = self.confirmed("native@example.com")
        answer = self.post(self.provider("custom-token/login?link=true"),
                           {"token": self.token("native-thief")}, token=grant["access_token"])
        self.expect(answer, 403)
        self.assertNotIn("refresh_token", answer.json)
        self.expect(self.post("/v1/login/jwt", {"token": self.token("native-thief")}), 200)
        self.assertEqual(len(self.me(grant, "/identities").json), 1)
        self.expect(self.site.request("DELETE", f"{SERVICES}/auth/delete",
                                      token=grant["access_token"]), 403)
        self.expect(self.me(grant), 200)

    def test_an_old_login_changes_no_way_in(self):
        self.expect(self.post(self.provider("local-userpass/register"),
                              {"email": "old@example.com", "password": PASSWORD}), 201)
        grant = self.expect(self.services_login("old@example.com", PASSWORD), 200).json
        user = grant["user_id"]
        key = self.expect(self.post(f"{SERVICES}/auth/api_keys", {"name": "old"},
                                    token=grant["refresh_token"]), 201).json["_id"]
        key = f"{SERVICES}/auth/api_keys/{key}"
        self.expect(self.site.request("PUT", f"{key}/disable", token=grant["refresh_token"]), 204)

        def tries():
            access, refresh = grant["access_token"], grant["refresh_token"]
            yield self.site.request("PUT", f"{key}/enable", token=refresh)
            yield self.post(self.provider("custom-token/login?link=true"),
                            {"token": self.token("old-own")}, token=access)
            yield self.post(f"{SERVICES}/auth/api_keys", {"name": "cron"}, token=refresh)
            yield self.site.request("DELETE", f"{SERVICES}/auth/delete", token=access)

        self.age(user)
        for answer in tries():
            self.expect(answer, 403)
            self.assertEqual(answer.json["error"], "log in again first")
        # What only takes a way in away is asked for with an old login, too.
        keys = self.site.sql(f"select name, disabled_at is null from api_keys "
                             f"where user_id = '{user}'")
        self.assertEqual(keys, "old|f")
        self.expect(self.site.request("PUT", f"{key}/disable", token=grant["refresh_token"]), 204)
        grant = self.expect(self.services_login("old@example.com", PASSWORD), 200).json
        for answer in tries():
            self.assertIn(answer.status, (200, 201, 204), answer.body)

    # A browser that somebody else has used before

    def begun(self, token):
        """Somebody makes a key in an anonymous session, and another session by it."""
        key = self.expect(self.post("/v1/me/api-keys", {"name": "later"}, token=token), 201).json
        return key["key"], self.expect(self.key_login(key["key"]), 200).json

    def assert_out(self, owner, key, thief):
        """Nothing goes on of what somebody began but the session of `owner`."""
        self.expect(self.key_login(key), 401, "wrong_credentials")
        self.expect(self.me(thief), 401, "session_ended")
        self.expect(self.refresh(thief), 401, "refresh_token_invalid")
        device = {"Dossier-Device": thief["device_secret"]}
        self.assertEqual(self.site.get("/v1/device", headers=device).json["users"], [])
        self.assertEqual(self.site.sql(
            "select string_agg(action || ' ' || (detail ->> 'provider'), ', ' order by event_id) "
            f"from audit where user_id = '{owner}' and action in ('link', 'unlink')").split(", ")[:2],
            ["link api-key", "unlink api-key"])
        self.assertEqual(self.site.sql(
            f"select actor || ' ' || (detail ->> 'reason') from audit where user_id = '{owner}' "
            "and action = 'session_end'"), "user link")

    def test_what_was_made_while_anonymous_ends_when_something_is_linked(self):
        for body in [{"provider": "jwt", "token": self.token("goes-on")},
                     {"provider": "password", "email": "goes-on@example.com", "password": MINE}]:
            with self.subTest(body["provider"]):
                grant = self.site.login()
                key, thief = self.begun(grant["access_token"])
                linked = self.post("/v1/me/identities", body, token=grant["access_token"])
                self.assertEqual(len(self.expect(linked, 200).json), 1)
                self.assert_out(grant["user_id"], key, thief)
                # The session in which it was linked goes on, and so does the place on its device.
                self.expect(self.refresh(grant), 200)
                device = {"Dossier-Device": grant["device_secret"]}
                self.assertEqual([user["user_id"] for user in self.site.get(
                    "/v1/device", headers=device).json["users"]], [grant["user_id"]])
                self.assertEqual(self.me(grant, "/api-keys").json, [])

    def test_what_was_made_while_anonymous_ends_when_app_services_link(self):
        self.expect(self.post(self.provider("local-userpass/register"),
                              {"email": "registered@example.com", "password": MINE}), 201)
        for provider, body in [
                ("custom-token", {"token": self.token("service")}),
                ("local-userpass", {"username": "registered@example.com", "password": MINE})]:
            with self.subTest(provider):
                grant = self.expect(self.post(self.provider("anon-user/login"), {}), 200).json
                made = self.expect(self.post(f"{SERVICES}/auth/api_keys", {"name": "later"},
                                             token=grant["refresh_token"]), 201).json
                thief = self.expect(self.key_login(made["key"]), 200).json
                self.expect(self.post(self.provider(f"{provider}/login?link=true"), body,
                                      token=grant["access_token"]), 200)
                self.assert_out(grant["user_id"], made["key"], thief)
                self.expect(self.post(f"{SERVICES}/auth/session", {},
                                      token=grant["refresh_token"]), 201)

    def test_what_was_made_since_something_was_linked_stays(self):
        grant = self.site.login()
        self.expect(self.post("/v1/me/identities", {"provider": "jwt", "token": self.token("stays")},
                              token=grant["access_token"]), 200)
        grant = self.expect(self.post("/v1/login/jwt", {"token": self.token("stays")}), 200).json
        key, other = self.begun(grant["access_token"])
        self.expect(self.post("/v1/me/identities", {
            "provider": "password", "email": "stays@example.com", "password": MINE},
            token=grant["access_token"]), 200)
        self.expect(self.me(other), 200)
        self.expect(self.key_login(key), 200)

    def test_a_link_that_is_refused_ends_nothing(self):
        self.expect(self.post("/v1/login/jwt", {"token": self.token("somebodys")}), 200)
        grant = self.site.login()
        key, other = self.begun(grant["access_token"])
        self.expect(self.post("/v1/me/identities", {
            "provider": "jwt", "token": self.token("somebodys")}, token=grant["access_token"]),
            409, "identity_taken")
        self.expect(self.me(other), 200)
        self.expect(self.key_login(key), 200)

    def test_a_copy_of_an_anonymous_session_is_no_proof_once_something_is_linked(self):
        grant = self.site.login()
        # Younger than `reauthentication_minutes`, both of them: nothing was shown for either.
        self.expect(self.post("/v1/me/identities", {
            "provider": "password", "email": "copied@example.com", "password": MINE},
            token=grant["access_token"]), 200)
        copy = self.expect(self.refresh(grant), 200).json
        for tokens in [grant, copy]:
            self.expect(self.post("/v1/me/api-keys", {"name": "back door"},
                                  token=tokens["access_token"]), 401, "reauthentication_required")
            self.expect(self.post("/v1/me/identities", {
                "provider": "jwt", "token": self.token("copied")}, token=tokens["access_token"]),
                401, "reauthentication_required")
        self.renewed(self.post("/v1/reauthenticate", {"provider": "password", "password": MINE},
                               token=copy["access_token"]), copy)
        self.key_of(copy)
        self.expect(self.me(grant), 401, "session_ended")

    def test_beside_a_way_back_nothing_is_linked_by_other_doors(self):
        grant = self.confirmed("door@example.com", MINE)
        key = self.key_of(grant)
        way, = [i for i in self.me(grant, "/identities").json if i["provider"] == "password"]
        self.expect(self.site.request("DELETE", f"/v1/me/identities/{way['id']}",
                                      token=grant["access_token"]), 204)
        token = self.site.mailed("door@example.com", "doa")
        self.expect(self.post("/v1/me/identities", {"provider": "jwt", "token": self.token("door")},
                              token=grant["access_token"]), 409, "way_back_open")
        self.expect(self.post(self.provider("local-userpass/register"),
                              {"email": "doors@example.com", "password": THEIRS}), 201)
        services = self.expect(self.post(self.provider("api-key/login"), {"key": key}), 200).json
        for provider, body in [
                ("local-userpass", {"username": "doors@example.com", "password": THEIRS}),
                ("custom-token", {"token": self.token("door")})]:
            answer = self.post(self.provider(f"{provider}/login?link=true"), body,
                               token=services["access_token"])
            self.expect(answer, 409)
            self.assertIn("can be given back until", answer.json["error"])
        # What was to be linked is there for whose it is.
        self.expect(self.services_login("doors@example.com", THEIRS), 200)
        self.expect(self.post("/v1/email/restore", {"token": token, "password": "my old house"}), 200)

    # An address that somebody else registered first

    def test_a_device_confirms_no_rivals_password(self):
        """Two people on one device: who reads the mail follows the link of the other's claim."""
        email = "two-on-one@example.com"
        thief = self.expect(self.register(email, THEIRS), 201).json
        code = self.site.mailed(email, "dct")
        device = {"Dossier-Device": thief["device_secret"]}
        victim = self.expect(self.register(email, MINE, headers=device), 201).json
        device = {"Dossier-Device": victim["device_secret"]}
        grant = self.expect(self.confirm(code, headers=device), 200).json
        self.assertEqual(grant["user_id"], thief["user_id"])
        self.expect(self.me(thief), 401, "session_ended")
        for password in [THEIRS, MINE]:
            self.expect(self.login(email, password), 401, "wrong_credentials")
        # The reader chooses its own.
        self.expect(self.post("/v1/password/reset-request", {"email": email}), 202)
        self.expect(self.reset(self.site.mailed(email, "dpr"), "my old house"), 200)
        self.expect(self.login(email, "my old house"), 200)

    def test_a_reset_tells_no_claimant_that_the_address_has_an_owner(self):
        self.confirmed("owned@example.com", MINE)
        claimant = self.expect(self.register("owned@example.com", THEIRS), 201).json

        def seen():
            return self.me(claimant).json, self.me(claimant, "/identities").json, \
                self.me(claimant, "/audit").json

        before = seen()
        self.expect(self.post("/v1/password/reset-request", {"email": "owned@example.com"}), 202)
        self.expect(self.reset(self.site.mailed("owned@example.com", "dpr"), "battery staple"), 200)
        self.assertEqual(seen(), before)

    def test_a_reader_confirms_none_of_several_claims(self):
        email = "contested@example.com"
        thief = self.expect(self.register(email, THEIRS), 201).json
        self.expect(self.post(self.provider("local-userpass/register"),
                              {"email": email, "password": MINE}), 201)
        for code in {self.site.mailed(email, "dct"), self.site.mailed(email, "dct", 2)}:
            answer = self.post(self.provider("local-userpass/confirm"),
                               {"token": code, "tokenId": "any"})
            self.expect(answer, 400)
            self.assertIn("reset the password", answer.json["error"])
        self.assertFalse(self.me(thief).json["email_verified"])

    def test_what_a_claimant_made_ends_when_a_reader_confirms(self):
        email = "unasked@example.com"
        thief = self.expect(self.register(email, THEIRS), 201).json
        key = self.key_of(thief)
        early = self.token("unasked-early")
        self.expect(self.post("/v1/me/identities", {"provider": "jwt", "token": early},
                              token=thief["access_token"]), 200)
        code = self.site.mailed(email, "dct")
        self.expect(self.post(self.provider("local-userpass/confirm"),
                              {"token": code, "tokenId": "any"}), 204)
        self.expect(self.me(thief), 401)
        self.expect(self.key_login(key), 401)
        self.assertNotEqual(self.expect(self.post("/v1/login/jwt", {"token": early}),
                                        200).json["user_id"], thief["user_id"])
        # By the password it goes on: the first reset ends what came since.
        thief = self.expect(self.login(email, THEIRS), 200).json
        late = self.token("unasked-late")
        self.expect(self.post("/v1/me/identities", {"provider": "jwt", "token": late},
                              token=thief["access_token"]), 200)
        self.expect(self.post("/v1/password/reset-request", {"email": email}), 202)
        self.expect(self.reset(self.site.mailed(email, "dpr"), MINE), 200)
        self.assertNotEqual(self.expect(self.post("/v1/login/jwt", {"token": late}),
                                        200).json["user_id"], thief["user_id"])
        # Later ones keep what the owner has linked.
        owner = self.expect(self.login(email, MINE), 200).json
        own = self.token("unasked-own")
        self.expect(self.post("/v1/me/identities", {"provider": "jwt", "token": own},
                              token=owner["access_token"]), 200)
        self.expect(self.post("/v1/password/reset-request", {"email": email}), 202)
        self.expect(self.reset(self.site.mailed(email, "dpr", 2), THEIRS), 200)
        self.assertEqual(self.expect(self.post("/v1/login/jwt", {"token": own}),
                                     200).json["user_id"], owner["user_id"])

    def test_what_a_claimant_made_ends_when_the_operator_confirms(self):
        thief = self.expect(self.register("told@example.com", THEIRS), 201).json
        key = self.key_of(thief)
        self.site.dossier("user", "confirm", "told@example.com")
        self.expect(self.me(thief), 401)
        self.expect(self.key_login(key), 401)
        self.assertEqual(self.ends(thief), "operator: device_remove, session_end email_confirm, "
                         "unlink api-key")

    def ends(self, user):
        """Who has ended ways in, by the trail."""
        return self.site.sql(
            "select string_agg(told, '; ' order by told) from (select actor || ': ' || "
            "string_agg(distinct action || coalesce(' ' || (detail ->> 'provider'), '') "
            "|| coalesce(' ' || (detail ->> 'reason'), ''), ', ') as told from audit "
            f"where user_id = '{user['user_id']}' "
            "and action in ('unlink', 'device_remove', 'session_end') group by actor) ends")

    # Rows of an import

    def imported(self, row):
        self.site.dossier("user", "import", "-", "--update-existing", given=json.dumps(row) + "\n")

    def test_a_row_is_not_who_claims_its_address(self):
        email = "arrives@example.com"
        thief = self.expect(self.register(email, THEIRS), 201).json
        self.imported({"email": email, "password_hash": HASH, "metadata": {"secret": 1}})
        self.assertEqual(self.me(thief, "/metadata").json, {})
        self.assertEqual(self.site.sql(
            "select count(*) from users u join documents d using (user_id) "
            f"where u.email = '{email}' and d.body = '{{\"secret\": 1}}'"), "1")
        # Again, it is the user that the import has made.
        self.imported({"email": email, "password_hash": HASH, "metadata": {"secret": 2}})
        self.assertEqual(self.site.sql(f"select count(*) from users where email = '{email}'"), "2")

    def test_what_a_claimant_made_ends_when_a_row_proves_the_address(self):
        email = "proved-by-row@example.com"
        thief = self.expect(self.register(email, THEIRS), 201).json
        key = self.key_of(thief)
        self.imported({"id": thief["user_id"], "email": email, "email_verified": True})
        self.assertEqual(self.site.sql(
            f"select email_verified from users where user_id = '{thief['user_id']}'"), "t")
        self.expect(self.me(thief), 401)
        self.expect(self.key_login(key), 401)
        # As when it is confirmed otherwise, the trail tells of each end and of who brought it about.
        self.assertEqual(self.ends(thief), "operator: device_remove, session_end email_confirm, "
                         "unlink api-key")

    def test_what_was_made_while_anonymous_ends_when_a_row_links_something(self):
        issuer = claims("x")["iss"]
        for name, row in [
                ("password", {"email": "row-links@example.com", "password_hash": HASH}),
                ("jwt", {"identities": [{"provider": f"jwt:{issuer}", "subject": "row-links"}]})]:
            with self.subTest(name):
                thief = self.site.login()
                key, other = self.begun(thief["access_token"])
                self.imported({"id": thief["user_id"], **row})
                self.expect(self.key_login(key), 401, "wrong_credentials")
                for grant in [thief, other]:
                    self.expect(self.me(grant), 401, "session_ended")
                    self.expect(self.refresh(grant), 401, "refresh_token_invalid")
                self.assertEqual(self.ends(thief), "operator: device_remove, session_end link, "
                                 "unlink api-key")
                self.assertEqual(self.site.sql(
                    "select anonymous, (select string_agg(provider, ' ') from identities i "
                    "where i.user_id = u.user_id) from users u "
                    f"where user_id = '{thief['user_id']}'"),
                    "f|" + ("password" if name == "password" else f"jwt:{issuer}"))
        grant = self.expect(self.post("/v1/login/jwt", {"token": self.token("row-links")}), 200).json
        self.assertEqual(grant["user_id"], thief["user_id"])

    def test_a_row_that_links_nothing_new_ends_nothing(self):
        guest = self.site.login()
        key, other = self.begun(guest["access_token"])
        self.imported({"id": guest["user_id"], "name": "Guest"})
        owner = self.expect(self.post("/v1/login/jwt", {"token": self.token("known")}), 200).json
        self.imported({"id": owner["user_id"], "email": "known@example.com", "password_hash": HASH})
        for grant in [guest, other, owner]:
            self.expect(self.me(grant), 200)
        self.expect(self.key_login(key), 200)

    def test_a_row_takes_no_way_back_from_the_owner(self):
        thief = self.confirmed("robbed@example.com", MINE)
        self.expect(self.post("/v1/me/email", {"email": "robber@example.com"},
                              token=thief["access_token"]), 202)
        self.expect(self.post("/v1/me/email/confirm", {
            "token": self.site.mailed("robber@example.com", "dna")},
            token=thief["access_token"]), 204)
        token = self.site.mailed("robbed@example.com", "doa")
        # As rows do that come every night.
        for email in ["robber@example.com", "elsewhere@example.com"]:
            self.imported({"id": thief["user_id"], "email": email})
        self.expect(self.post("/v1/email/restore", {"token": token, "password": "my old house"}), 200)
        self.expect(self.login("robbed@example.com", "my old house"), 200)

    def test_who_is_blocked_by_a_row_is_logged_out_and_the_trail_tells(self):
        user = self.expect(self.register("blocked-by-row@example.com", MINE), 201).json
        self.imported({"id": user["user_id"], "blocked": True})
        self.expect(self.me(user), 401)
        self.assertEqual(self.site.sql(
            "select actor || ' ' || (detail ->> 'reason') from audit "
            f"where user_id = '{user['user_id']}' and action = 'session_end'"), "operator blocked")

    # The trail

    def failures(self, user):
        return int(self.site.sql("select count(*) from audit where action = 'login_failure' "
                                 f"and user_id = '{user}'"))

    def test_guesses_by_other_doors_are_in_the_trail(self):
        holder = self.confirmed("guessed@example.com")
        user = holder["user_id"]
        guest = self.expect(self.post(self.provider("anon-user/login"), {}), 200).json
        body = {"username": "guessed@example.com", "password": "a guess of mine"}
        for path, body, token in [
                (self.provider("local-userpass/login?link=true"), body, guest["access_token"]),
                ("/v1/register", {"email": "guessed@example.com", "password": "guess of mine"}, None),
                (self.provider("local-userpass/register"),
                 {"email": "guessed@example.com", "password": "a guess, again"}, None)]:
            before = self.failures(user)
            self.post(path, body, token=token)
            self.assertEqual(self.failures(user), before + 1, path)
        for path, body, token in [
                ("/v1/me/identities", {"provider": "jwt", "token": self.token("x")[:-4] + "AAAA"},
                 holder["access_token"]),
                (self.provider("custom-token/login?link=true"),
                 {"token": self.token("x")[:-4] + "AAAA"}, guest["access_token"])]:
            owner = user if token == holder["access_token"] else guest["user_id"]
            before = self.failures(owner)
            self.post(path, body, token=token)
            self.assertEqual(self.failures(owner), before + 1, path)


if __name__ == "__main__":
    unittest.main()
