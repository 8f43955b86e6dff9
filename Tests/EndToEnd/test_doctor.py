"""Tests what the doctor reports about nginx, its certificates and other hosts."""

import json
import os
import subprocess
import unittest

from cases import Administration
from machine import AS_SERVER, BUILD, IS_ROOT, free_port, is_listening, wait_until


class Doctor(Administration):
    def faults(self, *arguments, **settings):
        """Returns the reported faults by subject."""
        run = self.site.dossier("doctor", *arguments, check=False, **settings)
        self.assertIn(run.returncode, (0, 24), run.stderr)
        found = {row["what"]: row["fault"] for row in json.loads(run.stdout)}
        self.assertEqual(run.returncode, 24 if any(found.values()) else 0, found)
        return found

    def nginx_folder(self, name):
        """Creates a folder like /etc/nginx with the configuration of this deployment."""
        folder = self.site.folder / name
        (folder / "conf.d").mkdir(parents=True)
        for file in ["dossier.fastcgi_params", "dossier.body_limits", "dossier.error_pages"]:
            (folder / file).write_text((self.site.folder / file).read_text())
        for file in ["upstream.conf", "dossier.conf"]:
            (folder / "conf.d" / file).write_text((self.site.folder / file).read_text())
        (folder / "nginx.conf").write_text(
            f"pid {folder}/nginx.pid;\nevents {{ }}\n"
            f"http {{ access_log off; include {folder}/conf.d/*.conf; }}\n")
        return folder

    def certificate(self, path, days):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-keyout", f"{path}.key", "-out", path, "-days", str(days),
             "-subj", "/CN=id.example.com"], check=True, capture_output=True)

    @unittest.skipUnless(IS_ROOT, "root alone can run the doctor as another user")
    def test_a_key_of_root_is_no_fault(self):
        """After the guide's chapter on TLS, the doctor's user may not read the key of nginx."""
        folder, port = self.nginx_folder("nginx-key"), free_port()
        pem = folder / "id.pem"
        self.certificate(pem, 365)
        key = folder / "id.pem.key"
        key.chmod(0o600)
        server = (f"server {{ listen 127.0.0.1:{port} ssl; server_name id.example.com;\n"
                  f"ssl_certificate {pem}; ssl_certificate_key {key}; return 204; }}\n")
        (folder / "conf.d/tls.conf").write_text(server)
        served = self.site.folder / "upstream.conf"
        upstream = served.read_text()
        self.addCleanup(served.write_text, upstream)
        served.write_text(upstream + server)
        self.site.reload_nginx()
        wait_until(lambda: is_listening(port), what="TLS")
        run = subprocess.run(
            [*AS_SERVER, BUILD / "dossier", "doctor", "--json", "--nginx", folder],
            capture_output=True, text=True, env=self.site.environment)
        found = {row["what"]: row["fault"] for row in json.loads(run.stdout)}
        self.assertEqual({what: fault for what, fault in found.items() if fault}, {})
        self.assertIn(f"TLS on 127.0.0.1:{port} for id.example.com", found)

    def test_certificates_that_expire_soon_are_reported(self):
        folder, port = self.nginx_folder("nginx-tls"), free_port()
        pem = folder / "id.pem"
        self.certificate(pem, 10)
        server = (f"server {{ listen 127.0.0.1:{port} ssl; server_name id.example.com;\n"
                  f"ssl_certificate {pem}; ssl_certificate_key '{pem}.key'; return 204; }}\n")
        (folder / "conf.d/tls.conf").write_text(server)
        served = self.site.folder / "upstream.conf"
        upstream = served.read_text()
        self.addCleanup(served.write_text, upstream)
        served.write_text(upstream + server)
        file, live = f"certificate {pem}", f"TLS on 127.0.0.1:{port} for id.example.com"
        self.assertIn("Is nginx running?", self.faults("--nginx", folder)[live])
        self.site.reload_nginx()
        wait_until(lambda: is_listening(port), what="TLS")
        found = self.faults("--nginx", folder)
        for what in [file, live]:
            self.assertRegex(found[what], r"it expires within 14 days \(\w+ +\d+ .* GMT\)")
        # A renewed certificate counts when nginx serves it.
        self.certificate(pem, 30)
        found = self.faults("--nginx", folder)
        self.assertIsNone(found[file])
        self.assertIn("reload nginx", found[live])
        self.site.reload_nginx()
        found = self.faults("--nginx", folder)
        self.assertEqual((found[file], found[live]), (None, None))
        pem.write_text("nothing of the kind")
        self.assertIn("not a certificate in PEM", self.faults("--nginx", folder)[file])
        pem.unlink()
        self.assertIn("No such file", self.faults("--nginx", folder)[file])

    @unittest.skipUnless(IS_ROOT, "another name of the host takes a namespace")
    def test_hosts_with_different_settings_are_reported_without_values(self):
        self.assertIsNone(self.faults()["hosts"])
        sockets = self.site.served_folder("other-workers", 0o750)
        settings = {
            "DOSSIER_SOCKET_DIRECTORY": str(sockets), "DOSSIER_WORKERS": "1",
            "DOSSIER_ISSUER": "https://other.example.com", "DOSSIER_MAIL_PASSWORD": "a secret"}
        other = subprocess.Popen(
            ["unshare", "--uts", "sh", "-c", 'hostname other-host; exec "$@"', "sh",
             *self.site.command], env={**self.site.environment, **settings},
            stdout=self.site.log, stderr=self.site.log)
        try:
            wait_until(lambda: self.site.sql("select count(*) from hosts") == "2", what="two hosts")
        finally:
            other.terminate()
            other.wait(120)
        fault = self.faults()["host other-host"]
        self.assertIn("another value of issuer, mail_password than those of " + os.uname().nodename,
                      fault)
        stored = self.site.sql("select string_agg(h::text, ' ') from hosts h")
        for value in ["other.example.com", "a secret", str(self.site.mail)]:
            self.assertNotIn(value, stored)
        # A host that has not served for an hour is not compared.
        self.site.sql("update hosts set seen_at = now() - interval '2 hours' "
                      "where name = 'other-host'")
        self.assertIsNone(self.faults()["hosts"])

    def test_hosts_that_cannot_be_read_are_a_fault(self):
        self.site.sql("alter table hosts rename to away")
        try:
            found = self.faults()
        finally:
            self.site.sql("alter table away rename to hosts")
        self.assertIn("cannot be read", found["hosts"])


if __name__ == "__main__":
    unittest.main()
