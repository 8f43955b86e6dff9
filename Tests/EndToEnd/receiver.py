"""A receiver of webhooks, with a certificate of its own, at an address that is not loopback."""

import http.server
import json
import socket
import ssl
import subprocess
import threading

from machine import free_port


def own_address():
    """Returns an address of this machine that is not loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # Sends nothing.
        probe.connect(("198.51.100.1", 9))
        return probe.getsockname()[0]


def make_certificate(folder, name, *names):
    """Makes a key and a certificate that is its own authority. Returns both paths."""
    key, certificate = folder / f"{name}.key", folder / f"{name}.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "30", "-keyout", key, "-out", certificate, "-subj", f"/CN={name}",
         "-addext", "subjectAltName=" + ",".join(names)], check=True, capture_output=True)
    certificate.chmod(0o644)
    return key, certificate


class Message:
    """A request that the receiver has got."""

    def __init__(self, handler, body):
        self.path = handler.path
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        self.body = body
        self.event = json.loads(body)
        self.id = self.headers["webhook-id"]
        self.type = self.event["type"]
        self.user = self.event["data"].get("user_id")


class Receiver:
    """Keeps all messages, of a type of its own. `answer` returns the status, the header fields and the body for each."""

    def __init__(self, files, address=None, message=Message, port=None):
        self.address = address or own_address()
        self.messages = []
        self.most_at_once = self.at_once = 0
        self.lock = threading.Lock()
        self.answer = self.accept
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                got = message(self, body)
                with outer.lock:
                    outer.messages.append(got)
                    outer.at_once += 1
                    outer.most_at_once = max(outer.most_at_once, outer.at_once)
                try:
                    answer = outer.answer(got)
                    if callable(answer):
                        answer(self.wfile)
                        self.close_connection = True
                        return
                    status, fields, body = answer
                    self.send_response(status)
                    for name, value in fields.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    self.close_connection = True  # The sender has not waited.
                finally:
                    with outer.lock:
                        outer.at_once -= 1

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def finish_request(self, request, client):
                try:
                    super().finish_request(tls.wrap_socket(request, server_side=True), client)
                except OSError:
                    pass  # The sender has refused the certificate.

        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(files[1], files[0])
        self.port = port or free_port()
        self.server = Server((self.address, self.port), Handler)
        self.url = f"https://{self.address}:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @staticmethod
    def accept(_):
        return 200, {}, b"ok"

    def at(self, path):
        """Returns the messages to a path, in their order."""
        with self.lock:
            return [message for message in self.messages if message.path == path]

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
