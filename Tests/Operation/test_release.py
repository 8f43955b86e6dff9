"""Makes a release of this checkout, installs its package by apt, and runs its image."""

import base64
import functools
import hashlib
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tarfile
import tempfile
import threading
import unittest

import older
from debian import PROGRAMS, ROOT, Debian
from engine import Engine
from first_minute import FirstMinute, README
from guide import commands
from machine import TOOLS_FOLDER, free_port, wait_until

VERSION = re.search(r'static let text = "(.*)"', (ROOT / "Sources/Configuration/Version.swift").read_text())[1]
IMAGE = f"localhost/dossier:{VERSION}"
PICTURE = "from PIL import Image; import sys; Image.new('RGB', (40, 30), 'red').save(sys.stdout.buffer, 'PNG')"


class Release:
    """A release of this checkout with its changes, made in a copy."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dossier-release-", dir="/var/tmp"))
        self.folder.chmod(0o755)
        self.copy, self.files = self.folder / "copy", self.folder / "files"
        self.url = f"http://127.0.0.1:{free_port()}"
        self.engine = Engine()
        self.environment = {**self.engine.environment, "GNUPGHOME": str(self.folder / "keys")}
        (self.folder / "keys").mkdir(mode=0o700)
        self.run("gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", "release@example.com", cwd=ROOT)
        self.run("git", "-c", f"safe.directory={ROOT}", "clone", "--quiet", "--no-hardlinks", ROOT, self.copy, cwd="/")
        files = older.git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
        for name in filter(None, files):
            if (ROOT / name).exists():
                (self.copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.copy / name)
            else:
                (self.copy / name).unlink()
        shutil.copy(ROOT / "Package.resolved", self.copy)
        self.edit(".github/CHANGELOG.md", rf"(?m)^## {re.escape(VERSION)} - .*$", "## 0.0.0 - 2026-01-01")
        self.edit("deploy/releases", rf"(?m)^{re.escape(VERSION)} .*\n", "")
        self.commit()

    def edit(self, path, pattern, text):
        path = self.copy / path
        path.write_text(re.sub(pattern, text, path.read_text(), count=1))

    def commit(self):
        self.run("git", "add", "--all")
        self.run("git", "-c", "user.name=Test", "-c", "user.email=test@example.com", "commit", "--quiet",
                 "--allow-empty", "-m", "Release")

    def run(self, *command, check=True, cwd=None):
        run = subprocess.run(command, cwd=cwd or self.copy, env=self.environment, text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if check and run.returncode != 0:
            raise AssertionError(f"{command}: {run.returncode}\n{run.stdout[-4000:]}")
        return run.stdout if check else (run.returncode, run.stdout)

    def make(self, check=True):
        return self.run("deploy/release", "--programs", PROGRAMS or ROOT / ".build/release", "--output", self.files,
                        "--key", "release@example.com", "--url", self.url, check=check)

    def file(self, pattern):
        found, = self.files.glob(pattern)
        return found

    def remove(self):
        self.engine.remove()
        shutil.rmtree(self.folder, ignore_errors=True)


def setUpModule():
    global release
    if os.geteuid() != 0:
        raise unittest.SkipTest("debootstrap and chroot are for root")
    release = Release()
    unittest.addModuleCleanup(release.remove)
    # The changelog has no section of this version yet.
    refused["changelog"] = release.make(check=False)
    release.edit(".github/CHANGELOG.md", "(?m)^## Unreleased$", f"## Unreleased\n\n## {VERSION} - 2026-12-01")
    refused["changes"] = release.make(check=False)
    release.commit()
    release.commit_made = release.run("git", "rev-parse", "HEAD").strip()
    release.make()


# The exit codes and errors of deploy/release before the release could be made.
refused = {}


class Files(unittest.TestCase):
    def test_a_release_needs_a_section_of_changes_and_a_clean_checkout_and_is_made_once(self):
        self.assertEqual(refused["changelog"][0], 65)
        self.assertRegex(refused["changelog"][1], rf'CHANGELOG.md has no section "## {VERSION} - ')
        self.assertEqual(refused["changes"], (65, "error: the checkout has changes; commit them first\n"))
        record = release.copy / "deploy/releases"
        self.assertRegex(record.read_text(), rf"(?m)^{VERSION} {release.commit_made} 2026-12-01$")
        release.commit()
        status, said = release.make(check=False)
        self.assertEqual(status, 65)
        self.assertIn(f"deploy/releases has {VERSION} already", said)

    def test_the_upgrade_test_starts_from_the_recorded_commit(self):
        said = release.run("env", "PYTHONPATH=../EndToEnd", "python3", "-B", "-c", "import older; print(older.version())",
                           cwd=release.copy / "Tests/Operation")
        self.assertEqual(said.strip(), release.commit_made)

    def test_the_documentation_is_a_site(self):
        with tarfile.open(release.files / f"dossier-docs_{VERSION}.tar.gz") as archive:
            names = archive.getnames()
            start = archive.extractfile(f"./dossier-docs-{VERSION}/index.html").read().decode()
        self.assertIn(f"<b>Dossier</b> {VERSION}", start)
        self.assertIn(f"./dossier-docs-{VERSION}/reference/users.html", names)

    def test_every_file_is_in_the_signed_list_of_checksums(self):
        lines = (release.files / "SHA256SUMS").read_text().splitlines()
        listed = {name: total for total, name in (line.split("  ") for line in lines)}
        found = {str(path.relative_to(release.files)): hashlib.sha256(path.read_bytes()).hexdigest()
                 for path in release.files.rglob("*") if path.is_file() and not path.name.startswith("SHA256SUMS")}
        self.assertEqual(listed, found)
        release.run("gpg", "--batch", "--verify", release.files / "SHA256SUMS.asc", release.files / "SHA256SUMS")
        self.assertIn(f"dossier-{VERSION}.tgz", listed)
        changes = (release.files / "CHANGES.md").read_text()
        self.assertIn(f"# Dossier {VERSION}, 2026-12-01\n", changes)
        self.assertIn("### Added", changes)

    def test_the_bill_of_materials_names_each_package(self):
        bill = json.loads(release.file("*.cdx.json").read_text())
        checked = release.run(TOOLS_FOLDER / "bin/python", "-c", """if True:
            import pathlib, sys
            from cyclonedx.schema import SchemaVersion
            from cyclonedx.validation.json import JsonStrictValidator
            text = pathlib.Path(sys.argv[1]).read_text()
            print(JsonStrictValidator(SchemaVersion.V1_5).validate_str(text))""", release.file("*.cdx.json"))
        self.assertEqual(checked, "None\n")
        named = {(part["name"], part["version"]) for part in bill["components"]}
        release.engine.load(release.file("dossier-image_*.tar.gz"))
        said = release.engine.ask("run", "--rm", "--entrypoint", "dpkg-query", IMAGE, "-W", "-f", "${Package} ${Version}\\n")
        installed = {tuple(line.split()) for line in said.splitlines() if not line.startswith("dossier ")}
        self.assertGreater(len(installed), 100)
        self.assertLessEqual(installed, named)
        self.assertEqual({name for name, _ in named - installed},
                         {"swift", *(pin["identity"] for pin in json.loads((ROOT / "Package.resolved").read_text())["pins"])})


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


class Archive(unittest.TestCase):
    def setUp(self):
        self.machine = Debian(release.file("dossier_*.deb"))
        self.addCleanup(self.machine.remove)
        (self.machine.root / "root" / release.file("dossier_*.deb").name).unlink()
        self.archive = self.machine.folder / "apt"
        shutil.copytree(release.files / "apt", self.archive)
        handler = functools.partial(Quiet, directory=self.archive)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", int(release.url.rsplit(":")[-1])), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)

    def test_a_bare_debian_installs_from_it_and_refuses_another_repository(self):
        _, script = commands("Make an apt repository")
        script = script.replace("https://apt.example.com", release.url)
        script = script.replace("apt install", "apt-get install -y -q --no-install-recommends")
        self.machine.run(script.replace("apt update", "apt-get update -q"))
        self.assertIn("USAGE: dossierd", self.machine.run("dossierd --help"))
        origin = self.machine.run("apt-cache policy dossier")
        self.assertIn(f"{release.url} stable/main", origin)
        update = "rm -rf /var/lib/apt/lists/*; apt-get update -q -o APT::Update::Error-Mode=any && echo taken"
        self.assertIn("taken", self.machine.run(update))
        # An attacker changes the list of packages, and then the signed file.
        lists = self.archive / "dists/stable"
        # apt takes the detached signature if the other is wrong.
        (lists / "Release.gpg").unlink()
        for name in ["main/binary-*/Packages.gz", "InRelease"]:
            changed, = lists.glob(name)
            before = changed.read_bytes()
            changed.write_bytes(before[:200] + bytes([before[200] ^ 1]) + before[201:])
            said = self.machine.run(update, check=False)
            changed.write_bytes(before)
            self.assertNotIn("taken", said)


class Image(FirstMinute, unittest.TestCase):
    """The role `all`, started as README says."""

    @classmethod
    def setUpClass(cls):
        cls.engine = release.engine
        cls.folder = tempfile.mkdtemp(prefix="dossier-image-", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.port = free_port()
        script, = commands("Run the image", README)
        load, cls.command = script.strip().split("\n")
        subprocess.run(["bash", "-ec", load], cwd=release.files, env=cls.engine.environment, check=True,
                       stdout=subprocess.DEVNULL)
        cls.log = os.path.join(cls.folder, "log")
        cls.addClassCleanup(lambda: cls.server.wait(60))
        cls.addClassCleanup(lambda: cls.engine.ask("rm", "--force", "--time", "0", "--ignore", "dossier"))
        cls.start()

    @classmethod
    def start(cls):
        """Runs the container with another port, without removing it at its end."""
        command = cls.command.replace("127.0.0.1:8080:8080", f"127.0.0.1:{cls.port}:8080 "
                                      f"-e DOSSIER_ISSUER=http://127.0.0.1:{cls.port}").replace(" --rm", "")
        with open(cls.log, "ab") as log:
            cls.server = subprocess.Popen(["bash", "-c", f"exec {command}"], cwd=cls.folder, stdout=log, stderr=log,
                                          env=cls.engine.environment)
        wait_until(lambda: cls.server.poll() is not None or cls.engine.is_healthy("dossier") and "ready:" in cls.said(),
                   120, "the container")
        if cls.server.poll() is not None:
            raise AssertionError(cls.said())

    @classmethod
    def said(cls):
        with open(cls.log) as log:
            return log.read()

    def test_mails_and_requests_are_in_its_output(self):
        self.run_script("curl -s -X POST http://localhost:8080/v1/register -H 'Content-Type: application/json' "
                        "-d '{\"email\":\"mail@example.com\",\"password\":\"correct horse battery\"}'")
        wait_until(lambda: "To: mail@example.com" in self.said(), what="the mail: " + self.said()[-2000:])
        self.assertIn('"route":"POST /v1/register"', self.said())

    def test_the_command_line_has_the_settings_of_the_server(self):
        self.run_script("curl -s -X POST http://localhost:8080/v1/register -H 'Content-Type: application/json' "
                        "-d '{\"email\":\"shown@example.com\",\"password\":\"correct horse battery\"}'")
        guide = (ROOT / "deploy/image/README.md").read_text()
        script, = commands("Use the command line", guide)
        said = subprocess.run(["bash", "-ec", script.replace("ada@example.com", "shown@example.com")], check=True,
                              env=self.engine.environment, capture_output=True, text=True).stdout
        self.assertIn("shown@example.com", said)
        self.assertRegex(said, rf"(?m)^issuer = http://127.0.0.1:{self.port} ")

    def test_no_process_is_root_and_none_may_become_it(self):
        users = set(self.engine.ask("top", "dossier", "huser").split("\n")[1:]) - {""}
        self.assertEqual(users, {"10001"})
        found = self.engine.ask("exec", "dossier", "find", "/usr", "-perm", "/6000", "-type", "f")
        self.assertEqual(found, "")

    def test_its_data_outlives_a_stop_a_kill_and_the_end_of_a_server(self):
        self.run_script("curl -sf -X POST http://localhost:8080/v1/register -H 'Content-Type: application/json' "
                        "-d '{\"email\":\"kept@example.com\",\"password\":\"correct horse battery\"}'")
        key = self.engine.ask("exec", "dossier", "cat", "/var/lib/dossier/master-key")
        for end in [["stop", "--time", "60", "dossier"], ["kill", "--signal", "KILL", "dossier"],
                    ["exec", "dossier", "bash", "-c", "kill $(cat /var/lib/dossier/nginx.pid)"]]:
            self.engine.ask(*end)
            self.server.wait(90)
            self.engine.ask("rm", "dossier")
            type(self).start()
            self.run_script("curl -sf -X POST http://localhost:8080/v1/login/password -H 'Content-Type: application/json' "
                            "-d '{\"email\":\"kept@example.com\",\"password\":\"correct horse battery\"}'")
        self.assertEqual(self.engine.ask("exec", "dossier", "cat", "/var/lib/dossier/master-key"), key)
        self.assertIn("stopping PostgreSQL", self.said())
        # Two servers on one cluster would destroy it.
        said = self.engine.ask("run", "--rm", "-v", "dossier:/var/lib/dossier", IMAGE, check=False)
        self.assertIn("another container uses this volume", said)


class Content(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.engine = release.engine
        cls.engine.load(release.file("dossier-image_*.tar.gz"))

    def test_the_image_says_what_it_is(self):
        image, = json.loads(self.engine.ask("image", "inspect", IMAGE))
        self.assertEqual(image["User"], "10001:10001")
        self.assertEqual(image["Config"]["Volumes"], {"/var/lib/dossier": {}})
        self.assertEqual(image["Labels"]["org.opencontainers.image.revision"], release.commit_made)
        self.assertTrue(image["Labels"]["org.opencontainers.image.version"].startswith(f"{VERSION}+"))
        self.assertEqual(image["Healthcheck"]["Test"][0], "CMD")
        for path in ["deploy/image/compose.yaml", "deploy/image/README.md", "deploy/kubernetes/kustomization.yaml",
                     "README.md"]:
            self.assertIn(VERSION, (ROOT / path).read_text())

    def test_the_image_has_no_key(self):
        name = self.engine.ask("create", IMAGE).strip()
        self.addCleanup(self.engine.ask, "rm", name)
        archive = release.folder / "root.tar"
        self.engine.ask("export", "-o", archive, name)
        self.addCleanup(archive.unlink)
        with tarfile.open(archive) as files:
            for member in files:
                self.assertNotIn("master-key", member.name)
                self.assertFalse(member.name.startswith("etc/ssl/private/"), member.name)
                if member.isfile() and member.name.startswith(("etc/", "root/", "home/", "var/", "usr/share/dossier/")):
                    self.assertNotRegex(files.extractfile(member).read(), rb"(?m)^-----BEGIN [A-Z ]*PRIVATE KEY-----$", member.name)

    def test_the_same_package_gives_the_same_image(self):
        tree, again = release.folder / "tree", release.folder / "again"
        release.run("git", "worktree", "add", "--quiet", "--detach", tree, release.commit_made)
        release.run(tree / "deploy/container", "--output", again, "--package", release.file("dossier_*.deb"))
        first, second = ([hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.glob("dossier-image_*"))]
                         for folder in (release.files, again))
        self.assertEqual(first, second)
        self.assertEqual(len(first), 2)

    def test_the_manifests_of_kubernetes_and_compose_are_valid(self):
        folder = ROOT / "deploy/kubernetes"
        text = (folder / "kustomization.yaml").read_text()
        resources = re.search(r"(?m)^resources: \[(.*)\]$", text)[1].split(", ")
        self.assertEqual({path.name for path in folder.glob("*.yaml")}, {"kustomization.yaml", *resources})
        release.run(TOOLS_FOLDER / "bin/kubernetes-validate", "--strict", "--quiet", *(folder / name for name in resources))
        generated = set(re.findall(r"(?m)^  - name: (dossier\S*)$", text))
        used = {name for resource in resources for name in re.findall(
            r"(?:configMapRef|secretRef): \{name: (\S+)\}", (folder / resource).read_text())}
        self.assertLessEqual(used, generated)
        self.assertEqual(len(used), 3)
        run = subprocess.run(["docker-compose", "-f", ROOT / "deploy/image/compose.yaml", "config"], check=True, text=True,
                             capture_output=True, env={**os.environ, "OWNER_PASSWORD": "a", "SERVER_PASSWORD": "b",
                                                       "DOSSIER_ISSUER": "https://id.example.com"})
        self.assertIn("condition: service_completed_successfully", run.stdout)


class Roles(unittest.TestCase):
    """The roles of a deployment with a PostgreSQL of its own, with the commands of the guide."""

    def setUp(self):
        self.engine = release.engine
        self.engine.load(release.file("dossier-image_*.tar.gz"))
        self.addCleanup(self.engine.ask, "rm", "--force", "--time", "0", "--ignore", "database", "server")
        # PostgreSQL with the script of compose.yaml.
        self.engine.ask(
            "run", "-d", "--name", "database", "--entrypoint", "bash", "-e", "SERVER_PASSWORD=of server",
            "-v", f"{ROOT}/deploy/image/server-role.sh:/server-role.sh:ro", IMAGE, "-ec",
            "PATH=$PATH:/usr/lib/postgresql/15/bin; cd /tmp; initdb -D data -U dossier-owner --pwfile=<(echo 'of owner') "
            "-A scram-sha-256 >log; export PGHOST=/tmp PGUSER=dossier-owner PGPASSWORD='of owner'; "
            "pg_ctl -D data -w -s -l log -o '-k /tmp' start; createdb dossier; PGDATABASE=dossier sh /server-role.sh; "
            "pg_ctl -D data -w -s stop; echo 'host all all all scram-sha-256' >>data/pg_hba.conf; "
            "exec postgres -D data -k /tmp -c listen_addresses='*'")
        address = self.engine.ask("inspect", "-f", "{{.NetworkSettings.IPAddress}}", "database").strip()
        self.strings = [f"host={address} dbname=dossier user={user} password='of {name}'"
                        for user, name in [("dossier", "server"), ("dossier-owner", "owner")]]
        wait_until(lambda: "1" in self.engine.ask(
            "exec", "database", "psql", self.strings[0], "-Atc", "select 1", check=False).split(), what="PostgreSQL")

    def run_as_guide(self, script, **changes):
        environment = {**self.engine.environment, "D": self.strings[0], "O": self.strings[1]}
        for before, after in changes.items():
            script = script.replace(before, after)
        return subprocess.run(["bash", "-ec", script], env=environment, check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout

    def test_migrate_and_server_run_on_another_postgres_with_a_read_only_root(self):
        said = self.engine.start("run", "--rm", IMAGE, "server")
        self.assertIn("needs DOSSIER_DATABASE", said.communicate(timeout=60)[0])
        self.assertEqual(said.returncode, 78)
        said = self.engine.start("run", "--rm", IMAGE, "nothing")
        self.assertIn("there is no role nothing", said.communicate(timeout=60)[0])
        self.assertEqual(said.returncode, 64)
        script, = commands("Run the roles apart", (ROOT / "deploy/image/README.md").read_text())
        migrate, server = script.strip().split("\n")
        self.assertIn("at version", self.run_as_guide(migrate))
        port = free_port()
        # Kubernetes gives the group of a volume to what is made in it.
        temporary = release.folder / "temporary"
        temporary.mkdir()
        temporary.chmod(0o3777)
        # As Kubernetes passes secrets.
        secrets = release.folder / "secrets"
        secrets.mkdir()
        (secrets / "database").write_text(self.strings[0] + "\n")
        (secrets / "master_key").write_bytes(base64.b64encode(os.urandom(32)))
        self.run_as_guide(server, **{
            ' -e "DOSSIER_DATABASE=$D"': f" -v {secrets}:/run/secrets:ro -e CREDENTIALS_DIRECTORY=/run/secrets",
            "127.0.0.1:8080:": f"127.0.0.1:{port}:", " --read-only ": f" --read-only -v {temporary}:/tmp ",
            " -e DOSSIER_ISSUER": " -e NGINX_PROXIES=10.0.0.0/8 -e DOSSIER_INTERNAL_NETWORKS=10.0.0.0/8 -e DOSSIER_WORKERS=1 -e DOSSIER_ISSUER"})
        running = ["inspect", "-f", "{{.State.Running}}", "server"]
        wait_until(lambda: self.engine.is_healthy("server") or "false" in self.engine.ask(*running), 60, "the server")
        self.assertTrue(self.engine.is_healthy("server"), self.engine.ask("logs", "server"))
        base = f"http://127.0.0.1:{port}"

        def curl(*arguments, **more):
            return subprocess.run(["curl", "-s", *arguments], check=True, capture_output=True, **more).stdout.decode()

        found = json.loads(curl(f"{base}/.well-known/openid-configuration"))
        self.assertEqual(found["authorization_endpoint"], "https://id.example.com/authorize")
        grant = json.loads(curl("-X", "POST", f"{base}/v1/register", "-H", "Content-Type: application/json",
                                "-H", "X-Forwarded-For: 203.0.113.9", "-d",
                                '{"email":"ada@example.com","password":"correct horse battery"}'))
        bearer = f"Authorization: Bearer {grant['access_token']}"
        self.assertIn("203.0.113.", curl(f"{base}/v1/me/sessions", "-H", bearer))
        # A picture needs the confinement of its decoder.
        picture = subprocess.run(["/usr/bin/python3", "-c", PICTURE], check=True, capture_output=True).stdout
        self.assertEqual(curl("-o", "/dev/null", "-w", "%{http_code}", "-X", "PUT", f"{base}/v1/me/picture", "--data-binary",
                              "@-", "-H", "Content-Type: image/png", "-H", bearer, input=picture), "200")
        # The address of this machine, in a network that may read it.
        self.assertIn("dossier_info", curl(f"{base}/metrics"))
        self.assertIn("default", self.engine.ask("exec", "server", "dossier", "app", "list"))
        self.assertIn("(/run/secrets/master_key)", self.engine.ask("exec", "server", "dossierd", "config"))
        self.engine.ask("stop", "server")
        self.assertEqual(self.engine.ask("inspect", "-f", "{{.State.ExitCode}}", "server").strip(), str(128 + signal.SIGTERM))
        self.assertNotIn("of server", self.engine.ask("logs", "server"))


if __name__ == "__main__":
    unittest.main()
