"""Tests the metrics, the alerts of Prometheus and the dashboard of Grafana."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import urllib.request

from asking import ADDRESS
from cases import Case
from deployment import Deployment
from machine import AS_POSTGRES, IS_ROOT, ROOT, TOOLS, free_port, wait_until

MONITORING = ROOT / "deploy/monitoring"


class Monitoring(Case):
    def families(self):
        text = self.site.get("/metrics").body.decode()
        return set(re.findall(r"^# TYPE (\w+) ", text, re.M))

    def named(self, text):
        """Returns the metric families that expressions name."""
        names = set(re.findall(r"\bdossier_\w+", text))
        return {re.sub(r"_(bucket|sum|count)$", "", name) for name in names}

    def test_prometheus_accepts_the_metrics(self):
        self.site.login()
        with tempfile.TemporaryFile() as file:
            file.write(self.site.get("/metrics").body)
            file.seek(0)
            checked = subprocess.run(["promtool", "check", "metrics"], stdin=file,
                                     capture_output=True, text=True)
        # It also judges the names of metrics, and then exits with 3.
        self.assertIn(checked.returncode, (0, 3), checked.stdout + checked.stderr)
        self.assertNotIn("error while linting", checked.stderr)

    def test_alert_rules_are_valid_and_use_existing_metrics(self):
        checked = subprocess.run(["promtool", "check", "rules", MONITORING / "alerts.yml"],
                                 capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        named = self.named((MONITORING / "alerts.yml").read_text())
        self.assertGreater(len(named), 8)
        self.assertEqual(named - self.families(), set())

    def test_the_prometheus_configuration_of_the_guide_is_valid(self):
        guide = (ROOT / "deploy/README.md").read_text()
        texts = re.findall(r"(?ms)^```yaml\n(rule_files.*?)```", guide)
        self.assertEqual(len(texts), 2)
        for text in texts:
            text = text.replace("/usr/share/dossier/monitoring", str(MONITORING))
            with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
                file.write(text)
                file.flush()
                checked = subprocess.run(["promtool", "check", "config", file.name],
                                         capture_output=True, text=True)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
            # The rules are about jobs of these names.
            rules = "".join((MONITORING / name).read_text()
                            for name in re.findall(r"monitoring/([\w-]+\.yml)", text))
            jobs = set(re.findall(r'job="(\w+)"', rules))
            self.assertEqual(jobs - set(re.findall(r"job_name: (\w+)", text)), set())

    def test_the_dashboard_shows_all_metrics_except_two(self):
        dashboard = json.loads((MONITORING / "grafana.json").read_text())
        shown = self.named(" ".join(
            target["expr"] for panel in dashboard["panels"] for target in panel["targets"]))
        self.assertEqual(shown - self.families(), set())
        self.assertEqual(self.families() - shown, {"dossier_info", "dossier_event_loop_lag_max_seconds"})

    def test_each_database_queue_reports_its_length(self):
        text = self.site.get("/metrics").body.decode()
        waiting = re.findall(r'(?m)^dossier_database_requests_waiting\{lane="(\w+)"\} \d+$', text)
        self.assertEqual(sorted(waiting), ["large", "search", "write"])

    def test_the_metrics_name_the_version_and_the_host(self):
        text = self.site.get("/metrics").body.decode()
        self.assertRegex(text, r'(?m)^dossier_info\{version="[\d.]+",host="[^"]+"\} 1$')


class Hosts(Case):
    """The rules about PostgreSQL, disks and backups, with Debian's exporters."""

    RULES = MONITORING / "alerts-hosts.yml"
    # The metrics of the exporters in the rules, without names of labels and functions.
    METRICS = r"\b(?:pg|node)_\w+"

    def exported(self, program, metric, **environment):
        """Returns the metrics of an exporter of Debian, once `metric` is among them."""
        port = free_port()
        exporter = subprocess.Popen(
            [f"/usr/bin/prometheus-{program}", f"--web.listen-address=127.0.0.1:{port}"],
            env={**os.environ, **environment}, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.addCleanup(exporter.wait)
        self.addCleanup(exporter.terminate)
        names = set()

        def reports():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                    names.update(re.findall(r"(?m)^(\w+)[ {]", answer.read().decode()))
            except OSError:
                pass
            return metric in names

        wait_until(reports, what=f"{metric} of {program}")
        return names

    def test_the_exporters_report_the_metrics_of_the_rules(self):
        replica = self.site.folder / "replica"
        replica.mkdir(mode=0o700)
        if IS_ROOT:
            shutil.chown(replica, "postgres")
        where = f"host={self.site.folder} user=owner"
        subprocess.run([*AS_POSTGRES, TOOLS / "pg_basebackup", "-D", replica, "-R", "-C", "-S", "b",
                        "--checkpoint=fast", "-d", where], check=True, cwd="/")
        control = [*AS_POSTGRES, TOOLS / "pg_ctl", "-D", replica, "-s", "-w"]
        subprocess.run([*control, "start", "-l", replica / "log", "-o",
                        f"-k {replica} -c listen_addresses='' {self.site.connections()}"], check=True, cwd="/",
                       stdout=subprocess.DEVNULL)
        self.addCleanup(subprocess.run, [*control, "stop", "-m", "immediate"], cwd="/")
        named = set(re.findall(self.METRICS, self.RULES.read_text()))
        self.assertGreater(len(named), 5)
        # With the privileges that the guide grants.
        guide = (ROOT / "deploy/README.md").read_text()
        rights, = re.findall(r"(?m)psql -c '(create role prometheus .*)'$", guide)
        self.site.sql(rights)
        found = self.exported(
            "postgres-exporter", "pg_stat_replication_pg_wal_lsn_diff",
            DATA_SOURCE_NAME=f"user=prometheus host={self.site.folder} dbname=postgres")
        found |= self.exported("node-exporter", "node_filesystem_avail_bytes")
        self.assertEqual(named - found, set())

    def test_each_rule_fires_when_it_should_and_only_then(self):
        """promtool runs the rules on given values."""
        rows = [
            # alert, series and values at each minute, when it fires, when it does not
            ("DossierReplicaLags", "pg_stat_replication_pg_wal_lsn_diff 0x9 1e8x20", 20, 9),
            ("DossierReplicaAway", "pg_replication_slots_active 1x9 0x20", 20, 9),
            ("DossierPostgreSQLDown", "pg_up 1x9 0x20", 20, 9),
            ("DossierDiskFillsUp", "node_filesystem_avail_bytes 50x9 14x20", 20, 9),
            ("DossierDiskFullSoon", "node_filesystem_avail_bytes 50x9 4x20", 20, 9),
            ("DossierBackupOld", "dossier_backup_completed_timestamp_seconds 0x1700", 1600, 1500),
            ("DossierWALNotArchived", "pg_stat_archiver_failed_count 0x9 1+1x20", 20, 9),
            ("DossierCertificateExpires", "probe_ssl_earliest_cert_expiry 2e6x9 1e6x20", 20, 9),
            ("DossierNoLeader", "patroni_primary 1x9 0x20", 20, 9),
            ("DossierNoSynchronousReplica", "patroni_sync_standby 1x9 0x20", 20, 9),
            ("DossierPatroniPaused", "patroni_is_paused 0x9 1x90", 90, 9),
        ]
        self.assertEqual({row[0] for row in rows},
                         set(re.findall(r"alert: (\w+)", self.RULES.read_text())))
        for alert, series, fires, rests in rows:
            with self.subTest(alert):
                name, values = series.split(" ", 1)
                for minute, expected in [(rests, 0), (fires, 1)]:
                    self.check(alert, name, values, minute, expected)

    def check(self, alert, name, values, minute, expected):
        """Checks with promtool the number of alerts of a name at a minute."""
        # A rule looks at one metric; the size of disks belongs to what is left of them.
        series = {name: values, "node_filesystem_size_bytes": "100x2000"}
        text = json.dumps({
            "rule_files": [str(self.RULES)],
            "tests": [{
                "interval": "1m",
                "input_series": [{"series": key, "values": value} for key, value in series.items()],
                "promql_expr_test": [{
                    "expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"}}) or vector(0)',
                    "eval_time": f"{minute}m",
                    "exp_samples": [{"labels": "{}", "value": expected}],
                }],
            }],
        })
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            file.write(text)
            file.flush()
            checked = subprocess.run(["promtool", "test", "rules", file.name],
                                     capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)


class Elsewhere(unittest.TestCase):
    def test_only_internal_networks_may_read_the_metrics(self):
        site = Deployment(
            settings=[("DOSSIER_INTERNAL_NETWORKS", "198.51.100.0/24, 2001:db8::/32")],
            nginx=[("    allow ::1;\n    deny all;",
                    "    allow ::1;\n    allow 198.51.100.0/23;\n    allow 2001:db8::/32;\n"
                    "    deny all;")])
        self.addCleanup(site.stop)
        for path in ["/metrics", "/readyz", "/healthz"]:
            for address, status in [("198.51.100.9", 200), ("2001:db8::9", 200),
                                    ("198.51.101.9", 403), ("203.0.113.9", 403)]:
                answer = site.get(path, headers={ADDRESS: address})
                self.assertEqual(answer.status, status, (path, address, answer.body))

    def test_prometheus_scrapes_each_host_separately(self):
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

        def ready_workers(asked):
            with urllib.request.urlopen(f"http://127.0.0.1:{asked}/metrics") as answer:
                return re.search(r"(?m)^dossier_ready (\d+)$", answer.read().decode())[1]

        def are_ready(asked, count):
            try:
                return ready_workers(asked) == count
            except OSError:
                # The new workers do not listen yet.
                return False

        for asked, count in [(one, "2"), (other, "3")]:
            wait_until(lambda: are_ready(asked, count), what=f"{count} workers that are ready")
            # Summed over the host's workers, whichever is asked.
            self.assertEqual({ready_workers(asked) for _ in range(6)}, {count})
        first.terminate()
        first.wait(120)


if __name__ == "__main__":
    unittest.main()
