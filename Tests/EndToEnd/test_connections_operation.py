"""What operators see of sign-ins at issuers: the metrics, the log and the alert."""

import json
import re
import subprocess
import tempfile
import unittest

from connections import ConnectionCase
from machine import ROOT, wait_until
from openid import Party
from upstream_issuer import Reply

METRIC = "dossier_connection_sign_ins_total"
RULES = ROOT / "deploy/monitoring/alerts.yml"


class Operation(ConnectionCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.oidc = cls.connect("oidc", "upstream", email_trust="verified")
        cls.github = cls.connect("github", email_trust="verified")

    def setUp(self):
        super().setUp()
        for issuer in [self.oidc, self.github]:
            issuer.is_new(f"{issuer.name}-{self.own_email()}")

    def counts(self):
        text = self.site.get("/metrics").body.decode()
        pattern = rf'(?m)^{METRIC}{{preset="(\w+)",outcome="(\w+)"}} (\d+)$'
        return {(preset, outcome): int(count) for preset, outcome, count in re.findall(pattern, text)}

    def leads_to(self, outcome, issuer, step):
        """Checks that a step counts as one outcome, and that its line of the log says so."""
        before, logged = self.counts(), len(self.lines())
        step()
        after = self.counts()
        changed = {key: count - before.get(key, 0) for key, count in after.items()
                   if count != before.get(key, 0)}
        self.assertEqual(changed, {(issuer.preset, outcome): 1})
        wait_until(lambda: len(self.lines()) > logged, what="the line of the request")
        line = self.lines()[-1]
        self.assertEqual((line["connection"], line["outcome"]), (issuer.name, outcome))
        return line

    def lines(self):
        return [line for line in self.site.log_lines() if "connection" in line]

    def test_each_sign_in_counts_once_by_its_outcome(self):
        for issuer in [self.oidc, self.github]:
            for outcome in ["signed_up", "signed_in"]:
                self.leads_to(outcome, issuer, lambda: self.go(issuer, self.new_visitor()))
        owner = self.verified("owner-" + self.own_email())
        self.oidc.is_new(self.me(owner).json["email"])
        self.leads_to("pending", self.oidc, lambda: self.go(self.oidc, self.new_visitor()))
        self.oidc.is_new()
        self.leads_to("linked", self.oidc, lambda: self.expect(self.attach(
            owner, provider="jwt", token=self.oidc.native_token()), 200))
        code = self.oidc.native_code(max_age=0)
        body = {"provider": "connection", "connection": "upstream", "code": code}
        self.leads_to("reauthenticated", self.oidc, lambda: self.expect(self.post(
            "/v1/reauthenticate", body, token=owner["access_token"]), 200))

    def test_each_kind_of_failure_counts_by_its_preset(self):
        for outcome, lie in [
                ("cancelled", {"callback": {"code": None, "error": "access_denied"}}),
                ("failed", {"callback": {"code": None, "error": "server_error"}}),
                ("failed", {"claims": {"nonce": "another"}}),
                ("unavailable", {"token": Reply(status=503)}),
                ("unavailable", {"token": Reply({"error": "invalid_client"}, 401)})]:
            with self.subTest(outcome, lie=lie):
                self.oidc.lie(**lie)
                line = self.leads_to(outcome, self.oidc, lambda: self.go(
                    self.oidc, self.new_visitor()))
                self.assertEqual("connection upstream: " in line.get("error", ""),
                                 outcome != "cancelled")
        self.oidc.honest()
        self.change(self.oidc, sign_up=False)
        self.addCleanup(self.change, self.oidc, sign_up=True)
        wait_until(lambda: "refused" in {outcome for _, outcome in self.refused()},
                   what="the change")

    def refused(self):
        before = self.counts()
        self.oidc.is_new()
        self.go(self.oidc, self.new_visitor())
        return {key for key, count in self.counts().items() if count > before.get(key, 0)}

    def test_a_start_counts_only_if_it_fails(self):
        before = self.counts()
        self.begin(self.oidc, self.new_visitor())
        self.assertEqual(self.counts(), before)
        issuer = self.connect("oidc", "dark", check=False)
        issuer.lie(discovery=Reply(status=500))
        visitor = self.new_visitor()
        self.leads_to("unavailable", issuer, lambda: visitor.open(
            self.button("dark", self.page(visitor))))

    def page(self, visitor):
        return visitor.open(Party(self, self.spa).path)


class Alert(unittest.TestCase):
    """promtool runs the rule on given values."""

    def fires(self, **increases):
        """Returns how many alerts fire after half an hour, with increases a minute by outcome."""
        text = json.dumps({
            "rule_files": [str(RULES)],
            "tests": [{
                "interval": "1m",
                "input_series": [
                    {"series": f'{METRIC}{{preset="google",outcome="{outcome}"}}',
                     "values": f"0+{increase}x40"} for outcome, increase in increases.items()],
                "promql_expr_test": [{
                    "expr": 'count(ALERTS{alertname="DossierConnectionFails",alertstate="firing"}) '
                            "or vector(0)",
                    "eval_time": "30m", "exp_samples": [{"labels": "{}", "value": 1}]}],
            }],
        })
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            file.write(text)
            file.flush()
            return subprocess.run(["promtool", "test", "rules", file.name],
                                  capture_output=True, text=True).returncode == 0

    def test_the_alert_fires_if_most_sign_ins_fail(self):
        self.assertTrue(self.fires(signed_in=0, failed=1))
        self.assertTrue(self.fires(signed_in=1, failed=1, unavailable=1))
        self.assertFalse(self.fires(signed_in=3, failed=1, unavailable=1))
        self.assertFalse(self.fires(signed_in=0, cancelled=5, refused=5, failed=0))
        self.assertFalse(self.fires(signed_in=0, failed=0.1))


if __name__ == "__main__":
    unittest.main()
