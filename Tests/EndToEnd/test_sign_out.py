"""Signing out: of a user, of all users of a device, and which user is active afterwards."""

import unittest

from asking import JSON
from cases import Case, in_parallel

PAGE = {"Origin": "https://app.example.com"}


class SignOut(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(allowed_origins=[PAGE["Origin"]])

    def three(self, **headers):
        """Three users of a device, who signed in one after the other; and its secret."""
        grants = []
        for _ in range(3):
            if grants:
                headers["Dossier-Device"] = grants[-1]["device_secret"]
            answer = self.post("/v1/login/anonymous", {}, headers=headers)
            grants.append(self.expect(answer, 200).json)
        return grants[-1]["device_secret"], grants

    def device(self, secret, method="GET", path="", body=None, **headers):
        fields = {"Dossier-Device": secret, **(JSON if body is not None else {}), **headers}
        return self.site.request(method, f"/v1/device{path}", body, fields)

    def states(self, secret, grants, **headers):
        """Returns the state of each user on the device, or None for an unknown user."""
        users = self.expect(self.device(secret, **headers), 200).json["users"]
        found = {user["user_id"]: user["state"] for user in users}
        return [found.get(grant["user_id"]) for grant in grants]

    def switch(self, secret, grant, **headers):
        return self.device(secret, "PUT", "/active", {"user_id": grant["user_id"]}, **headers)

    def ways(self):
        """Returns each way to sign out: its route, and the state of the user afterwards."""
        return [
            ("POST", lambda grant: "/v1/logout", "logged_out"),
            ("POST", lambda grant: f"/v1/device/users/{grant['user_id']}/logout", "logged_out"),
            ("DELETE", lambda grant: f"/v1/device/users/{grant['user_id']}", None),
            ("DELETE", lambda grant: "/v1/me", None),
        ]

    def leave(self, way, secret, grant, next, **headers):
        method, path, _ = way
        path = path(grant) + (f"?next={next}" if next else "")
        if "/device/" in path:
            headers["Dossier-Device"] = secret
        else:
            headers["Authorization"] = f"Bearer {grant['access_token']}"
        return self.site.request(method, path, headers=headers)

    def left(self, way, secret, grant, next, **headers):
        answer = self.leave(way, secret, grant, next, **headers)
        self.assertIn(answer.status, (200, 204), answer.body)

    def each(self, story, *nexts):
        """Runs a test for each way to sign out and for each choice of the next user."""
        for way in self.ways():
            for next in nexts:
                with self.subTest(f"{way[0]} {way[1]({'user_id': 'x'})}", next=next):
                    story(way, next)

    # The active user after a sign-out

    def test_the_user_who_signed_in_last_is_active_by_default(self):
        def story(way, next):
            secret, grants = self.three()
            one, two, three = grants
            self.left(way, secret, three, next)
            self.assertEqual(self.states(secret, grants), ["inactive", "active", way[2]])
            self.expect(self.me(three), 401, "session_ended")
            self.expect(self.refresh(three), 401, "refresh_token_invalid")
            # The sessions of the other users continue.
            self.expect(self.me(one), 200)
            self.expect(self.refresh(two), 200)
            self.left(way, secret, two, next)
            self.assertEqual(self.states(secret, grants), ["active", way[2], way[2]])

        self.each(story, None, "most_recent")

    def test_no_user_is_active_if_the_caller_wants_none(self):
        def story(way, next):
            secret, grants = self.three()
            one, two, three = grants
            self.left(way, secret, three, next)
            self.assertEqual(self.states(secret, grants), ["inactive", "inactive", way[2]])
            self.expect(self.me(three), 401, "session_ended")
            # The others stay signed in, and a switch needs no new sign-in.
            self.expect(self.me(one), 200)
            self.expect(self.refresh(one), 200)
            self.expect(self.me(self.expect(self.switch(secret, two), 200).json), 200)
            self.assertEqual(self.states(secret, grants), ["inactive", "active", way[2]])

        self.each(story, "none")

    def test_a_later_sign_in_is_active_and_has_a_successor(self):
        def story(way, next):
            secret, grants = self.three()
            self.left(way, secret, grants[2], next)
            answer = self.post("/v1/login/anonymous", {}, headers={"Dossier-Device": secret})
            fourth = self.expect(answer, 200).json
            secret = fourth["device_secret"]
            self.expect(self.switch(secret, grants[0]), 200)
            everybody = [*grants, fourth]
            self.assertEqual(self.states(secret, everybody),
                             ["active", "inactive", way[2], "inactive"])
            self.left(way, secret, grants[0], "most_recent")
            self.assertEqual(self.states(secret, everybody),
                             [way[2], "inactive", way[2], "active"])

        self.each(story, "none")

    def test_the_sign_out_of_an_inactive_user_keeps_the_active_one(self):
        def story(way, next):
            secret, grants = self.three()
            self.left(way, secret, grants[0], next)
            self.assertEqual(self.states(secret, grants), [way[2], "inactive", "active"])
            self.expect(self.me(grants[2]), 200)

        self.each(story, "none", "most_recent")

    def test_no_user_becomes_active_if_switching_is_forbidden(self):
        app = self.site.add_app("forbidden", switching="reauthenticate")

        def story(way, next):
            secret, grants = self.three(**app)
            self.left(way, secret, grants[2], next, **app)
            self.assertEqual(self.states(secret, grants, **app), ["inactive", "inactive", way[2]])

        self.each(story, None, "most_recent", "none")

    def test_another_choice_is_refused_and_changes_nothing(self):
        secret, grants = self.three()

        def story(way, next):
            refused = self.expect(self.leave(way, secret, grants[2], next), 422, "validation_failed")
            self.assertEqual(len(refused.json["errors"]), 1)

        self.each(story, "anybody", "None", "none&next=none", "none&other=1", "none&")
        self.assertEqual(self.states(secret, grants), ["inactive", "inactive", "active"])

    def test_a_parameter_of_another_name_is_refused(self):
        grant = self.site.login()
        for query in ["nxt=none", "next", "next="]:
            answer = self.post(f"/v1/logout?{query}", token=grant["access_token"])
            self.expect(answer, 422, "validation_failed")
        self.expect(self.me(grant), 200)

    def test_a_page_has_no_user_after_its_user_signs_out(self):
        wish = {"Dossier-Device": "cookie", **PAGE}
        cookie, grants = {}, []
        for _ in range(2):
            answer = self.post("/v1/login/anonymous", {}, headers={**wish, **cookie})
            grants.append(self.expect(answer, 200).json)
            cookie = {"Cookie": answer.headers["Set-Cookie"].split(";")[0]}
        page = {**cookie, **PAGE}
        self.left(self.ways()[0], None, grants[1], "none")
        self.expect(self.post("/v1/token/refresh", {}, headers=page), 401, "session_ended")
        # The page of the other user continues.
        body = {"user_id": grants[0]["user_id"]}
        token = self.expect(self.post("/v1/token/refresh", body, headers=page), 200).json
        self.assertEqual(token["user_id"], grants[0]["user_id"])
        self.expect(self.post("/v1/token/refresh", {}, headers=page), 401, "session_ended")
        # A switch restores the default.
        self.expect(self.site.request("PUT", "/v1/device/active", body, {**JSON, **page}), 200)
        self.expect(self.post("/v1/token/refresh", {}, headers=page), 200)

    # All users of a device

    def test_all_users_of_a_device_sign_out(self):
        secret, grants = self.three()
        member = self.verified("everywhere@example.com")
        here = self.expect(self.login(
            "everywhere@example.com", headers={"Dossier-Device": secret}), 200).json
        secret, everybody = here["device_secret"], [*grants, here]
        key = self.expect(self.post("/v1/me/api-keys", {"name": "x"},
                                    token=here["access_token"]), 201).json["key"]
        self.expect(self.post("/v1/device/logout"), 401, "device_unknown")
        self.assertEqual(self.states(secret, everybody), ["inactive"] * 3 + ["active"])
        answer = self.expect(self.device(secret, "POST", "/logout"), 200).json
        self.assertEqual(sorted(user["user_id"] for user in answer["users"]),
                         sorted(grant["user_id"] for grant in everybody))
        self.assertEqual({user["state"] for user in answer["users"]}, {"logged_out"})
        for grant in everybody:
            self.expect(self.me(grant), 401, "session_ended")
            self.expect(self.refresh(grant), 401, "refresh_token_invalid")
        self.expect(self.switch(secret, grants[0]), 409, "not_logged_in")
        # Sessions on other devices and API keys stay valid.
        self.expect(self.me(member), 200)
        self.expect(self.post("/v1/login/api-key", {"key": key}), 200)
        ended = [event for event in self.expect(self.me(member, "/audit"), 200).json
                 if event["action"] == "device_logout"]
        self.assertEqual([event["device_id"] for event in ended], [here["device_id"]])
        # A repetition changes nothing, and the device still lists its users.
        self.expect(self.device(secret, "POST", "/logout"), 200)
        again = self.expect(self.login(
            "everywhere@example.com", headers={"Dossier-Device": secret}), 200).json
        self.assertEqual(self.states(again["device_secret"], everybody),
                         ["logged_out"] * 3 + ["active"])

    def test_a_page_signs_all_its_users_out(self):
        made = self.expect(self.post(
            "/v1/login/anonymous", {}, headers={"Dossier-Device": "cookie", **PAGE}), 200)
        cookie = {"Cookie": made.headers["Set-Cookie"].split(";")[0]}
        for origin in [{}, {"Origin": "https://evil.example.com"}]:
            self.expect(self.post("/v1/device/logout", headers={**cookie, **origin}), 403,
                        "origin_forbidden")
        self.expect(self.me(made.json), 200)
        self.expect(self.post("/v1/device/logout", headers={**cookie, **PAGE}), 200)
        self.expect(self.me(made.json), 401, "session_ended")

    def test_concurrent_sign_ins_and_sign_outs_of_a_device(self):
        for _ in range(8):
            secret, grants = self.three()
            answers = in_parallel(6, lambda index: self.device(secret, "POST", "/logout")
                                  if index % 2 else self.switch(secret, grants[index // 2]))
            self.assertLessEqual({answer.status for answer in answers}, {200, 409})
            self.assertEqual(self.states(secret, grants), ["logged_out"] * 3)

    def test_the_most_recent_user_is_active_after_a_choice(self):
        secret, grants = self.three()
        way = self.ways()[1]
        self.left(way, secret, grants[2], "none")
        self.assertEqual(self.states(secret, grants), ["inactive", "inactive", "logged_out"])
        self.expect(self.switch(secret, grants[0]), 200)
        self.left(way, secret, grants[0], "most_recent")
        self.assertEqual(self.states(secret, grants), ["logged_out", "active", "logged_out"])


if __name__ == "__main__":
    unittest.main()
