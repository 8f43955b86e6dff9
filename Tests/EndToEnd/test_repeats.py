"""Repeated POSTs with an Idempotency-Key are executed once and get the same response."""

import hashlib
import unittest

from asking import JSON, MERGE
from cases import Case, Held, Waiting, in_parallel
from machine import wait_until


class Repeats(Case):
    def setUp(self):
        self.grant = self.site.login()

    def send(self, path, body, key, token=None, **headers):
        fields = {name.replace("_", "-"): text for name, text in headers.items()}
        return self.post(path, body, token=token or self.grant["access_token"],
                         headers={"Idempotency-Key": key, **fields})

    def make(self, name, key, **options):
        return self.send("/v1/me/api-keys", {"name": name}, key, **options)

    def keys(self):
        return len(self.expect(self.me(self.grant, "/api-keys"), 200).json)

    def test_a_repeated_request_is_executed_once_and_gets_the_same_response(self):
        first = self.expect(self.make("laptop", '"8e03978e-40d5-43dd-bc93-6894a57f9324"'), 201)
        self.assertNotIn("Idempotent-Replayed", first.headers)
        # Most clients leave out the quotes.
        for key in ['"8e03978e-40d5-43dd-bc93-6894a57f9324"', "8e03978e-40d5-43dd-bc93-6894a57f9324"]:
            again = self.expect(self.make("laptop", key), 201)
            self.assertEqual(again.body, first.body)
            self.assertEqual(again.headers["Idempotent-Replayed"], "true")
            for name in ["Content-Type", "Cache-Control", "Vary"]:
                self.assertEqual(again.headers.get_all(name), first.headers.get_all(name))
        self.assertEqual(self.keys(), 1)
        self.expect(self.make("laptop", "another"), 201)
        self.assertEqual(self.keys(), 2)
        # The stored answer does not contain the key in readable form.
        secret = first.json["key"]
        self.assertEqual(self.site.sql(
            f"select count(*) from idempotency_keys where position('{secret}' in "
            f"encode(answer, 'escape')) > 0 or owner = '{self.grant['user_id']}' and answer is null"),
            "0")

    def test_another_request_with_the_key_is_refused(self):
        self.expect(self.make("laptop", "k"), 201)
        for answer in [self.make("desktop", "k"),
                       self.send("/v1/me/custom-data/update", {"update": {}}, "k"),
                       self.make("laptop", "k", If_Match='"1"')]:
            self.assertIn(answer.status, [412, 422])
        self.expect(self.make("desktop", "k"), 422, "idempotency_key_reused")
        self.assertEqual(self.keys(), 1)

    def test_an_idempotency_key_belongs_to_its_caller_and_app(self):
        first = self.expect(self.make("laptop", "k"), 201).json
        other = self.site.login()
        second = self.expect(self.make("laptop", "k", token=other["access_token"]), 201).json
        self.assertNotEqual(first["key"], second["key"])
        app = self.site.add_app("elsewhere")
        user = self.expect(self.post("/v1/login/anonymous", {}, headers=app), 200).json
        self.expect(self.make("laptop", "k", token=user["access_token"], **{"Dossier_App": "elsewhere"}), 201)
        program = self.site.client("--operator")["secret"]
        made = [self.expect(self.send("/v1/users", {"email": f"{n}@example.com"}, "k",
                                      token=program, Dossier_App=name), 201).json["id"]
                for n, name in enumerate(["default", "elsewhere"])]
        self.assertNotEqual(*made)

    def test_repeated_creations_by_clients_create_once(self):
        program = self.site.client("--operator")["secret"]
        answers = [self.expect(self.send("/v1/users", {"email": "once@example.com"}, "import-7",
                                         token=program), 201) for _ in range(3)]
        self.assertEqual(len({answer.json["id"] for answer in answers}), 1)
        self.assertEqual({answer.headers["Location"] for answer in answers},
                         {answers[0].headers["Location"]})
        answers = [self.expect(self.send("/v1/apps", {"name": "made-once"}, "app-7", token=program),
                               201) for _ in range(2)]
        self.assertEqual(answers[0].body, answers[1].body)

    def test_refusals_are_not_stored(self):
        self.expect(self.make("", "k"), 422, "validation_failed")
        self.expect(self.make("laptop", "k"), 201)
        update = {"update": {"$inc": {"n": 1}}}
        self.expect(self.site.request("PUT", "/v1/me/custom-data", {"n": 1}, JSON,
                                      self.grant["access_token"]), 200)
        stale = {"If_Match": '"7"'}
        self.expect(self.send("/v1/me/custom-data/update", update, "u", **stale), 412)
        right = {"If_Match": '"1"'}
        for _ in range(2):
            done = self.expect(self.send("/v1/me/custom-data/update", update, "u", **right), 200)
            self.assertEqual((done.json["version"], done.headers["ETag"]), (2, '"2"'))
        self.assertEqual(self.me(self.grant, "/custom-data").json, {"n": 2})

    def test_one_of_concurrent_repeats_is_executed(self):
        answers = in_parallel(8, lambda _: self.make("laptop", "k"))
        done = {answer.body for answer in answers if answer.status == 201}
        self.assertEqual(len(done), 1)
        for answer in answers:
            if answer.status != 201:
                self.expect(answer, 409, "idempotency_key_in_use")
        self.assertEqual({self.expect(self.make("laptop", "k"), 201).body}, done)
        self.assertEqual(self.keys(), 1)

    def test_a_key_expires_after_a_day(self):
        self.expect(self.make("laptop", "k"), 201)
        self.assertEqual(self.site.sql(
            "select round(extract(epoch from expires_at - now()) / 3600) from idempotency_keys "
            f"where owner = '{self.grant['user_id']}'"), "24")
        mine = f"where owner = '{self.grant['user_id']}'"
        self.site.sql(f"update idempotency_keys set answer = null {mine}")
        self.expect(self.make("laptop", "k"), 409, "idempotency_key_in_use")
        # The request began an hour ago.
        self.site.sql(f"update idempotency_keys set expires_at = now() + interval '23 hours' {mine}")
        self.expect(self.make("laptop", "k"), 409, "idempotency_response_lost")
        self.site.sql(f"update idempotency_keys set expires_at = now() {mine}")
        self.expect(self.make("laptop", "k"), 201)
        self.assertEqual(self.keys(), 2)

    def test_a_repeat_without_access_gets_no_stored_response(self):
        self.expect(self.make("laptop", "k"), 201)
        self.expect(self.post("/v1/logout", token=self.grant["access_token"]), 204)
        self.expect(self.make("laptop", "k"), 401, "session_ended")

    def test_stored_responses_are_deleted_with_the_user(self):
        self.expect(self.make("laptop", "k"), 201)
        where = f"from idempotency_keys where owner = '{self.grant['user_id']}'"
        self.assertEqual(self.site.sql(f"select count(*) {where}"), "1")
        self.expect(self.site.request("DELETE", "/v1/me", token=self.grant["access_token"]), 204)
        self.assertEqual(self.site.sql(f"select count(*) {where}"), "0")

    def test_the_number_of_keys_of_a_user_is_limited(self):
        self.expect(self.make("laptop", "k"), 201)
        self.site.sql(
            "insert into idempotency_keys (app_id, owner, key_hash, request_hash, expires_at) "
            "select app_id, owner, sha256(n::text::bytea), 'x', now() + interval '1 day' "
            "from idempotency_keys, generate_series(1, 999) n "
            f"where owner = '{self.grant['user_id']}'")
        refused = self.expect(self.make("laptop", "one-too-many"), 429, "too_many_requests")
        self.assertEqual(refused.headers["Retry-After"], "3600")
        self.expect(self.make("laptop", "k"), 201)
        self.assertEqual(self.keys(), 1)

    def test_the_number_of_keys_of_a_client_is_limited(self):
        """Its keys are counted by the first byte of their hashes."""
        client = self.site.client("--app", "default", "scopes=create:users")

        def create(key):
            return self.send("/v1/users", {"email": f"{key}@example.com"}, key,
                             token=client["secret"])

        full = hashlib.sha256(b"k").digest()[0]
        free = next(f"k{n}" for n in range(100)
                    if hashlib.sha256(f"k{n}".encode()).digest()[0] != full)
        first = self.expect(create("k"), 201).json
        self.site.sql(
            "insert into idempotency_keys (app_id, owner, key_hash, request_hash, expires_at) "
            f"select app_id, owner, decode('{full:02x}', 'hex') || sha256(n::text::bytea), 'x', "
            "now() + interval '1 day' from idempotency_keys, generate_series(1, 499) n "
            f"where owner = '{client['id']}'")
        full_too = next(f"f{n}" for n in range(10_000)
                        if hashlib.sha256(f"f{n}".encode()).digest()[0] == full)
        self.expect(create(full_too), 429, "too_many_requests")
        self.assertEqual(self.expect(create("k"), 201).json["id"], first["id"])
        self.expect(create(free), 201)

    def test_responses_with_tokens_are_not_stored_and_malformed_keys_are_refused(self):
        fields = {"Idempotency-Key": "k"}
        for path, body, token in [
            ("/v1/login/anonymous", {}, None),
            ("/v1/register", {"email": "a@example.com", "password": "correct horse"}, None),
            ("/v1/token/refresh", {"refresh_token": self.grant["refresh_token"]}, None),
            ("/v1/reauthenticate", {"provider": "password", "password": "x"}, self.grant),
            ("/v1/me/identities", {"provider": "password"}, self.grant),
            ("/v1/me/second-factors", {}, self.grant),
            ("/v1/me/recovery-codes", {}, self.grant),
        ]:
            answer = self.post(path, body, headers=fields, token=token and token["access_token"])
            self.expect(answer, 400, "idempotency_key_unsupported")
        for key in ['""', "a b", "x" * 256, '"open', "\u00fc".encode().decode("latin-1")]:
            self.expect(self.make("laptop", key), 400, "idempotency_key_malformed")
        # Other methods are idempotent by themselves.
        self.expect(self.site.request("PATCH", "/v1/me/metadata", {"a": 1}, {**MERGE, **fields},
                                      self.grant["access_token"]), 200)
        self.assertEqual(self.keys(), 0)


class LostConnections(Waiting):
    def test_a_request_that_lost_its_connection_is_not_repeated(self):
        grant = self.site.login()
        own = f"where user_id = '{grant['user_id']}' and kind = 'custom_data'"
        send = self.site.request
        self.expect(send("PUT", "/v1/me/custom-data", {"n": 1}, JSON, grant["access_token"]), 200)

        def increase():
            return self.post("/v1/me/custom-data/update", {"update": {"$inc": {"n": 1}}},
                             token=grant["access_token"], headers={"Idempotency-Key": "k"})

        with Held(self.site, f"select from documents {own} for update"):
            answer = self.started(increase)
            # On Citus, a node waits for the lock, and the backend of the worker for the node.
            waits = ("from pg_stat_activity where usename = 'server' and state = 'active' "
                     "and query like '%documents%' and query_start < now() - interval '0.2 s'")
            wait_until(lambda: self.site.sql(f"select count(*) {waits}") == "1", what="a waiting write")
            self.site.sql(f"select pg_terminate_backend(pid) {waits}")
            self.expect(answer(), 503, "database_unavailable")
        # The commit may have arrived.
        self.expect(increase(), 409, "idempotency_key_in_use")


if __name__ == "__main__":
    unittest.main()
