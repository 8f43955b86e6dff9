"""A server with issuers that users have accounts at."""

import http.server
import threading
import time
import urllib.parse

from upstream_issuer import Issuer, Reply, Request, SigningKey


class Upstream:
    """A server with any number of issuers. Its clock is `skew` seconds ahead."""

    def __init__(self):
        self.issuers, self.keys, self.skew = {}, {}, 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.handle(self, b"")

            def do_POST(self):
                outer.handle(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))

            def date_time_string(self, timestamp=None):
                return super().date_time_string((timestamp or time.time()) + outer.skew)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.origin = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def add(self, preset, name=None, **options):
        issuer = Issuer(self, preset, name or preset, **options)
        assert issuer.name not in self.issuers, issuer.name
        self.issuers[issuer.name] = issuer
        return issuer

    def key(self, algorithm):
        """Returns the key of an algorithm, which issuers share until one of them takes a new one."""
        if algorithm not in self.keys:
            self.keys[algorithm] = SigningKey(algorithm, f"{algorithm}-1")
        return self.keys[algorithm]

    def handle(self, handler, body):
        split = urllib.parse.urlsplit(handler.path)
        _, name, *rest = split.path.split("/")
        pairs = urllib.parse.parse_qsl(split.query, keep_blank_values=True)
        fields = urllib.parse.parse_qsl(body.decode(), keep_blank_values=True)
        doubled = [key for sent in [pairs, fields] for key in {one for one, _ in sent}
                   if [one for one, _ in sent].count(key) > 1]
        request = Request(handler.command, urllib.parse.unquote("/".join(rest)), dict(pairs),
                          dict(fields), handler.headers, doubled)
        issuer = self.issuers.get(name)
        reply = issuer.reply(request) if issuer else Reply({"error": "not_found"}, 404)
        if reply.gate:
            reply.gate.wait()
        try:
            handler.send_response(reply.status)
            handler.send_header("Content-Type", reply.type)
            handler.send_header("Content-Length", str(len(reply.data)))
            for field, value in reply.fields.items():
                handler.send_header(field, value)
            handler.end_headers()
            handler.wfile.write(reply.data)
        except OSError:
            pass  # The client has not waited.
