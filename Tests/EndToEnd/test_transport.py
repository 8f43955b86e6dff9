"""Tests the security header fields of responses, with and without TLS."""

import http.client
import json
import re
import shutil
import ssl
import subprocess
import unittest

from deployment import Deployment
from machine import ROOT, free_port, is_listening, wait_until


class Transport(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site = Deployment()

    @classmethod
    def tearDownClass(cls):
        cls.site.stop()

    def test_the_reference_loads_no_other_hosts_and_cannot_be_framed(self):
        page = self.site.get("/reference")
        policy = {part.strip().split(" ", 1)[0]: part.strip().split(" ", 1)[1]
                  for part in page.headers["Content-Security-Policy"].split(";")}
        for name in ["default-src", "frame-ancestors", "base-uri"]:
            self.assertEqual(policy.pop(name), "'none'")
        self.assertEqual(set(policy.values()), {"'self'"})
        text = page.body.decode()
        self.assertNotRegex(text, r"<style| style=|<script>| on\w+=")
        for path, type_ in zip(re.findall(r'(?:href|src)="(/reference/assets/[^"]*)"', text),
                               ["text/css", "text/javascript"], strict=True):
            file = self.site.get(path)
            self.assertEqual(file.headers["Content-Type"], f"{type_}; charset=utf-8")
            self.assertIn("immutable", file.headers["Cache-Control"])
            # A page of another version gets the file too, but not for long.
            other = self.site.get(re.sub(r"-\w+\.", "-0.", path))
            self.assertEqual((other.status, other.body), (200, file.body))
            self.assertNotIn("immutable", other.headers["Cache-Control"])
        self.assertEqual(self.site.get("/reference/assets/page.css").status, 404)
        self.assertEqual(page.headers["Referrer-Policy"], "no-referrer")
        self.assertEqual(page.headers["X-Content-Type-Options"], "nosniff")

    def test_no_hsts_header_is_sent_without_tls(self):
        self.assertIsNone(self.site.get("/reference").headers["Strict-Transport-Security"])

    def test_every_location_with_headers_repeats_the_security_headers(self):
        # A location with fields of its own does not inherit those of the server.
        conf = ((ROOT / "deploy/nginx/dossier.conf").read_text()
                + (self.site.folder / "dossier.error_pages").read_text())
        places = [place for place in re.split(r"^ *(?:# )?(?:server|location) ", conf, flags=re.M)
                  if "add_header" in place]
        self.assertGreater(len(places), 3)
        for place in places:
            for name in ["X-Content-Type-Options", "Content-Security-Policy",
                         "Strict-Transport-Security"]:
                self.assertIn(f"add_header {name} ", place)

    def test_every_response_has_one_content_security_policy(self):
        device = self.site.login()
        for method, path, status, headers in [
            ("GET", "/v1/me", 200, {"Authorization": f"Bearer {device['access_token']}"}),
            ("HEAD", "/v1/me", 200, {"Authorization": f"Bearer {device['access_token']}"}),
            ("GET", "/v1/me", 401, {}),
            ("OPTIONS", "/v1/me", 204, {}),
            ("GET", "/v1/pictures/none", 404, {}),
            ("GET", "/nowhere", 404, {}),
            ("GET", "/healthz", 200, {}),
            ("GET", "/api/client/v2.0/app/default/location", 200, {}),
            ("GET", "/api/client/v2.0/nowhere", 404, {}),
            ("GET", "/dossier.js", 200, {}),
            ("TRACE", "/v1/me", 405, {}),
            ("PUT", "/v1/me/metadata", 413, {"Content-Length": str(1 << 24)}),
            ("PUT", "/v1/me/picture", 413, {"Content-Length": str(1 << 24)}),
            ("GET", "/reference", 200, {}),
            ("GET", "/problems/not_found", 200, {}),
            ("GET", "/openapi.json", 200, {}),
        ]:
            with self.subTest(method=method, path=path, status=status):
                client = http.client.HTTPConnection("127.0.0.1", self.site.port, timeout=120)
                client.request(method, path, headers=headers)
                answer = client.getresponse()
                self.assertEqual(answer.status, status)
                self.assertEqual(answer.headers.get_all("X-Content-Type-Options"), ["nosniff"])
                [policy] = answer.headers.get_all("Content-Security-Policy")
                if path in ("/reference", "/problems/not_found", "/openapi.json"):
                    self.assertIn("script-src 'self'", policy)
                else:
                    self.assertEqual(policy, "default-src 'none'; frame-ancestors 'none'")
                client.close()

    def test_an_unknown_transfer_coding_gets_an_error_of_the_api(self):
        for path, member in [("/v1/me", "code"), ("/api/client/v2.0/auth/profile", "error_code")]:
            client = http.client.HTTPConnection("127.0.0.1", self.site.port, timeout=120)
            client.request("GET", path, headers={"Transfer-Encoding": "identity"})
            answer = client.getresponse()
            self.assertEqual(answer.status, 400)
            self.assertIn(json.loads(answer.read())[member], ["request_malformed", "BadRequest"])
            client.close()

    def with_tls(self):
        """Starts another nginx with the example server for TLS. Returns its port."""
        folder = self.site.folder / "tls"
        folder.mkdir()
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-subj", "/CN=localhost", "-keyout", folder / "dossier.key", "-out",
             folder / "dossier.pem"], check=True, capture_output=True)
        port = free_port()
        conf = (self.site.folder / "dossier.conf").read_text()
        # The lines from the head of the file, added below `listen`.
        example = re.search(r"^#   listen 443 (?:.*\n#   )*.*", conf, re.M)[0]
        lines = re.sub(r"^#   ", "  ", example, flags=re.M)
        lines = lines.replace("listen 443", f"listen 127.0.0.1:{port}")
        lines = lines.replace("[::]:443", f"127.0.0.1:{free_port()}")
        lines = lines.replace("/etc/ssl", str(folder))
        # The running nginx uses the original port.
        lines = f"  listen 127.0.0.1:{free_port()};\n{lines}"
        conf, count = re.subn(r"^  listen .*;$", lines, conf, flags=re.M)
        self.assertEqual(count, 1)
        (folder / "dossier.conf").write_text(conf)
        for name in ["dossier.fastcgi_params", "dossier.body_limits", "dossier.error_pages"]:
            shutil.copy(self.site.folder / name, folder)
        main = (self.site.folder / "nginx.conf").read_text()
        for name in ["dossier.conf", "nginx.pid"]:
            main = main.replace(f"{self.site.folder}/{name}", f"{folder}/{name}")
        (folder / "nginx.conf").write_text(main)
        nginx = subprocess.Popen(
            ["/usr/sbin/nginx", "-e", folder / "nginx.log", "-c", folder / "nginx.conf"])
        self.addCleanup(nginx.wait)
        self.addCleanup(nginx.terminate)
        wait_until(lambda: is_listening(port), what="nginx with TLS")
        return port

    def test_every_response_over_tls_has_an_hsts_header(self):
        port = self.with_tls()
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        for method, path, status, headers in [
            ("GET", "/reference", 200, {}),
            ("GET", "/v1/me", 401, {}),
            ("GET", "/nowhere", 404, {}),
            ("TRACE", "/v1/me", 405, {}),
            ("GET", "/" + "x" * 20_000, 414, {}),
            ("GET", "/v1/me", 431, {"X-Long": "x" * 20_000}),
            ("PUT", "/v1/me/metadata", 413, {"Content-Length": str(1 << 24)}),
        ]:
            client = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=120)
            client.request(method, path, headers=headers)
            answer = client.getresponse()
            self.assertEqual(answer.status, status, path[:40])
            told = answer.headers.get_all("Strict-Transport-Security")
            self.assertEqual(told, ["max-age=31536000"], (method, path[:40]))
            client.close()


if __name__ == "__main__":
    unittest.main()
