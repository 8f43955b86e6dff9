"""What clients see, through nginx."""

import re
import subprocess
import time
import unittest

from cases import Case, in_parallel
from deployment import BUILD, JSON, MERGE


class API(Case):
    # Ways in and out

    def test_a_user_registers_logs_in_refreshes_and_logs_out(self):
        grant = self.expect(self.register("Ada@Example.com"), 201).json
        self.assertEqual(
            set(grant),
            {"access_token", "refresh_token", "token_type", "expires_in", "user_id", "device_id",
             "device_secret"})
        self.assertEqual((grant["token_type"], grant["expires_in"]), ("Bearer", 1800))
        login = self.site.request(
            "POST", "/v1/login/password",
            {"email": " ADA@example.com", "password": "correct horse"}, JSON)
        self.assertEqual(self.expect(login, 200).json["user_id"], grant["user_id"])
        for email, password in [("ada@example.com", "wrong horse"), ("x@example.com", "whatever")]:
            refused = self.site.request(
                "POST", "/v1/login/password", {"email": email, "password": password}, JSON)
            self.expect(refused, 401, "wrong_credentials")
        me = self.expect(self.site.get("/v1/me", token=grant["access_token"]), 200)
        self.assertEqual((me.json["email"], me.json["anonymous"]), ("Ada@Example.com", False))
        self.assertEqual(
            set(me.json),
            set("id created_at updated_at version anonymous blocked email email_verified name "
                "given_name family_name nickname phone locale zone picture".split()))
        token = grant["access_token"]
        self.expect(self.site.request("POST", "/v1/logout", token=token), 204)
        self.expect(self.site.get("/v1/me", token=token), 401, "session_ended")
        self.expect(self.site.request("POST", "/v1/logout", token=token), 401, "session_ended")
        self.expect(self.refresh(grant), 401, "refresh_token_invalid")
        # The other session goes on.
        self.expect(self.site.get("/v1/me", token=login.json["access_token"]), 200)

    def test_a_repeated_refresh_gets_the_same_token_and_a_stolen_one_ends_the_session(self):
        first = self.site.login()
        second = self.expect(self.refresh(first), 200).json
        again = self.expect(self.refresh(first), 200).json
        self.assertEqual(second["refresh_token"], again["refresh_token"])
        third = self.expect(self.refresh(second), 200).json
        self.expect(self.site.get("/v1/me", token=third["access_token"]), 200)
        self.expect(self.refresh(first), 401, "refresh_token_invalid")
        for grant in [first, second, third]:
            self.expect(self.site.get("/v1/me", token=grant["access_token"]), 401, "session_ended")
        self.expect(self.refresh(third), 401, "refresh_token_invalid")
        self.assertEqual(self.end_reasons(first), "refresh_reuse")

    def test_a_predecessor_past_the_grace_is_a_stolen_one(self):
        first = self.site.login()
        second = self.expect(self.refresh(first), 200).json
        self.site.sql(
            "update sessions set refreshed_at = now() - interval '31 seconds' "
            f"where user_id = '{first['user_id']}'")
        self.expect(self.refresh(first), 401, "refresh_token_invalid")
        self.expect(self.me(second), 401, "session_ended")
        self.expect(self.refresh(second), 401, "refresh_token_invalid")
        self.assertEqual(self.end_reasons(first), "refresh_reuse")

    def test_a_current_token_is_good_past_the_grace(self):
        first = self.site.login()
        second = self.expect(self.refresh(first), 200).json
        self.site.sql(
            "update sessions set refreshed_at = now() - interval '31 seconds' "
            f"where user_id = '{first['user_id']}'")
        third = self.expect(self.refresh(second), 200).json
        self.assertNotEqual(third["refresh_token"], second["refresh_token"])
        # Its predecessor has a grace of its own.
        again = self.expect(self.refresh(second), 200).json
        self.assertEqual(again["refresh_token"], third["refresh_token"])
        self.assertEqual(self.end_reasons(first), "")

    def end_reasons(self, grant):
        return self.site.sql(
            f"select detail ->> 'reason' from audit where user_id = '{grant['user_id']}' "
            "and action = 'session_end'")

    def test_tabs_that_refresh_at_once_all_get_the_one_successor(self):
        grant = self.site.login()
        answers = in_parallel(32, lambda _: self.refresh(grant))
        self.assertEqual({answer.status for answer in answers}, {200})
        self.assertEqual(len({answer.json["refresh_token"] for answer in answers}), 1)

    def test_registration_names_every_member_that_breaks_a_rule(self):
        answer = self.register("no address", "short")
        self.expect(answer, 422, "invalid")
        self.assertEqual(
            [error["pointer"] for error in answer.json["errors"]], ["/email", "/password"])
        answer = self.site.request("POST", "/v1/register", {"email": 7, "x": 1}, JSON)
        self.assertEqual(
            {(error["pointer"], error["code"]) for error in answer.json["errors"]},
            {("/x", "unknown_member"), ("/email", "type"), ("/password", "missing")})

    def test_a_blocked_user_is_refused_at_once_everywhere(self):
        grant = self.expect(self.register("blocked@example.com"), 201).json
        self.site.sql(f"update users set blocked_at = now() where user_id = '{grant['user_id']}'")
        self.expect(self.site.get("/v1/me", token=grant["access_token"]), 401, "session_ended")
        self.expect(self.refresh(grant), 401, "refresh_token_invalid")
        login = self.site.request(
            "POST", "/v1/login/password",
            {"email": "blocked@example.com", "password": "correct horse"}, JSON)
        self.expect(login, 401, "wrong_credentials")

    # Who must be refused

    def routes(self, access):
        """Every route of the server with that access: method, path, a body that it reads."""
        listing = subprocess.run(
            [BUILD / "dossierd", "routes"], check=True, capture_output=True, text=True).stdout
        for line in listing.splitlines():
            name, found, _ = line.split("\t")
            method, path = name.split(" ")
            path = re.sub(r"\{(key|app|issuer|picture)\}", "x", path)
            path = re.sub(r"\{\w+\}", "0" * 24, path)
            if found.split(" ")[0] == access:
                reads = {"POST": JSON, "PUT": JSON, "PATCH": MERGE}.get(method, {})
                yield method, path, "{}" if reads else None, reads, found

    def test_every_route_of_a_user_refuses_those_without_a_session_that_counts(self):
        ended = self.site.login()["access_token"]
        self.site.request("POST", "/v1/logout", token=ended)
        header, claims, signature = self.site.login()["access_token"].split(".")
        other_claims = self.site.login()["access_token"].split(".")[1]
        bad = {
            "token_missing": [None],
            "token_invalid": [
                "x", f"{header}.{claims}.", f"{header}.{other_claims}.{signature}",
                f"eyJhbGciOiJub25lIn0.{claims}.", f"{header}.{claims}.{signature[::-1]}"],
        }
        count = 0
        for method, path, body, headers, _ in self.routes("user"):
            for code, tokens in bad.items():
                for token in tokens:
                    with self.subTest(route=f"{method} {path}", token=token):
                        answer = self.site.request(method, path, body, headers, token)
                        self.expect(answer, 401, code)
                        self.assertIn("Bearer", answer.headers["WWW-Authenticate"])
            with self.subTest(route=f"{method} {path}", token="ended"):
                body, headers = self.BODIES.get((method, path), (body, headers))
                answer = self.site.request(method, path, body, headers, ended)
                self.expect(answer, 401, "session_ended")
            count += 1
        self.assertGreater(count, 20)

    # Bodies that get as far as the session is looked at.
    BODIES = {
        ("POST", "/v1/password/change"):
            ({"current_password": "correct horse", "new_password": "correct horses"}, JSON),
        ("POST", "/v1/me/identities"):
            ({"provider": "password", "email": "a@b.c", "password": "correct horse"}, JSON),
        ("POST", "/v1/reauthenticate"): ({"provider": "password", "password": "x"}, JSON),
        ("POST", "/v1/me/api-keys"): ({"name": "x"}, JSON),
        ("PATCH", "/v1/me/properties"): ({"a": 1}, JSON),
        ("PUT", "/v1/me/properties/x"): ({"value": 1}, JSON),
        ("POST", "/v1/me/custom-data/update"): ({"update": {"$set": {"a": 1}}}, JSON),
        ("PUT", "/v1/me/picture"): (b"x", {"Content-Type": "image/png"}),
        ("PATCH", f"/v1/me/api-keys/{'0' * 24}"): ({"disabled": True}, JSON),
    }

    def test_every_route_of_a_device_refuses_those_without_its_proof(self):
        secret = self.site.login()["device_secret"]
        count = 0
        for method, path, body, headers, _ in self.routes("device"):
            for proof in [None, "x", secret[:-1] + ("A" if secret[-1] != "A" else "B"),
                          "drt_" + secret[4:]]:
                with self.subTest(route=f"{method} {path}", proof=proof):
                    fields = {**headers, **({"Dossier-Device": proof} if proof else {})}
                    answer = self.site.request(method, path, body, fields)
                    self.expect(answer, 401, "device_unknown")
            count += 1
        self.assertEqual(count, 4)

    def test_every_route_of_a_program_refuses_those_without_its_key(self):
        key, user = self.site.client("--operator"), self.site.login()
        disabled, deleted = self.site.client("--operator"), self.site.client("--operator")
        self.site.dossier("client", "disable", disabled["id"])
        self.site.dossier("client", "delete", deleted["id"])
        self.site.dossier("app", "create", "another")
        other = self.site.client(
            "--app", "another", *(f"--scope={scope}" for scope in self.site.SCOPES))
        key = key["key"]
        unknown = [None, "x", key[:-1] + ("A" if key[-1] != "A" else "B"), "drt_" + key[4:],
                   user["access_token"], user["refresh_token"], user["device_secret"],
                   disabled["key"], deleted["key"]]
        counts = []
        for access in ["client", "operator"]:
            counts.append(0)
            for method, path, body, headers, found in self.routes(access):
                counts[-1] += 1
                for token in unknown:
                    with self.subTest(route=f"{method} {path}", token=token):
                        answer = self.site.request(method, path, body, headers, token)
                        self.expect(answer, 401, "client_unknown")
                        self.assertEqual(answer.headers["WWW-Authenticate"], "Bearer")
                with self.subTest(route=f"{method} {path}", client="of another app"):
                    answer = self.site.request(method, path, body, headers, other["key"])
                    if access == "client":
                        self.expect(answer, 401, "client_unknown")
                    else:
                        self.expect(answer, 403, "insufficient_scope")
                scope = found.split(" ")[-1]
                rest = [f"--scope={name}" for name in self.site.SCOPES if name != scope]
                poor = self.site.client("--app", "default", *rest)["key"]
                with self.subTest(route=f"{method} {path}", client="without the scope"):
                    answer = self.site.request(method, path, body, headers, poor)
                    self.expect(answer, 403, "insufficient_scope")
                    self.assertIn(f'scope="{scope}"', answer.headers["WWW-Authenticate"])
        self.assertGreaterEqual(counts[0], 3)
        self.assertGreaterEqual(counts[1], 13)

    def test_every_route_has_an_access_that_is_tested(self):
        listing = subprocess.run(
            [BUILD / "dossierd", "routes"], check=True, capture_output=True, text=True).stdout
        found = {line.split("\t")[1].split(" ")[0] for line in listing.splitlines()}
        self.assertEqual(found, {"open", "user", "device", "client", "operator"})

    def test_a_key_is_no_token_of_a_user(self):
        key = self.site.client("--operator")["key"]
        for method, path, body, headers, _ in self.routes("user"):
            with self.subTest(route=f"{method} {path}"):
                answer = self.site.request(method, path, body, headers, key)
                self.expect(answer, 401, "token_invalid")

    def test_a_token_without_the_scope_is_refused(self):
        grant = self.site.login()
        self.site.sql(
            "update sessions set scope = 'read:current_user' "
            f"where user_id = '{grant['user_id']}'")
        token = self.expect(self.refresh(grant), 200).json["access_token"]
        self.expect(self.site.get("/v1/me", token=token), 200)
        for method, path, body, headers, access in self.routes("user"):
            if access.split(" ")[1] != "read:current_user":
                with self.subTest(route=f"{method} {path}"):
                    answer = self.site.request(method, path, body, headers, token)
                    self.expect(answer, 403, "insufficient_scope")

    def test_an_expired_token_is_refused_also_one_that_was_good_before(self):
        self.site.dossier("app", "create", "hasty")
        # Less than an operator can set.
        self.site.set_app("hasty", access_token_seconds=2)
        app = {"Dossier-App": "hasty"}
        grant = self.expect(self.post("/v1/login/anonymous", {}, headers=app), 200).json
        self.assertEqual(grant["expires_in"], 2)
        # Every worker has seen it good.
        for _ in range(8):
            self.expect(self.me(grant, headers=app), 200)
        time.sleep(3.1)
        for _ in range(8):
            answer = self.expect(self.me(grant, headers=app), 401, "token_expired")
            self.assertIn("invalid_token", answer.headers["WWW-Authenticate"])
        again = {"refresh_token": grant["refresh_token"]}
        renewed = self.expect(self.post("/v1/token/refresh", again, headers=app), 200).json
        self.expect(self.me(renewed, headers=app), 200)

    def test_an_expired_session_is_refused(self):
        grant = self.site.login()
        self.site.sql(
            "update sessions set expires_at = now() - interval '1 second' "
            f"where user_id = '{grant['user_id']}'")
        self.expect(self.site.get("/v1/me", token=grant["access_token"]), 401, "session_ended")
        self.expect(self.refresh(grant), 401, "refresh_token_invalid")


if __name__ == "__main__":
    unittest.main()
