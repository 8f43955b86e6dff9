"""The metrics, and what is made of them for Prometheus and Grafana."""

import json
import re
import subprocess
import tempfile
import unittest
import urllib.request

from asking import ADDRESS
from cases import Case
from deployment import Deployment
from machine import ROOT, free_port, wait_until

MONITORING = ROOT / "deploy/monitoring"


class Monitoring(Case):
    def families(self):
        text = self.site.get("/metrics").body.decode()
        return set(re.findall(r"^# TYPE (\w+) ", text, re.M))

    def named(self, text):
        """The families that a text of expressions names."""
        names = set(re.findall(r"\bdossier_\w+", text))
        return {re.sub(r"_(bucket|sum|count)$", "", name) for name in names}

    def test_the_metrics_are_what_prometheus_takes(self):
        self.site.login()
        with tempfile.TemporaryFile() as file:
            file.write(self.site.get("/metrics").body)
            file.seek(0)
            checked = subprocess.run(["promtool", "check", "metrics"], stdin=file,
                                     capture_output=True, text=True)
        # It has an opinion about names besides, and ends with 3 then.
        self.assertIn(checked.returncode, (0, 3), checked.stdout + checked.stderr)
        self.assertNotIn("error while linting", checked.stderr)

    def test_rules_are_valid_and_of_metrics_that_there_are(self):
        checked = subprocess.run(["promtool", "check", "rules", MONITORING / "alerts.yml"],
                                 capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        named = self.named((MONITORING / "alerts.yml").read_text())
        self.assertGreater(len(named), 8)
        self.assertEqual(named - self.families(), set())

    def test_what_the_guide_gives_to_prometheus_is_right(self):
        guide = (ROOT / "deploy/README.md").read_text()
        text = re.search(r"(?ms)^```yaml\n(rule_files.*?)```", guide)[1]
        text = text.replace("/usr/share/dossier/monitoring", str(MONITORING))
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            file.write(text)
            file.flush()
            checked = subprocess.run(["promtool", "check", "config", file.name],
                                     capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        # The rules are of a job of that name.
        self.assertIn("job_name: dossier\n", text)

    def test_the_dashboard_shows_every_metric_but_what_it_need_not(self):
        dashboard = json.loads((MONITORING / "grafana.json").read_text())
        shown = self.named(" ".join(
            target["expr"] for panel in dashboard["panels"] for target in panel["targets"]))
        self.assertEqual(shown - self.families(), set())
        self.assertEqual(self.families() - shown, {"dossier_info", "dossier_longest_turn_seconds"})

    def test_each_lane_of_the_database_says_how_many_wait(self):
        self.assertLessEqual({f"dossier_{lane}_waiting" for lane in ["writes", "searches", "large_values"]},
                             self.families())

    def test_who_answers_says_which_program_it_is_on_which_host(self):
        text = self.site.get("/metrics").body.decode()
        self.assertRegex(text, r'(?m)^dossier_info\{version="[\d.]+",host="[^"]+"\} 1$')


class Elsewhere(unittest.TestCase):
    def test_networks_that_are_named_may_ask_and_others_may_not(self):
        site = Deployment(
            settings=[("DOSSIER_OPERATIONS_NETWORKS", "198.51.100.0/24, 2001:db8::/32")],
            nginx=[("    allow ::1;\n    deny all;",
                    "    allow ::1;\n    allow 198.51.100.0/23;\n    allow 2001:db8::/32;\n"
                    "    deny all;")])
        self.addCleanup(site.stop)
        for path in ["/metrics", "/readyz", "/healthz"]:
            for address, status in [("198.51.100.9", 200), ("2001:db8::9", 200),
                                    ("198.51.101.9", 403), ("203.0.113.9", 403)]:
                answer = site.get(path, headers={ADDRESS: address})
                self.assertEqual(answer.status, status, (path, address, answer.body))

    def test_each_host_of_workers_is_asked_by_itself(self):
        """As the guide says, by a server of nginx for each host."""
        port, others, one, other = (free_port() for _ in range(4))
        guide = (ROOT / "deploy/README.md").read_text()
        server = re.search(r"(?ms)^```nginx\n(server \{.*?^\}\n)```", guide)[1]
        servers = "".join(
            server.replace("9101", str(asked)).replace("10.0.0.2:9000", f"127.0.0.1:{at}")
            for asked, at in [(one, port), (other, others)])
        site = Deployment(settings=[("DOSSIER_LISTEN", f"127.0.0.1:{port}")])
        self.addCleanup(site.stop)
        (site.folder / "upstream.conf").write_text(
            (site.folder / "upstream.conf").read_text() + servers)
        first = site.supervisor
        site.environment.update(DOSSIER_LISTEN=f"127.0.0.1:{others}", DOSSIER_WORKERS="3")
        site.start_dossierd()
        site.reload_nginx()

        def told(asked):
            with urllib.request.urlopen(f"http://127.0.0.1:{asked}/metrics") as answer:
                return re.search(r"(?m)^dossier_ready (\d+)$", answer.read().decode())[1]

        for asked, count in [(one, "2"), (other, "3")]:
            wait_until(lambda: told(asked) == count, what=f"{count} workers that are ready")
            # Summed over the host's workers, whichever is asked.
            self.assertEqual({told(asked) for _ in range(6)}, {count})
        first.terminate()
        first.wait(60)


if __name__ == "__main__":
    unittest.main()
