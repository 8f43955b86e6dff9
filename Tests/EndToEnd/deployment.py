"""A PostgreSQL cluster, dossierd and nginx of a test run, all real, in a temporary folder."""

import base64
import contextlib
import email
import email.policy
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from reference import Reference

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("DOSSIER_TEST_BUILD", ROOT / ".build/debug"))
TOOLS = pathlib.Path("/usr/lib/postgresql/15/bin")
IS_ROOT = os.geteuid() == 0
AS_POSTGRES = (
    ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if IS_ROOT else []
)


def functions(script, *arguments, **options):
    """Runs a script that has the functions of deploy/ at hand, on what is tested here."""
    head = f'set -euo pipefail; here={ROOT}; programs={BUILD}; . "$here/deploy/functions"; '
    return subprocess.run(
        ["bash", "-c", head + script, "bash", *map(str, arguments)],
        text=True, stdout=subprocess.PIPE, **options)


# As what deploy/up starts dossierd; no words when that is who runs the tests.
SERVER_USER = functions("server_user", check=True).stdout.strip()
AS_SERVER = functions("as_server", check=True).stdout.split()
JSON = {"Content-Type": "application/json"}
MERGE = {"Content-Type": "application/merge-patch+json"}
PATCH = {"Content-Type": "application/json-patch+json"}
# The header field by which a test chooses its address.
ADDRESS = "X-Test-Address"

def free_port():
    """A port that nobody has, and that the system gives to no connection of the tests beside."""
    while True:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", random.randrange(10_000, 32_000)))
                return probe.getsockname()[1]
            except OSError:
                continue


def wait_until(condition, seconds=120, what="the condition"):
    # The time is a last resort against hanging, not what is tested.
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError(f"{what} did not come true within {seconds} s")


def is_listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def version(self):
        return int(self.headers["ETag"].strip('"'))


class Deployment:
    """Starts on construction; `stop` ends everything it started, by id."""

    # What every answer must be in; the same for all deployments of one build.
    reference = None
    # Seconds that a start may take.
    patience = 10

    def __init__(self, workers=2, settings=(), picture_folder=False, program=None, arguments=(),
                 activated=False, nginx=()):
        """`nginx` are pairs: what stands in the shipped configuration, and what stands there here."""
        self.nginx_changes = nginx
        self.command = [*AS_SERVER, program or BUILD / "dossierd", "run", *arguments]
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dossier-test-", dir="/tmp"))
        self.folder.chmod(0o755)
        self.port = free_port()
        self.log = open(self.folder / "dossierd.log", "ab")
        self.processes = []
        # As systemd would make them.
        self.given = [socket.socket(socket.AF_UNIX) for _ in range(workers if activated else 0)]
        try:
            self.make_cluster()
            self.start_postgres()
            subprocess.run(
                [TOOLS / "createdb", "-h", self.folder, "-U", "owner", "dossier"], check=True)
            subprocess.run(
                [TOOLS / "createuser", "-h", self.folder, "-U", "owner", "server"], check=True)
            subprocess.run(
                [BUILD / "dossier-migrate", "up", "--quiet", "--grant-to", "server",
                 "--migrations", ROOT / "migrations", "--database", self.conninfo("owner")],
                check=True, stdout=subprocess.DEVNULL)
            # Tests come from one address, unless they say from where.
            self.set_app(failures_per_address=1_000_000, anonymous_per_address=1_000_000)
            self.sockets = self.served_folder("workers", 0o750, "www-data")
            self.mail = self.served_folder("mail", 0o700)
            self.pictures = self.served_folder("pictures", 0o755) if picture_folder else None
            if picture_folder:
                settings = [*settings, ("DOSSIER_PICTURE_FOLDER", str(self.pictures))]
            self.environment = {
                **{k: v for k, v in os.environ.items() if not k.startswith("DOSSIER_")},
                "DOSSIER_DATABASE": self.conninfo("server"),
                "DOSSIER_MASTER_KEY": base64.b64encode(os.urandom(32)).decode(),
                "DOSSIER_SOCKET_DIRECTORY": str(self.sockets),
                **({"DOSSIER_SOCKET_GROUP": "www-data"} if IS_ROOT else {}),
                "DOSSIER_WORKERS": str(workers),
                "DOSSIER_MAIL": str(self.mail),
                # What a test changes in an app counts from the next request on.
                "DOSSIER_APP_AGE": "0",
                **dict(settings),
            }
            self.make_given()
            self.start_dossierd()
            self.start_nginx()
            wait_until(lambda: self.get("/readyz").status == 200, self.patience, "readiness")
            if Deployment.reference is None:
                Deployment.reference = Reference(self.get("/openapi.json").json)
        except BaseException:
            self.stop()
            raise

    def served_folder(self, name, mode, group=None):
        """Makes a folder of dossierd's."""
        folder = self.folder / name
        folder.mkdir()
        if IS_ROOT:
            shutil.chown(folder, SERVER_USER, group)
        folder.chmod(mode)
        return folder

    def socket(self, index):
        """Where a worker listens."""
        return self.sockets / f"worker-{index}.sock"

    def conninfo(self, user):
        return f"host={self.folder} user={user} dbname=dossier"

    # PostgreSQL

    def make_cluster(self):
        cluster = self.folder / "postgres"
        cluster.mkdir(mode=0o700)
        if IS_ROOT:
            shutil.chown(cluster, "postgres")
            shutil.chown(self.folder, "postgres")
        subprocess.run(
            [*AS_POSTGRES, TOOLS / "initdb", "-D", cluster, "-U", "owner", "-A", "trust",
             "--locale=C.UTF-8", "-E", "UTF8", "--no-sync"],
            check=True, stdout=subprocess.DEVNULL, cwd="/")

    def start_postgres(self):
        subprocess.run(
            [*AS_POSTGRES, TOOLS / "pg_ctl", "-D", self.folder / "postgres", "-s", "-w",
             "-l", self.folder / "postgres/server.log", "-o",
             f"-k {self.folder} -c listen_addresses='' -c fsync=off -c log_error_verbosity=terse -c max_connections=100",
             "start"],
            check=True, cwd="/", stdout=subprocess.DEVNULL)

    def stop_postgres(self, mode="fast"):
        subprocess.run(
            [*AS_POSTGRES, TOOLS / "pg_ctl", "-D", self.folder / "postgres", "-s", "-w", "-m", mode,
             "stop"], check=True, cwd="/")

    def sql(self, text):
        run = subprocess.run(
            [TOOLS / "psql", "-h", self.folder, "-U", "owner", "-d", "dossier", "-Atqc", text],
            check=True, capture_output=True, text=True)
        return run.stdout.strip()

    @contextlib.contextmanager
    def locked(self, table):
        """While a table is locked, statements that want it wait."""
        psql = subprocess.Popen(
            [TOOLS / "psql", "-h", self.folder, "-U", "owner", "-d", "dossier", "-Atq"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with psql:
            print(f"begin; lock {table}; select 'locked';", file=psql.stdin, flush=True)
            assert psql.stdout.readline() == "locked\n"
            yield
            # The end of the session is that of the lock.
            psql.stdin.close()

    def set_app(self, name="default", **settings):
        self.sql(f"update apps set settings = settings || '{json.dumps(settings)}' "
                 f"where name = '{name}'")

    def add_app(self, name, **settings):
        """Makes an app; what it takes to ask it. Counts at once: workers look for a name they miss."""
        self.sql("insert into apps (app_id, name, settings) values "
                 f"(new_object_id(), '{name}', '{json.dumps(settings)}')")
        return {"Dossier-App": name}

    def mails(self, address):
        """The texts of what was sent to an address, the oldest first."""
        found = []
        for path in sorted(self.mail.glob("*.eml")):
            message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
            if address in message["To"]:
                found.append(message.get_body().get_content())
        return found

    def mailed(self, address, kind, count=1):
        """The newest of `count` tokens of a kind that were mailed to an address."""
        def tokens():
            return re.findall(rf"\b{kind}_[\w-]+", "\n".join(self.mails(address)))

        wait_until(lambda: len(tokens()) >= count, what=f"{count} mails to {address}")
        return tokens()[-1]

    def dossier(self, *arguments, check=True, output="json", timeout=120, **environment):
        """Runs the command line; what it printed, read as JSON unless it failed."""
        arguments = [str(argument) for argument in arguments]
        end = arguments.index("--") if "--" in arguments else len(arguments)
        arguments[end:end] = ["--output", output]
        run = subprocess.run(
            [BUILD / "dossier", *arguments], capture_output=True, text=True,
            env={**self.environment, **environment}, timeout=timeout)
        if not check:
            return run
        assert run.returncode == 0, run.stdout + run.stderr
        return json.loads(run.stdout) if output == "json" else run.stdout

    SCOPES = ["read:users", "update:users", "delete:users", "create:users",
              "read:users_app_metadata", "update:users_app_metadata", "read:logs_users"]

    def client(self, *arguments):
        """Makes a client; its id and key."""
        return self.dossier("client", "create", "test", *arguments)

    # dossierd and nginx

    def make_given(self):
        for index, given in enumerate(self.given):
            given.bind(str(self.socket(index)))
            given.listen(4096)
            if IS_ROOT:
                shutil.chown(self.socket(index), SERVER_USER, "www-data")
            self.socket(index).chmod(0o660)

    def start_dossierd(self):
        takes = []
        if self.given:
            # The first descriptor is 3, and the process is the one that is named.
            moves = " ".join(
                f"{3 + index}<&{given.fileno()}" for index, given in enumerate(self.given))
            takes = ["bash", "-c", f'exec {moves}; exec env LISTEN_PID=$$ '
                     f'LISTEN_FDS={len(self.given)} "$@"', "bash"]
        self.supervisor = subprocess.Popen(
            [*takes, *self.command], env=self.environment, stdout=self.log, stderr=self.log,
            pass_fds=[given.fileno() for given in self.given])
        self.processes.append(self.supervisor)

    def workers(self):
        children = pathlib.Path(f"/proc/{self.supervisor.pid}/task/{self.supervisor.pid}/children")
        return [int(pid) for pid in children.read_text().split()]

    def start_nginx(self):
        upstream = subprocess.run(
            [BUILD / "dossierd", "upstream"], env=self.environment, check=True,
            capture_output=True, text=True).stdout
        (self.folder / "upstream.conf").write_text(upstream)
        for name in ["dossier.fastcgi_params", "dossier.error_pages"]:
            shutil.copy(ROOT / "deploy/nginx" / name, self.folder)
        server = (ROOT / "deploy/nginx/dossier.conf").read_text()
        server = server.replace("/usr/share/dossier/web", str(ROOT / "deploy/web"))
        for before, after in self.nginx_changes:
            assert before in server, before
            server = server.replace(before, after)
        # How long a worker may take is not what is tested, and machines differ.
        server = re.sub(r"fastcgi_read_timeout \d+s", "fastcgi_read_timeout 300s", server)
        (self.folder / "dossier.conf").write_text(
            self.with_pictures(server.replace("127.0.0.1:8080", f"127.0.0.1:{self.port}")))
        (self.folder / "nginx").mkdir()
        paths = "\n".join(
            f"{kind}_temp_path {self.folder}/nginx/{kind};"
            for kind in ["client_body", "fastcgi", "proxy", "scgi", "uwsgi"])
        (self.folder / "nginx.conf").write_text(
            f"daemon off; pid {self.folder}/nginx.pid; worker_processes 2;\n"
            f"{'user www-data;' if IS_ROOT else ''}\n"
            "events { worker_connections 1024; }\n"
            f"http {{ access_log off; {paths}\n"
            # Tests come from where they say.
            f"set_real_ip_from 127.0.0.1; real_ip_header {ADDRESS};\n"
            f"include {self.folder}/upstream.conf; include {self.folder}/dossier.conf; }}\n")
        self.nginx = subprocess.Popen(
            ["/usr/sbin/nginx", "-e", self.folder / "nginx.log", "-c", self.folder / "nginx.conf"])
        self.processes.append(self.nginx)

        def serves():
            if self.nginx.poll() is not None:
                raise AssertionError("nginx: " + (self.folder / "nginx.log").read_text())
            return is_listening(self.port)

        wait_until(serves, what="nginx")

    def with_pictures(self, server):
        """The configuration with the part about the folder of pictures, if there is one."""
        if not self.pictures:
            return server
        before, part = server.split("  # location /v1/pictures/ {")
        part, after = part.split("  # }", 1)
        part = part.replace("  #  ", "    ").replace("/var/lib/dossier/pictures", str(self.pictures))
        return f"{before}  location /v1/pictures/ {{{part}  }}{after}"

    # Requests

    def connection(self, timeout=300):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def request(self, method, path, body=None, headers=None, token=None, connection=None):
        headers = dict(headers or {})
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        client = connection or self.connection()
        try:
            client.request(method, path, body=body, headers=headers)
            response = client.getresponse()
            answer = Answer(response.status, response.headers, response.read())
            fault = self.reference and self.reference.fault(method, path, answer)
            assert not fault, fault
            return answer
        finally:
            if connection is None:
                client.close()

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def login(self, device=None):
        headers = {**JSON, "Dossier-Device": device} if device else JSON
        answer = self.request("POST", "/v1/login/anonymous", {}, headers)
        assert answer.status == 200, answer.body
        return answer.json

    def logged(self):
        """Log lines of requests."""
        return [line for line in self.log_lines() if "route" in line]

    def messages(self):
        """What the log says besides."""
        return [line["message"] for line in self.log_lines() if "message" in line]

    def log_lines(self):
        """All of the log, each line of which is a JSON object."""
        text = (self.folder / "dossierd.log").read_text()
        # The last line may be under way.
        return [json.loads(line) for line in text.split("\n")[:-1]]

    def stop(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(120)
                except subprocess.TimeoutExpired:
                    process.kill()
        if (self.folder / "postgres/postmaster.pid").exists():
            self.stop_postgres("immediate")
        self.log.close()
        for given in self.given:
            given.close()
        shutil.rmtree(self.folder, ignore_errors=True)
