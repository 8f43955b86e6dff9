"""Tests that the attacks of one user cause no refusals for other users."""

from asking import ADDRESS, JSON, MERGE
from attacks import ATTACKS
from cases import Case
from machine import wait_until


class Starving(Case):
    ROUNDS = 20

    def bystander(self, address):
        headers = {**JSON, ADDRESS: address}
        token = self.expect(self.post("/v1/login/anonymous", {}, headers=headers), 200).json
        return {**headers, "Authorization": f"Bearer {token['access_token']}"}

    def attacked(self, name):
        """Runs an attack while another user on another network writes, reads and signs in."""
        attack = next(attack for attack in ATTACKS if attack.name == name)
        headers = self.bystander("198.51.100.7")
        with attack.against(self.site) as attacker:
            wait_until(lambda: attacker.answered.value >= attack.connections, what="the attack")
            begun = attacker.answered.value
            for turn in range(self.ROUNDS):
                answers = [
                    self.site.request("PATCH", "/v1/me/metadata", {"turn": turn}, {**headers, **MERGE}),
                    self.site.get("/v1/me", headers=headers),
                    self.post("/v1/login/anonymous", {}, headers=headers),
                ]
                self.assertEqual([answer.status for answer in answers], [200] * 3,
                                 [answer.body[:200] for answer in answers])
                # The attack goes on.
                wait_until(lambda: attacker.answered.value > begun, what="the attack")
                begun = attacker.answered.value

    def test_merge_patches_of_a_large_document(self):
        self.attacked("merge patches of a large document")

    def test_replacements_of_a_large_document(self):
        self.attacked("replacements of a large document")

    def test_exports(self):
        self.attacked("exports")

    def test_reads_of_a_large_document(self):
        self.attacked("reads of a large document")

    def test_many_small_writes(self):
        self.attacked("small writes of one row")

    def test_a_large_document_is_read_like_a_small_one(self):
        token = self.site.login()["access_token"]
        for size in (32_700, 32_768 - len('{"a": ""}'), 32_800, 500_000):
            body = {"a": "x" * size}
            version = self.site.request(
                "PUT", "/v1/me/custom-data", body, JSON, token).version
            answer = self.expect(self.site.get("/v1/me/custom-data", token=token), 200)
            self.assertEqual((answer.json, answer.version), (body, version))
            moved = self.site.request(
                "PUT", "/v1/me/custom-data", {}, {**JSON, "If-Match": '"999"'}, token)
            self.expect(moved, 412)
            answer = self.site.request(
                "POST", "/v1/me/custom-data/update", {"update": {"$set": {"b": 1}}}, JSON, token)
            self.expect(answer, 200)
            self.assertEqual(
                self.site.get("/v1/me/custom-data", token=token).json, {**body, "b": 1})
        by_version = self.site.get("/v1/me/custom-data", headers={"If-None-Match": "*"}, token=token)
        self.assertEqual(by_version.status, 304)
