"""Traces and metrics, as a collector of OpenTelemetry decodes them."""

import http.server
import re
import sys
import threading
import unittest

from asking import ADDRESS
from cases import Case
from machine import TOOLS_FOLDER, free_port, wait_until

sys.path.append(str(TOOLS_FOLDER / "opentelemetry"))
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (  # noqa: E402
    ExportMetricsServiceRequest)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (  # noqa: E402
    ExportTraceServiceRequest)

KEY = "collector-key-77ab"
TRACE = "0af7651916cd43dd8448eb211c80319c"


def attributes(owner):
    """Returns the attributes of a message, each once."""
    found = {}
    for pair in owner.attributes:
        assert pair.key not in found, pair.key
        found[pair.key] = getattr(pair.value, pair.value.WhichOneof("value"))
    return found


class Collector:
    """Decodes what it gets, with the classes that the authors of OTLP generate."""

    def __init__(self):
        self.spans, self.metrics, self.headers, self.bytes = [], [], [], b""
        self.resources, self.status, self.gate = [], 200, threading.Event()
        self.gate.set()
        self.lock = threading.Lock()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.gate.wait(120)
                with outer.lock:
                    outer.take(self.path, dict(self.headers), body)
                self.send_response(outer.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.port = free_port()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, path, headers, body):
        self.headers.append(headers)
        self.bytes += body
        if self.status != 200:
            return
        if path == "/base/v1/traces":
            for group in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.resources.append(attributes(group.resource))
                for scope in group.scope_spans:
                    assert scope.scope.name == "dossier"
                    self.spans += scope.spans
        else:
            assert path == "/base/v1/metrics", path
            [group] = ExportMetricsServiceRequest.FromString(body).resource_metrics
            self.resources.append(attributes(group.resource))
            self.metrics.append({metric.name: metric for metric in group.scope_metrics[0].metrics})

    def named(self, name):
        with self.lock:
            return [span for span in self.spans if span.name == name]

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class OpenTelemetryCase(Case):
    RATIO = "1"

    @classmethod
    def setUpClass(cls):
        cls.collector = Collector()
        cls.SETTINGS = {
            "DOSSIER_OTLP_ENDPOINT": f"http://127.0.0.1:{cls.collector.port}/base/",
            "DOSSIER_OTLP_HEADERS": f"api-key={KEY}", "DOSSIER_OTLP_SAMPLING_RATIO": cls.RATIO}
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.collector.stop()


class OpenTelemetry(OpenTelemetryCase):
    def test_a_request_has_a_span_and_each_statement_a_child(self):
        grant = self.expect(self.register("spans-secretive@example.com"), 201).json
        self.expect(self.site.request(
            "GET", "/v1/me", headers={"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"},
            token=grant["access_token"]), 200)

        def found():
            return [span for span in self.collector.named("GET /v1/me")
                    if span.trace_id.hex() == TRACE]

        wait_until(lambda: len(found()) == 1, what="the span of the request")
        [span] = found()
        self.assertEqual((span.parent_span_id.hex(), len(span.span_id)), ("b7ad6b7169203331", 8))
        self.assertEqual(span.kind, span.SPAN_KIND_SERVER)
        self.assertEqual(attributes(span), {
            "http.request.method": "GET", "http.route": "/v1/me",
            "http.response.status_code": 200, "dossier.app": "default"})
        self.assertEqual(span.status.code, span.status.STATUS_CODE_UNSET)
        with self.collector.lock:
            children = [child for child in self.collector.spans
                        if child.parent_span_id == span.span_id]
        self.assertTrue(children)
        for child in children:
            self.assertEqual((child.trace_id, child.kind), (span.trace_id, child.SPAN_KIND_CLIENT))
            self.assertEqual(attributes(child)["db.system.name"], "postgresql")
            self.assertEqual(attributes(child)["db.query.summary"], child.name)
            self.assertRegex(child.name, r"^[a-z_]+\.[a-z_]+$")
            self.assertLessEqual(span.start_time_unix_nano, child.start_time_unix_nano)
            self.assertLessEqual(child.start_time_unix_nano, child.end_time_unix_nano)
        self.assertLess(abs(span.end_time_unix_nano / 1e9 - self.clock()), 3_600)
        resource = self.collector.resources[0]
        self.assertEqual(resource["service.name"], "dossier")
        self.assertTrue(resource["service.version"] and resource["host.name"])

    def clock(self):
        return float(self.site.sql("select extract(epoch from now())"))

    def test_traces_name_no_user_and_no_address(self):
        email = "spans-private@example.com"
        grant = self.expect(self.register(email), 201).json
        user = grant["user_id"]
        self.site.request("GET", f"/v1/users/{user}", token=self.site.client("--operator")["secret"])
        self.site.request("GET", f"/v1/no/{user}?email={email}")
        wait_until(lambda: self.collector.named("GET /v1/users/{user}"))
        wait_until(lambda: any("http.route" not in attributes(span)
                               for span in self.collector.named("GET")))
        for text in (email, "spans-private", user, grant["access_token"], "127.0.0.1"):
            self.assertNotIn(text.encode(), self.collector.bytes)

    def test_the_caller_decides_about_its_trace(self):
        trace = "1af7651916cd43dd8448eb211c803190"
        for flags, parent in (("00", "1111111111111111"), ("01", "2222222222222222")):
            self.site.request("GET", "/v1/apps/default/jwks.json", headers={
                "traceparent": f"00-{trace}-{parent}-{flags}"})

        def parents():
            with self.collector.lock:
                return [span.parent_span_id.hex() for span in self.collector.spans
                        if span.trace_id.hex() == trace and span.kind == span.SPAN_KIND_SERVER]

        wait_until(lambda: parents() == ["2222222222222222"])

    def test_hostile_callers(self):
        for field in ("x" * 4_000, f"00-{TRACE}-b7ad6b7169203331", f"00-{'0' * 32}-{'1' * 16}-01",
                      f"ff-{TRACE}-b7ad6b7169203332-01", f"00-{TRACE.upper()}-b7ad6b7169203332-01"):
            self.expect(self.site.request(
                "GET", "/v1/apps/default/jwks.json", headers={"traceparent": field}), 200)
        before = len(self.collector.named("GET"))
        answer = self.site.request("BREW", "/v1/me")
        self.assertGreaterEqual(answer.status, 400)
        with self.collector.lock:
            self.assertFalse([span for span in self.collector.spans
                              if span.parent_span_id.hex() == "b7ad6b7169203332"])
        self.assertGreaterEqual(len(self.collector.named("GET")), before)

    def test_a_failure_is_an_error(self):
        with self.site.without_postgres():
            wait_until(lambda: self.site.get("/readyz").status == 503)
            self.site.get("/v1/me", token="x")
        wait_until(lambda: any(
            attributes(span).get("error.type") == "503"
            and span.status.code == span.status.STATUS_CODE_ERROR
            for span in self.collector.named("GET /readyz")))

    def test_the_metrics_are_those_of_the_page(self):
        wait_until(lambda: self.collector.metrics)
        text = self.site.get("/metrics").body.decode()
        page = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.M))
        count = self.site.metric("dossier_password_hashes_total")
        self.expect(self.register("hashed@example.com"), 201)

        def value(name):
            metric = self.collector.metrics[-1][name]
            return sum(point.as_double for point in metric.sum.data_points)

        wait_until(lambda: value("dossier_password_hashes_total") > count)
        sent = self.collector.metrics[-1]
        kinds = {"counter": "sum", "gauge": "gauge", "histogram": "histogram"}
        self.assertEqual({name: metric.WhichOneof("data") for name, metric in sent.items()},
                         {name: kinds[kind] for name, kind in page.items()})
        counter = sent["dossier_password_hashes_total"].sum
        self.assertTrue(counter.is_monotonic)
        self.assertEqual(counter.aggregation_temporality, 2)
        point = counter.data_points[0]
        self.assertLess(0, point.start_time_unix_nano)
        self.assertLess(point.start_time_unix_nano, point.time_unix_nano)
        for point in sent["dossier_request_seconds"].histogram.data_points:
            self.assertEqual(len(point.bucket_counts), len(point.explicit_bounds) + 1)
            self.assertEqual(point.count, sum(point.bucket_counts))
            self.assertEqual(list(point.explicit_bounds), sorted(point.explicit_bounds))
            self.assertIn("class", attributes(point))
        self.assertEqual(sent["dossier_request_seconds"].unit, "s")

    def test_the_header_is_sent_and_not_shown(self):
        wait_until(lambda: self.collector.headers)
        self.assertEqual({headers["api-key"] for headers in self.collector.headers}, {KEY})
        self.assertEqual({headers["Content-Type"] for headers in self.collector.headers},
                         {"application/x-protobuf"})
        self.assertNotIn(KEY, self.site.printed("config") + str(self.site.log_lines()))


class SlowCollector(OpenTelemetryCase):
    def test_requests_wait_for_no_collector(self):
        self.collector.gate.clear()
        for _ in range(100):
            self.expect(self.site.get("/v1/apps/default/jwks.json"), 200)
        wait_until(lambda: self.site.metric("dossier_otlp_spans_dropped_total") > 0
                   or self.site.get("/v1/apps/default/jwks.json").status != 200)
        self.assertGreater(self.site.metric("dossier_otlp_spans_dropped_total"), 0)
        self.collector.gate.set()
        before = len(self.collector.spans)
        wait_until(lambda: self.site.get("/v1/me").status == 401
                   and len(self.collector.spans) > before)

    def test_a_collector_that_refuses_is_reported_once(self):
        self.collector.status = 503
        self.addCleanup(setattr, self.collector, "status", 200)
        before = self.site.metric("dossier_otlp_spans_dropped_total")
        wait_until(lambda: self.site.get("/v1/me").status == 401
                   and self.site.metric("dossier_otlp_spans_dropped_total") > before)
        said = [text for text in self.site.messages() if "does not accept traces: status 503" in text]
        self.assertLessEqual(len(said), 2 * len(self.site.workers()))


class Sampling(OpenTelemetryCase):
    RATIO = "0"

    def test_only_traces_of_callers(self):
        for _ in range(20):
            self.site.get("/v1/me")
        # Callers of the internet do not decide.
        self.site.request("GET", "/v1/me", headers={
            ADDRESS: "192.0.2.7", "traceparent": f"00-{'5' * 32}-b7ad6b7169203331-01"})
        self.site.request("GET", "/v1/me", headers={
            "traceparent": f"00-{TRACE}-b7ad6b7169203331-01"})
        wait_until(lambda: self.collector.named("GET /v1/me"))
        self.assertEqual({span.trace_id.hex() for span in self.collector.spans}, {TRACE})


if __name__ == "__main__":
    unittest.main()
