"""nginx and the workers on two hosts, with TLS between them by nginx, as the operator's guide describes it."""

import contextlib
import os
import re
import socket
import ssl
import subprocess

from asking import MERGE
from cases import Case
from fastcgi import records
from machine import ROOT, free_port, is_listening, wait_until

GUIDE = (ROOT / "deploy/README.md").read_text()
HEADING = "Encrypt the way from nginx to the workers"
SECTION = GUIDE.split(f"### {HEADING}\n")[1].split("\n## ")[0]
[MAKE_CERTIFICATES] = re.findall(r"(?ms)^```sh\n(.*?)^```$", SECTION)
WORKER_END, NGINX_END = re.findall(r"(?ms)^```nginx\n(.*?)^```$", SECTION)


class Tunnel(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.port = free_port()
        cls.ends = {}
        cls.certificates("tunnel")
        cls.certificates("foreign")
        cls.start_end("worker", WORKER_END)
        cls.start_end("nginx", NGINX_END)
        sockets = f"server unix:{cls.site.folder}/tunnel.sock;"
        upstream = (cls.site.folder / "upstream.conf").read_text()
        cls.assert_changes(upstream, r"(\s*server unix:[^;]*;)+")
        (cls.site.folder / "upstream.conf").write_text(
            re.sub(r"(\s*server unix:[^;]*;)+", "\n  " + sockets, upstream))
        cls.site.reload_nginx()

    @staticmethod
    def assert_changes(text, pattern):
        if not re.search(pattern, text):
            raise AssertionError(f"{pattern} is not in {text}")

    @classmethod
    def certificates(cls, name):
        folder = cls.site.folder / name
        folder.mkdir()
        subprocess.run(["bash", "-euc", MAKE_CERTIFICATES], cwd=folder, check=True, capture_output=True)

    @classmethod
    def start_end(cls, name, text, authority="tunnel"):
        """Starts the nginx of one end with the text of the guide; the files are in folders of this test."""
        folder = cls.site.folder
        replaced = {
            "/etc/dossier/tunnel": str(folder / authority), "10.0.0.2:9443": f"127.0.0.1:{cls.port}",
            "/run/dossier-tunnel/app2.sock": f"{folder}/tunnel.sock",
            "/run/dossier/": f"{cls.site.sockets}/"}
        for before, after in replaced.items():
            text = text.replace(before, after)
        (folder / f"end-{name}.conf").write_text(
            "load_module /usr/lib/nginx/modules/ngx_stream_module.so;\n"
            f"daemon off; pid {folder}/end-{name}.pid; error_log {folder}/end-{name}.log;\n"
            f"{'user www-data;' if os.geteuid() == 0 else ''}\nevents {{}}\n{text}")
        with contextlib.suppress(FileNotFoundError):
            (folder / "tunnel.sock").unlink() if name == "nginx" else None
        process = subprocess.Popen(
            ["/usr/sbin/nginx", "-e", folder / f"end-{name}.log", "-c", folder / f"end-{name}.conf"])
        cls.ends[name] = process
        cls.site.processes.append(process)

        def serves():
            if process.poll() is not None:
                raise AssertionError((folder / f"end-{name}.log").read_text())
            return is_listening(cls.port) if name == "worker" else (folder / "tunnel.sock").exists()

        wait_until(serves, what=name)

    @classmethod
    def stop_end(cls, name):
        cls.ends[name].terminate()
        cls.ends[name].wait(60)

    def test_requests_pass_and_writes_are_answered(self):
        grant = self.expect(self.register("far@example.com"), 201).json
        token = grant["access_token"]
        self.expect(self.site.request(
            "PATCH", "/v1/me/metadata", {"theme": "dark"}, MERGE, token), 200)
        self.assertEqual(self.expect(self.site.get("/v1/me", token=token), 200).json["email"],
                         "far@example.com")
        # A body that takes several records of FastCGI and of TLS.
        long = {"text": "x" * 60_000}
        self.expect(self.site.request("PATCH", "/v1/me/metadata", long, MERGE, token), 200)
        self.assertEqual(
            self.expect(self.site.get("/v1/me/metadata", token=token), 200).json["text"], long["text"])

    def test_without_the_worker_end_no_request_is_answered_and_with_it_they_are_again(self):
        token = self.expect(self.register("cut@example.com"), 201).json["access_token"]
        self.stop_end("worker")
        try:
            self.expect(self.site.get("/v1/me", token=token), 503)
            self.expect(self.site.request("PATCH", "/v1/me/metadata", {}, MERGE, token), 503)
        finally:
            self.start_end("worker", WORKER_END)
        wait_until(lambda: self.site.get("/v1/me", token=token).status == 200, what="an answer")

    def test_callers_without_a_certificate_of_the_authority_reach_no_worker(self):
        folder = self.site.folder

        def answer(*certificate):
            """Returns how a worker begins to answer a request."""
            context = ssl.create_default_context(cafile=folder / "tunnel/authority.pem")
            if certificate:
                context.load_cert_chain(*certificate)
            with contextlib.suppress(ssl.SSLError, ConnectionError):
                with socket.create_connection(("127.0.0.1", self.port), timeout=120) as raw:
                    with context.wrap_socket(raw, server_hostname="worker") as tls:
                        tls.sendall(records())
                        return tls.recv(4_096)
            return b""

        own, foreign = (
            [folder / name / "nginx.pem", folder / name / "nginx.key"] for name in ["tunnel", "foreign"])
        self.assertIn(b"Status: ", answer(*own))
        self.assertEqual(answer(), b"")
        self.assertEqual(answer(*foreign), b"")

    def test_nginx_sends_nothing_to_a_worker_end_of_another_authority(self):
        token = self.expect(self.register("sent@example.com"), 201).json["access_token"]
        self.stop_end("worker")
        self.start_end("worker", WORKER_END, authority="foreign")
        try:
            self.expect(self.site.get("/v1/me", token=token), 503)
            self.assertIn("upstream SSL certificate verify error",
                          (self.site.folder / "end-nginx.log").read_text())
        finally:
            self.stop_end("worker")
            self.start_end("worker", WORKER_END)
        wait_until(lambda: self.site.get("/v1/me", token=token).status == 200, what="an answer")
