"""Tests what the doctor reports about nginx, its certificates and other hosts."""

import json
import os
import subprocess
import unittest

from cases import Administration
from machine import IS_ROOT, free_port, is_listening, wait_until


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

    def test_a_broken_nginx_configuration_is_reported(self):
        folder = self.nginx_folder("nginx-broken")
        self.assertIsNone(self.faults("--nginx", folder)["nginx -t"])
        broken = folder / "conf.d/site.conf"
        for text, words in [("server { listen 8081 }\n", 'unexpected "}"'),
                            ("server { lissten 8081; }\n", 'unknown directive "lissten"'),
                            ("server { listen 8081;\n", "unexpected end of file")]:
            broken.write_text(text)
            fault = self.faults("--nginx", folder)["nginx -t"]
            self.assertIn(words, fault)
            self.assertIn("correct the file", fault)

    def certificate(self, path, days):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-keyout", f"{path}.key", "-out", path, "-days", str(days),
             "-subj", "/CN=id.example.com"], check=True, capture_output=True)

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
            self.assertRegex(found[what], r"it expires on \w+ +\d+ .* GMT, within 14 days")
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


if __name__ == "__main__":
    unittest.main()
