"""A web server with TLS for the tests. Prints its port, then one line for each connection and request.

usage: web.py CERTIFICATES FOLDER [plain] [other] [kept]
"""
import http.server, os, ssl, sys, threading, time

certificates, modes = sys.argv[1], sys.argv[3:]
KEYS = b'{"keys":[]}'


def end_with_parent(parent=os.getppid()):
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(0)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        print("request", self.path, self.headers.get("Authorization"), flush=True)
        name, _, argument = self.path[1:].partition("/")
        getattr(self, "answer_" + name)(argument)

    def answer(self, status, body=KEYS, length=True, **fields):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if length:
            self.send_header("Content-Length", str(len(body)))
        for field, values in fields.items():
            for value in [values] if isinstance(values, str) else values:
                self.send_header(field.replace("_", "-"), value)
        closes = "kept" not in modes or self.path == "/close"
        # A kept connection is closed without notice.
        if "kept" not in modes:
            self.send_header("Connection", "close")
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass
        self.close_connection = closes

    def do_POST(self):
        self.form = self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def answer_echo(self, _):
        """Answers with the method, the header fields and the form, a line each."""
        fields = [f"{name}: {value}" for name, value in self.headers.items()]
        lines = [self.command, *fields, getattr(self, "form", b"").decode()]
        self.answer(200, "\n".join(lines).encode())

    def answer_close(self, _):
        self.answer(200)

    def answer_keys(self, _):
        self.answer(200, Cache_Control=["public", "max-age=600"], Age="60")

    def answer_plain(self, _):
        self.answer(200)

    def answer_status(self, status):
        self.answer(int(status))

    def answer_redirect(self, _):
        self.answer(302, b"", Location="/keys")

    def answer_bytes(self, count):
        self.answer(200, b"x" * int(count))

    def answer_endless(self, count):
        self.answer(200, b"x" * int(count), length=False)

    def answer_hang(self, _):
        time.sleep(100_000)

    def answer_drip(self, _):
        self.send_response(200)
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"x")
                time.sleep(0.1)
        except OSError:
            self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def get_request(self):
        connection = self.socket.accept()
        print("connection", flush=True)
        return connection

    def finish_request(self, request, address):
        if "plain" not in modes:
            try:
                request = context.wrap_socket(request, server_side=True)
            except OSError:
                return
        super().finish_request(request, address)


if "plain" not in modes:
    name = "other" if "other" in modes else "localhost"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{certificates}/{name}.pem", f"{certificates}/{name}.key")
threading.Thread(target=end_with_parent, daemon=True).start()
server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
