"""Tests the protection of sign-in: limits, the list of sessions and the audit log."""

import unittest

from cases import Case, in_parallel
from asking import ADDRESS


class Guards(Case):
    def test_a_user_lists_and_ends_own_sessions(self):
        grant = self.verified("sessions@example.com")
        others = [self.expect(self.login("sessions@example.com"), 200).json for _ in range(3)]
        listed = self.expect(self.me(grant, "/sessions"), 200).json
        self.assertEqual(len(listed), 4)
        self.assertEqual([s["device_id"] for s in listed if s["current"]], [grant["device_id"]])
        self.assertEqual({s["address"] for s in listed}, {"127.0.0.1"})
        ended = next(s["id"] for s in listed if s["device_id"] == others[0]["device_id"])
        token = grant["access_token"]
        self.expect(self.site.request("DELETE", f"/v1/me/sessions/{ended}", token=token), 204)
        self.expect(self.me(others[0]), 401, "session_ended")
        again = self.site.request("DELETE", f"/v1/me/sessions/{ended}", token=token)
        self.expect(again, 404, "not_found")
        stranger = self.site.login()["access_token"]
        foreign = next(s["id"] for s in listed if s["current"])
        refused = self.site.request("DELETE", f"/v1/me/sessions/{foreign}", token=stranger)
        self.expect(refused, 404, "not_found")
        self.expect(self.site.request("DELETE", "/v1/me/sessions", token=token), 204)
        self.assertEqual([self.me(g).status for g in [grant, *others]], [200, 401, 401, 401])

    def test_a_list_of_sessions_has_pages(self):
        grant = self.verified("many@example.com")
        user = grant["user_id"]
        self.site.sql(
            "insert into sessions (user_id, session_id, app_id, device_id, provider, scope, "
            "refresh_salt, expires_at, refreshed_at, ended_at) "
            "select user_id, lpad(to_hex(g), 24, '0'), app_id, lpad(to_hex(g), 24, 'd'), "
            "'anonymous', '', '', now() + interval '1 day', now() - interval '1 day', "
            "case when g % 2 = 0 then now() end "
            f"from users, generate_series(1, 100000) g where user_id = '{user}'")
        path, ids = "/v1/me/sessions?limit=40", []
        for page in range(4):
            answer = self.expect(self.site.get(path, token=grant["access_token"]), 200)
            self.assertEqual(len(answer.json), 40)
            ids += [session["id"] for session in answer.json]
            link = answer.headers["Link"]
            path = link[1:link.index(">")]
        self.assertEqual(ids[1:], [f"{g:024x}" for g in range(99_999, 99_999 - 2 * 159, -2)])
        whole = self.expect(self.me(grant, "/sessions"), 200).json
        self.assertEqual(([s["id"] for s in whole], len(whole)), (ids[:100], 100))
        last = self.site.get(f"/v1/me/sessions?cursor={4:024x}", token=grant["access_token"])
        self.assertEqual([session["id"] for session in last.json], [f"{g:024x}" for g in (3, 1)])
        self.assertNotIn("Link", last.headers)
        key = {"Authorization": f"Bearer {self.site.client('--operator')['secret']}"}
        listed = self.expect(self.site.get(f"/v1/users/{user}/sessions?limit=1", headers=key), 200)
        self.assertEqual([session["id"] for session in listed.json], ids[:1])
        self.assertIn('rel="next"', listed.headers["Link"])
        # A user with far too many sessions can log in. Each login ends up to 100 old sessions.
        self.expect(self.login("many@example.com"), 200)
        self.expect(self.me(grant), 200)
        self.assertEqual(self.site.sql(
            "select count(*) from sessions s join audit a using (user_id, session_id) where "
            f"s.user_id = '{user}' and end_reason = 'session_limit' and a.action = 'session_end' "
            "and a.detail ->> 'reason' = end_reason"), "100")
        exported = self.expect(self.me(grant, "/export"), 200).json["sessions"]
        self.assertEqual(len(exported), 1000)

    def test_a_correct_password_does_not_count_as_a_failure_if_the_request_fails(self):
        app = self.site.add_app("right", failures_per_identifier=2)
        email = "right@example.com"
        grant = self.expect(self.register(email, headers=app), 201).json
        token = self.site.mailed(email, "ds_verify")
        full = {**app, **self.full_device(**app)}
        for _ in range(3):
            refused = self.verify(token, password="correct horse", headers=full)
            self.expect(refused, 409, "device_full")
        self.expect(self.verify(token, password="correct horse", headers=app), 200)
        self.site.set_app("right", mfa="required")
        for path, body in 3 * [
                ("/v1/reauthenticate", {"provider": "password", "password": "correct horse"}),
                ("/v1/password/change", {"current_password": "correct horse",
                                         "new_password": "another horse"})]:
            refused = self.post(path, body, token=grant["access_token"], headers=app)
            self.expect(refused, 401, "session_ended")

    def test_a_device_of_an_api_key_gets_no_separate_limit(self):
        grant = self.expect(self.register("keys@example.com"), 201).json
        key = self.expect(self.post("/v1/me/api-keys", {"name": "script"},
                                    token=grant["access_token"]), 201).json["key"]

        def guess():
            thief = self.expect(self.post("/v1/login/api-key", {"key": key}), 200).json
            return self.login("keys@example.com", "a wrong guess",
                              headers={"Dossier-Device": thief["device_secret"]})

        for _ in range(10):
            self.expect(guess(), 401, "wrong_credentials")
        self.expect(guess(), 429, "too_many_attempts")
        # These guesses do not limit the device of the registration.
        own = {"Dossier-Device": grant["device_secret"]}
        self.expect(self.login("keys@example.com", headers=own), 200)

    def test_the_number_of_sessions_of_a_user_is_limited(self):
        app = self.site.add_app("few", sessions_per_user=3)
        first = self.expect(self.register("few@example.com", headers=app), 201).json

        def again():
            return self.expect(self.login("few@example.com", headers=app), 200).json

        second, third = again(), again()
        token = {"refresh_token": first["refresh_token"]}
        first = self.expect(self.post("/v1/token/refresh", token, headers=app), 200).json
        # The least recently used session ends, not the oldest, which was refreshed.
        fourth = again()
        alive = [self.me(grant, headers=app).status for grant in [first, second, third, fourth]]
        self.assertEqual(alive, [200, 401, 200, 200])
        ended = self.expect(self.me(fourth, "/audit", headers=app), 200).json
        ended = [event for event in ended if event["action"] == "session_end"]
        self.assertEqual([event["detail"] for event in ended], [{"reason": "session_limit"}])
        self.assertEqual(ended[0]["device_id"], second["device_id"])
        # A login on the same device replaces its session.
        device = {"Dossier-Device": fourth["device_secret"], **app}
        self.expect(self.login("few@example.com", headers=device), 200)
        self.assertEqual(self.me(third, headers=app).status, 200)
        in_parallel(8, lambda _: again())
        alive = self.site.sql("select count(*) from sessions where ended_at is null "
                              f"and user_id = '{first['user_id']}'")
        self.assertEqual(alive, "3")

    def test_sign_ins_by_an_api_key_end_the_sessions_of_keys_first(self):
        app = self.site.add_app("scripts", sessions_per_user=4)
        owner = self.expect(self.register("scripts@example.com", headers=app), 201).json
        keys = [self.expect(self.post("/v1/me/api-keys", {"name": name}, headers=app,
                                      token=owner["access_token"]), 201).json["key"]
                for name in ["one", "other"]]

        def enter(key):
            return self.expect(self.post("/v1/login/api-key", {"key": key}, headers=app), 200).json

        def alive(*grants):
            return [self.me(grant, headers=app).status == 200 for grant in grants]

        phone = self.expect(self.login("scripts@example.com", headers=app), 200).json
        other = enter(keys[1])
        mine = [enter(keys[0]) for _ in range(5)]
        # The key that signs in ends its own sessions, though those of the owner were used less.
        self.assertEqual(alive(owner, phone, other, mine[-1]), [True] * 4)
        self.assertEqual(alive(*mine[:-1]), [False] * 4)
        # The owner ends those of keys, the least recently used one first.
        tablet = self.expect(self.login("scripts@example.com", headers=app), 200).json
        self.assertEqual(alive(owner, phone, tablet, other, mine[-1]), [True] * 3 + [False, True])
        # Without another session of a key, the least recently used one of the owner ends.
        watch = self.expect(self.login("scripts@example.com", headers=app), 200).json
        self.assertEqual(alive(owner, phone, tablet, watch), [True] * 4)
        last = enter(keys[0])
        self.assertEqual(alive(phone, tablet, watch, last), [True] * 4)
        self.assertEqual(alive(owner), [False])

    def test_refreshes_do_not_extend_a_session_beyond_the_limit_of_the_app(self):
        app = self.site.add_app("brief", session_max_days=30,
                                allowed_origins=["https://app.example.com"])
        grant = self.expect(self.post("/v1/login/anonymous", {}, headers=app), 200).json
        cookie = {**app, "Cookie": f"__Host-dossier-device={grant['device_secret']}",
                  "Origin": "https://app.example.com"}
        where = f"where user_id = '{grant['user_id']}'"

        def days():
            """Returns the days from the login to the end of the session, and from now to the end."""
            return self.site.sql(
                "select round(extract(epoch from expires_at - created_at) / 86400) || ' ' || "
                f"round(extract(epoch from expires_at - now()) / 86400) from sessions {where}")

        def backdate(days):
            self.site.sql("update sessions set created_at = now() - "
                          f"interval '{days} days' + interval '1 minute' {where}")

        def refreshed(by_cookie):
            if by_cookie:
                return self.post("/v1/token/refresh", {}, headers=cookie)
            answer = self.post("/v1/token/refresh", {"refresh_token": grant["refresh_token"]},
                               headers=app)
            if answer.status == 200:
                grant.update(answer.json)
            return answer

        self.assertEqual(days(), "30 30")
        for by_cookie in [False, True]:
            with self.subTest(by_cookie=by_cookie):
                backdate(20)
                self.expect(refreshed(by_cookie), 200)
                self.assertEqual(days(), "30 10")
        # A shorter idle time applies at the next refresh.
        self.site.set_app("brief", session_days=5)
        self.expect(refreshed(False), 200)
        self.assertEqual(days(), "25 5")
        self.site.set_app("brief", session_max_days=20)
        self.site.sql(f"update sessions set created_at = now() - interval '20 days' {where}")
        self.expect(refreshed(False), 401, "refresh_token_invalid")
        self.expect(refreshed(True), 401, "session_ended")
        # Without a limit, it never ends.
        self.site.set_app("brief", session_max_days=0)
        self.site.sql(f"update sessions set created_at = now() - interval '9 years' {where}")
        self.expect(refreshed(False), 200)

    def recorded(self, app, action):
        """Returns the app's audit events of an action: their details with counts, and the addresses."""
        return self.site.sql(
            "select string_agg(line, ' ' order by line) from (select concat_ws(':', "
            "detail ->> 'provider', detail ->> 'guard', host(address), count(*)) as line "
            f"from audit join apps using (app_id) where name = '{app}' and action = '{action}' "
            "and user_id = app_id group by detail, address) x")

    def test_refused_tokens_and_keys_are_logged_without_filling_the_audit(self):
        app = self.site.add_app("refused", failures_per_ip=4)
        tries = [("/v1/login/jwt", {"token": "x.y.z"}, "external_token_invalid"),
                 ("/v1/login/api-key", {"key": "ds_apikey_x"}, "wrong_credentials")]

        def refused(place):
            headers = {**app, ADDRESS: place}
            for path, body, code in tries:
                self.expect(self.post(path, body, headers=headers), 401, code)
            self.expect(self.site.get("/v1/users", headers=headers, token="ds_client_x"), 401,
                        "client_unknown")
            # A request without a key is not recorded as a refused key.
            self.expect(self.site.get("/v1/users", headers=headers), 401, "client_unknown")

        refused("192.0.2.1")
        self.assertEqual(self.recorded("refused", "login_failure"),
                         "api-key:192.0.2.1:1 client-secret:192.0.2.1:1 jwt:192.0.2.1:1")
        for _ in range(3):
            refused("192.0.2.1")
        self.assertEqual(self.recorded("refused", "login_failure"),
                         "api-key:192.0.2.1:1 client-secret:192.0.2.1:1 jwt:192.0.2.1:2")
        # The use of a disabled key is recorded in the audit log of its owner.
        grant = self.expect(self.post("/v1/login/anonymous", {}, headers=app), 200).json
        key = self.expect(self.post("/v1/me/api-keys", {"name": "cron"}, headers=app,
                                    token=grant["access_token"]), 201).json
        self.site.sql("update api_keys set disabled_at = now()")
        self.expect(self.post("/v1/login/api-key", {"key": key["key"]},
                              headers={**app, ADDRESS: "192.0.2.2"}), 401, "wrong_credentials")
        self.assertEqual(self.site.sql(
            "select detail ->> 'provider' from audit where action = 'login_failure' "
            f"and user_id = '{grant['user_id']}'"), "api-key")

    def test_a_rate_limit_is_logged_once(self):
        app = self.site.add_app("slowed", failures_per_identifier=2)
        for place in ["192.0.2.1", "192.0.2.9"]:
            statuses = [self.login("slow@example.com", headers={**app, ADDRESS: place}).status
                        for _ in range(6)]
            self.assertEqual(statuses, [401] * 2 + [429] * 4)
        self.assertEqual(self.recorded("slowed", "rate_limited"),
                         "login:192.0.2.1:1 login:192.0.2.9:1")

    def test_the_audit_log_names_actors_and_actions_and_has_pages(self):
        grant = self.verified("trail@example.com")
        self.expect(self.login("trail@example.com", "wrong horse"), 401)
        events = self.expect(self.me(grant, "/audit"), 200).json
        self.assertEqual([e["action"] for e in events], ["login_failure", "email_verify", "login"])
        self.assertEqual(events[0]["actor"], "unauthenticated")
        self.assertEqual(events[0]["address"], "127.0.0.1")
        self.site.sql(
            "insert into audit (user_id, event_id, app_id, action, actor) select "
            f"'{grant['user_id']}', lpad(to_hex(g), 24, '0'), app_id, 'x', 'user' "
            "from apps, generate_series(1, 150) g where name = 'default'")
        first = self.me(grant, "/audit")
        self.assertEqual(len(first.json), 100)
        link = first.headers["Link"]
        self.assertIn('rel="next"', link)
        rest = self.site.get(link[1:link.index(">")], token=grant["access_token"])
        self.assertEqual(len(self.expect(rest, 200).json), 53)
        self.assertNotIn("Link", rest.headers)
        ids = [e["id"] for e in first.json + rest.json]
        self.assertEqual(len(set(ids)), 153)
        self.expect(self.me(grant, "/audit?page=2"), 422, "validation_failed")

    def test_an_ipv4_address_counts_as_one_in_every_notation(self):
        for given, shown in {
            "::ffff:192.0.2.1": "192.0.2.1", "::ffff:c000:0202": "192.0.2.2",
            "2001:DB8:0::1": "2001:db8::1", "192.0.2.3": "192.0.2.3",
        }.items():
            grant = self.expect(
                self.post("/v1/login/anonymous", {}, headers={ADDRESS: given}), 200).json
            for path in ["/sessions", "/audit"]:
                listed = self.expect(self.me(grant, path), 200).json
                self.assertEqual([entry["address"] for entry in listed], [shown])
        for address, status in {
            "127.0.0.1": 200, "::ffff:127.0.0.1": 200, "::1": 200, "::ffff:7f00:2": 200,
            "::ffff:192.0.2.1": 403, "::127.0.0.1": 403,
        }.items():
            answer = self.site.get("/healthz", headers={ADDRESS: address})
            self.assertEqual(answer.status, status, address)

    def test_every_form_of_an_email_address_counts_as_one(self):
        self.verified("forms@example.com")
        self.site.sql("delete from rate_limits")
        wide = "".join(chr(ord(letter) + 0xfee0) for letter in "forms")
        forms = ["forms@example.com", "FORMS@Example.com", f"{wide}@example.com",
                 "f\u2134rms@example.com", " forms@example.com"]
        # Each form finds the user, so each guess counts for that user.
        for form in forms:
            self.expect(self.login(form), 200)
        statuses = [self.login(forms[i % len(forms)], f"wrong horse {i}").status for i in range(12)]
        self.assertEqual(statuses, [401] * 10 + [429] * 2)
        for form in forms:
            self.expect(self.login(form), 429, "too_many_attempts")
        asked = [self.post("/v1/password/reset-request", {"email": form}).status
                 for form in forms[:3] * 5]
        self.assertIn(429, asked)

    def test_disabled_login_methods_are_refused(self):
        self.site.sql(
            "insert into apps (app_id, name, settings) values (new_object_id(), 'closed', "
            "'{\"anonymous\": false, \"password\": false, \"jwt\": false, \"api_key\": false}')")
        app = {"Dossier-App": "closed"}
        credentials = {"email": "a@b.c", "password": "correct horse"}
        for path, body in {
            "/v1/login/anonymous": {}, "/v1/register": credentials,
            "/v1/login/password": credentials, "/v1/login/jwt": {"token": "x"},
            "/v1/login/api-key": {"key": "x"}, "/v1/email/verify/request": {"email": "a@b.c"},
            "/v1/password/reset-request": {"email": "a@b.c"},
        }.items():
            with self.subTest(path):
                self.expect(self.post(path, body, headers=app), 403, "login_method_disabled")


if __name__ == "__main__":
    unittest.main()
