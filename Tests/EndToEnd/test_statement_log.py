"""The log of statements, which log=debug enables."""

import unittest
from concurrent.futures import ThreadPoolExecutor

from asking import JSON
from cases import Case
from machine import wait_until


class StatementLog(Case):
    SETTINGS = {"DOSSIER_LOG": "debug"}

    def statements(self, request):
        return [line for line in self.site.log_lines()
                if "statement" in line and line.get("request") == request]

    def wait_for(self, request, name):
        def found():
            return [line for line in self.statements(request) if line["statement"] == name]

        wait_until(found, what=f"{name} of {request}")
        return found()[0]

    def test_each_statement_is_logged_with_the_id_of_its_request(self):
        token = self.register("log@example.com", headers={"X-Request-Id": "registers"})
        token = self.expect(token, 201).json["access_token"]
        self.expect(self.site.request(
            "GET", "/v1/me", headers={"X-Request-Id": "reads"}, token=token), 200)
        read = self.wait_for("reads", "profile.text")
        self.assertEqual((read["level"], read["rows"]), ("debug", 1))
        self.assertGreaterEqual(read["duration_us"], 0)
        counted = self.wait_for("registers", "rate_limits.spend")
        self.assertNotIn("state", counted)
        # A transaction is logged from its first statement to its last.
        self.wait_for("registers", "transaction.begin")
        self.wait_for("registers", "transaction.commit")
        # Work without a request has no id.
        self.assertTrue(any("statement" in line and "request" not in line
                            for line in self.site.log_lines()))

    def test_requests_at_the_same_time_keep_their_ids(self):
        tokens = [self.site.login()["access_token"] for _ in range(8)]

        def read(index):
            return self.site.request("PATCH", "/v1/me/metadata", {"n": index}, {
                "Content-Type": "application/merge-patch+json", "X-Request-Id": f"writes-{index}",
            }, tokens[index]).status

        with ThreadPoolExecutor(8) as pool:
            self.assertEqual(set(pool.map(read, range(8))), {200})
        for index in range(8):
            self.wait_for(f"writes-{index}", "documents.create")
            written = [line["statement"] for line in self.statements(f"writes-{index}")]
            self.assertEqual(written.count("documents.create"), 1)

    def test_values_are_not_logged(self):
        grant = self.expect(self.register("secret@example.com", "battery staple 7"), 201).json
        self.expect(self.post("/v1/login/password", {
            "email": "secret@example.com", "password": "battery staple 7"}), 200)
        self.expect(self.site.request(
            "PUT", "/v1/me/custom-data", {"hidden": "value"}, JSON, grant["access_token"]), 200)
        text = (self.site.folder / "dossierd.log").read_text()
        for value in ["secret@example.com", "battery", "hidden", grant["access_token"],
                      grant["refresh_token"], "select ", "insert into"]:
            self.assertNotIn(value, text)

    def test_without_the_setting_no_statement_is_logged(self):
        self.restart(DOSSIER_LOG="requests")
        self.addCleanup(self.restart, DOSSIER_LOG="debug")
        start = len(self.site.log_lines())
        self.site.login()
        wait_until(lambda: any("route" in line for line in self.site.log_lines()[start:]),
                   what="the line of the request")
        self.assertFalse(any("statement" in line for line in self.site.log_lines()[start:]))


if __name__ == "__main__":
    unittest.main()
