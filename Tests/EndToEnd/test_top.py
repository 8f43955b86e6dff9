"""What happens now: dossier top, dossier limits list, and the metrics of sign-ins."""

import json
import re
import subprocess
import unittest

from asking import ADDRESS
from cases import Case
from machine import BUILD, wait_until


class Top(Case):
    @property
    def url(self):
        return f"http://127.0.0.1:{self.site.port}/metrics"

    def counted(self, metric, **labels):
        text = self.site.get("/metrics").body.decode()
        label = ",".join(f'{name}="{value}"' for name, value in labels.items())
        found = re.search(rf"(?m)^{metric}\{{{label}\}} (\d+)$", text)
        return int(found[1]) if found else 0

    def test_refused_sign_ins_and_events_of_accounts_are_counted(self):
        self.register("counted@example.com")

        def numbers():
            return [self.counted("dossier_sign_in_failures_total", reason="wrong_credentials"),
                    self.counted("dossier_sign_in_failures_total", reason="email_unverified"),
                    self.counted("dossier_account_events_total", action="login"),
                    self.counted("dossier_account_events_total", action="user_delete")]

        before = numbers()
        self.expect(self.login("counted@example.com", "a wrong password"), 401)
        self.expect(self.login("nobody@example.com", "a wrong password"), 401)
        grant = self.expect(self.login("counted@example.com"), 200).json
        self.expect(self.site.request("DELETE", "/v1/me", token=grant["access_token"]), 204)
        self.assertEqual([now - then for now, then in zip(numbers(), before)], [2, 0, 1, 1])

    def test_the_reasons_are_codes_of_errors_and_no_client_adds_any(self):
        text = self.site.get("/metrics").body.decode()
        reasons = set(re.findall(r'dossier_sign_in_failures_total\{reason="(\w+)"\}', text))
        codes = set(re.findall(r'"([a-z_]+)"', self.site.get("/openapi.json").body.decode()))
        self.assertEqual(reasons - codes, set())
        actions = set(re.findall(r'dossier_account_events_total\{action="(\w+)"\}', text))
        self.assertGreater(len(actions), 15)

    def test_the_numbers_are_those_of_the_interval(self):
        with subprocess.Popen(
                [BUILD / "dossier", "top", "--url", self.url, "--json", "--interval", "1"],
                stdout=subprocess.PIPE, text=True) as top:
            try:
                def reading():
                    return json.loads(top.stdout.readline())

                first = reading()
                self.assertEqual((first["workers"], first["workers_ready"]), (2, 2))
                self.assertEqual(first["statements_waiting_write"], 0)
                # Each reading reads /metrics, which is a request too.
                wait_until(lambda: self.busy(reading()), what="the requests")
            finally:
                top.kill()

    def busy(self, load):
        for _ in range(20):
            self.site.get("/v1/me")
        routes = {row["route"]: row for row in load["slowest_routes"]}
        row = routes.get("GET /v1/me")
        return row and row["requests_per_second"] > 0 and row["mean_milliseconds"] > 0 \
            and load["refused_per_second"] > 0

    def test_once_prints_tables_and_needs_no_database(self):
        run = subprocess.run(
            [BUILD / "dossier", "top", "--once", "--interval", "1", "--url", self.url],
            env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=60)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("statements_waiting_write", run.stdout)
        self.assertIn("GET /metrics", run.stdout)
        self.assertNotIn("\x1b", run.stdout)

    def test_a_host_without_metrics_is_an_error(self):
        for url, reason in [(f"http://127.0.0.1:{self.site.port}/v1/me", "status 401"),
                            ("http://127.0.0.1:1/metrics", "127.0.0.1:1"), ("nothing", "nothing")]:
            run = subprocess.run([BUILD / "dossier", "top", "--once", "--url", url],
                                 capture_output=True, text=True, timeout=60)
            self.assertEqual(run.returncode, 15, run.stderr)
            self.assertIn(reason, run.stderr)
        for words in [["--interval", "0"], ["--routes", "0"]]:
            run = subprocess.run([BUILD / "dossier", "top", *words], capture_output=True)
            self.assertEqual(run.returncode, 64)

    def test_limits_are_listed_by_user_and_by_address(self):
        place = {ADDRESS: "198.51.100.40"}
        self.register("limited@example.com")
        status = 401
        while status == 401:
            status = self.login("limited@example.com", "a wrong password", headers=place).status
        self.assertEqual(status, 429)
        rows = self.site.dossier("limits", "list", "--user", "limited@example.com",
                                 "--address", "198.51.100.40")
        self.assertEqual({row["network"] for row in rows}, {"198.51.100.40"})
        self.assertTrue(all(row["ends_at"] and "Too many attempts" in row["reason"]
                            for row in rows))
        here = self.site.dossier("limits", "list", "--address", "198.51.100.40")
        self.assertTrue(here)
        self.assertEqual({row["network"] for row in here}, {"198.51.100.40"})
        self.assertEqual(self.site.dossier("limits", "list", "--address", "198.51.100.41"), [])
        run = self.site.dossier("limits", "list", "--address", "here", check=False)
        self.assertEqual(run.returncode, 64)


class Busiest(Case):
    SETTINGS = {"DOSSIER_LOG_ADDRESSES": "network"}

    def test_the_busiest_clients_and_networks_are_shown(self):
        url = f"http://127.0.0.1:{self.site.port}/metrics"
        busy, calm = self.site.client("scopes=read:users"), self.site.client("scopes=read:users")
        shown = []

        def shows():
            """Sends requests until the workers have ended their windows."""
            for _ in range(6):
                self.site.get("/v1/users", token=busy["secret"], headers={ADDRESS: "198.51.100.9"})
            self.site.get("/v1/users", token=calm["secret"], headers={ADDRESS: "2001:db8:1:2::9"})
            shown[:] = [self.site.dossier("top", "--once", "--interval", "1", "--url", url)]
            return len(shown[0]["busiest_clients"]) >= 2

        wait_until(shows, what="the clients")
        [first, second] = shown[0]["busiest_clients"]
        self.assertEqual([first["client"], second["client"]],
                         [client["id"] for client in (busy, calm)])
        self.assertGreater(first["requests_per_second"], second["requests_per_second"])
        self.assertGreater(first["mean_milliseconds"], 0)
        networks = [row["network"] for row in shown[0]["busiest_networks"]]
        self.assertLessEqual({"198.51.100.0", "2001:db8:1::"},
                             {network.split("/")[0] for network in networks})
        text = self.site.dossier("top", "--once", "--interval", "1", "--url", url, output="text")
        self.assertIn(first["client"], text)

    def test_many_networks_fill_nothing(self):
        for number in range(50):
            self.site.get("/v1/me", headers={ADDRESS: f"203.0.{number}.1"})

        def networks():
            self.site.get("/v1/me", headers={ADDRESS: "203.0.113.1"})
            text = self.site.get("/metrics").body.decode()
            return re.findall(r"(?m)^dossier_network_load\{(.*)\}", text)

        wait_until(lambda: len(networks()) >= 20)
        self.assertEqual(len(networks()), 20)


if __name__ == "__main__":
    unittest.main()
