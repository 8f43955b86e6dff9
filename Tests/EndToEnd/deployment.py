"""A PostgreSQL cluster, dossierd and nginx of a test run, all real, in a temporary folder."""

import base64
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess

from asking import ADDRESS, Asking
from cluster import CITUS, Cluster, template
from inbox import Inbox
from machine import (
    AS_SERVER, BUILD, FOREIGN, IS_ROOT, ROOT, SERVER_USER, free_port, is_listening,
    new_folder, wait_until)
from poolers import POOLER, PgBouncer
from reference import Reference


# For tests of outages: a write that waits for a lock is refused as soon as by default.
IMPATIENT = {"DOSSIER_LOCK_SECONDS": "1"}.items()


class Deployment(Cluster, Asking):
    """Starts on construction; `stop` ends everything it started, by id."""

    # Seconds that a start may take.
    patience = 120
    # Those of one process of nginx.
    nginx_connections = 1024

    def __init__(self, workers=2, settings=(), picture_folder=False, program=None, arguments=(),
                 activated=False, nginx=(), tls=False, schema=None, nginx_processes=2,
                 citus=CITUS in os.environ, pooler=os.environ.get(POOLER), pooled_sessions=40):
        """`nginx` has pairs: a text of the shipped configuration and its replacement here.

        Each of the `nginx_processes` sends its requests to the workers in turn.
        `schema` names the `dossier-migrate` and the migrations of another version. `citus` says whether
        the database is distributed; that of another version is not. `pooler` is the kind of pooler in the
        settings of dossierd.
        """
        self.pooler = None
        self.tls = tls
        self.schema = schema
        self.citus = citus and not schema
        self.nginx_changes = nginx
        self.nginx_processes = nginx_processes
        self.command = [*AS_SERVER, program or BUILD / "dossierd", "run", *arguments]
        self.folder = new_folder()
        self.port = free_port()
        self.log = open(self.folder / "dossierd.log", "ab")
        self.processes = []
        # Like the sockets of systemd.
        self.given = [socket.socket(socket.AF_UNIX) for _ in range(workers if activated else 0)]
        try:
            self.make_cluster()
            self.start_postgres()
            if tls:
                for role in ["owner", "server"]:
                    self.sql(f"alter role {role} password '{self.PASSWORD}'")
            if pooler:
                self.pooler = PgBouncer(self, pooled_sessions)
                limit = dict(settings).get("DOSSIER_LOCK_SECONDS", "600")
                self.pooler.set_role(lock_timeout=f"{limit}s", statement_timeout=f"{int(limit) + 9}s")
                self.pooler.start()
            self.sockets = self.served_folder("workers", 0o750, "www-data")
            self.mail = self.served_folder("mail", 0o700)
            self.inbox = Inbox(self.mail)
            self.pictures = self.served_folder("pictures", 0o755) if picture_folder else None
            if picture_folder:
                settings = [*settings, ("DOSSIER_PICTURE_FOLDER", str(self.pictures))]
            self.environment = {
                **FOREIGN,
                # The person on the command line, in the audit log.
                "DOSSIER_AS": "tester",
                "DOSSIER_DATABASE": self.conninfo("server"),
                **({"DOSSIER_DATABASE": self.pooler.conninfo, "DOSSIER_POOLER": pooler} if pooler else {}),
                "DOSSIER_MASTER_KEY": base64.b64encode(os.urandom(32)).decode(),
                "DOSSIER_SOCKET_DIRECTORY": str(self.sockets),
                **({"DOSSIER_SOCKET_GROUP": "www-data"} if IS_ROOT else {}),
                "DOSSIER_WORKERS": str(workers),
                "DOSSIER_MAIL": str(self.mail),
                # The host of the requests.
                "DOSSIER_ISSUER": "http://127.0.0.1:8080",
                # The workers read an app for every request, so a test's change takes effect at once.
                "DOSSIER_APP_CACHE_TTL_MS": "0",
                # Longer than any test, so no request is refused because the machine is busy.
                "DOSSIER_LOCK_SECONDS": "600",
                "DOSSIER_THREAD_SECONDS": "600",
                # A setting may name the port, which is known only here.
                **{name: value.replace("{port}", str(self.port)) for name, value in settings},
            }
            self.make_given()
            self.start_dossierd()
            self.start_nginx()
            self.wait_until_ready()
            if Asking.reference is None:
                Asking.reference = Reference(self.openapi())
        except BaseException:
            self.stop()
            raise

    def openapi(self):
        """Returns the OpenAPI document. Only the first class of a run has a worker render it."""
        stored = template(CITUS in os.environ) / "openapi.json"
        if not stored.exists():
            part = stored.with_suffix(f".{os.getpid()}")
            part.write_bytes(self.get("/openapi.json").body)
            part.rename(stored)
        return json.loads(stored.read_bytes())

    def served_folder(self, name, mode, group=None):
        """Creates a folder that belongs to the user of dossierd."""
        folder = self.folder / name
        folder.mkdir()
        if IS_ROOT:
            shutil.chown(folder, SERVER_USER, group)
        folder.chmod(mode)
        return folder

    def socket(self, index):
        """Returns the socket of a worker."""
        return self.sockets / f"worker-{index}.sock"

    def mail_messages(self, address):
        """Returns the parsed mails to an address, the oldest first."""
        return [mail.message for mail in self.inbox.mails(address)]

    def mails(self, address):
        """Returns the text parts of the mails to an address, the oldest first."""
        return [mail.text for mail in self.inbox.mails(address)]

    def tokens(self, address, kind):
        """Returns the tokens of a kind mailed to an address, the oldest first."""
        return re.findall(rf"\b{kind}_[\w-]+", "\n".join(self.mails(address)))

    def mailed(self, address, kind, count=1):
        """Waits for `count` tokens of a kind mailed to an address. Returns the newest."""
        wait_until(lambda: len(self.tokens(address, kind)) >= count,
                   what=f"{count} mails to {address}")
        return self.tokens(address, kind)[-1]

    def dossier(self, *arguments, check=True, output="json", timeout=120, given="",
                **environment):
        """Runs the command line. Returns its output, as JSON unless it failed or printed nothing."""
        arguments = [str(argument) for argument in arguments]
        end = arguments.index("--") if "--" in arguments else len(arguments)
        if output == "json":
            arguments[end:end] = ["--json"]
        run = subprocess.run(
            [BUILD / "dossier", *arguments], capture_output=True, text=True,
            env={**self.environment, **environment}, timeout=timeout, input=given)
        if not check:
            return run
        assert run.returncode == 0, run.stdout + run.stderr
        return json.loads(run.stdout) if output == "json" and run.stdout else run.stdout

    def add_tokens(self, email, count):
        """Adds tokens of mails to a user, which are a little newer than the last one."""
        self.sql("insert into mail_tokens (user_id, purpose, token_hash, email, expires_at, verifies) "
                 "select t.user_id, t.purpose, sha256(g::text::bytea), t.email, "
                 "t.expires_at + g * interval '1 microsecond', t.verifies from mail_tokens t "
                 f"join users u using (user_id), generate_series(1, {count}) g "
                 f"where u.email = '{email}'")

    SCOPES = ["read:users", "update:users", "delete:users", "create:users",
              "read:users_app_metadata", "update:users_app_metadata", "read:logs_users",
              "read:events", "read:revocations"]

    def client(self, *arguments):
        """Creates a client of kind machine. Returns its id and secret."""
        return self.dossier("client", "create", "test", "kind=machine", *arguments)

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

    def printed(self, command):
        """Returns a file for nginx that dossierd prints."""
        return subprocess.run(
            [BUILD / "dossierd", command], env=self.environment, check=True, capture_output=True,
            text=True).stdout

    def start_nginx(self):
        (self.folder / "upstream.conf").write_text(self.printed("upstream"))
        # The time of a worker is not tested, since machines differ.
        def patient(text):
            return re.sub(r"fastcgi_read_timeout \d+s", "fastcgi_read_timeout 300s", text)

        for name in ["dossier.fastcgi_params", "dossier.body_limits"]:
            (self.folder / name).write_text(patient((ROOT / "deploy/nginx" / name).read_text()))
        (self.folder / "dossier.error_pages").write_text(self.printed("error-pages"))
        server = (ROOT / "deploy/nginx/dossier.conf").read_text()
        server = server.replace("/usr/share/dossier/web", str(ROOT / "deploy/web"))
        server = server.replace("/run/dossier/streams.sock", str(self.sockets / "streams.sock"))
        for before, after in self.nginx_changes:
            assert before in server, before
            server = server.replace(before, after)
        (self.folder / "dossier.conf").write_text(
            self.with_pictures(patient(server).replace("127.0.0.1:8080", f"127.0.0.1:{self.port}")))
        (self.folder / "nginx").mkdir()
        paths = "\n".join(
            f"{kind}_temp_path {self.folder}/nginx/{kind};"
            for kind in ["client_body", "fastcgi", "proxy", "scgi", "uwsgi"])
        (self.folder / "nginx.conf").write_text(
            f"daemon off; pid {self.folder}/nginx.pid; worker_processes {self.nginx_processes};\n"
            f"{'user www-data;' if IS_ROOT else ''}\n"
            f"events {{ worker_connections {self.nginx_connections}; }}\n"
            f"http {{ access_log off; {paths}\n"
            # The header field of a request sets its address.
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

    def reload_nginx(self):
        """Reloads nginx, and waits until no process uses the old files."""
        children = pathlib.Path(f"/proc/{self.nginx.pid}/task/{self.nginx.pid}/children")
        before = set(children.read_text().split())
        self.nginx.send_signal(signal.SIGHUP)
        wait_until(lambda: not before & set(children.read_text().split()), what="nginx")

    def with_pictures(self, server):
        """Returns the configuration with the picture folder, if the deployment has one."""
        if not self.pictures:
            return server
        before, part = server.split("  # location /v1/pictures/ {")
        part, after = part.split("  # }", 1)
        part = part.replace("  #  ", "    ").replace("/var/lib/dossier/pictures", str(self.pictures))
        return f"{before}  location /v1/pictures/ {{{part}  }}{after}"

    def metric(self, name):
        """Returns the value of a metric, summed over the workers."""
        text = self.get("/metrics").body.decode()
        return int(re.search(rf"^{re.escape(name)} (\d+)$", text, re.M)[1])

    @contextlib.contextmanager
    def without_postgres(self):
        """Stops PostgreSQL. At the end, starts it and waits until each worker has reconnected."""
        self.stop_postgres()
        wait_until(lambda: self.metric("dossier_database_up") == 0, what="every worker cut off")
        try:
            yield
        finally:
            self.start_postgres()
            self.wait_until_ready()

    def wait_until_ready(self):
        """Waits until each worker is ready; nginx uses them in turn."""
        wait_until(lambda: all(self.get("/readyz").status == 200 for _ in range(8))
                   and self.metric("dossier_database_up") == len(self.workers()),
                   self.patience, "readiness")

    def logged(self):
        """Returns the log lines of requests."""
        return [line for line in self.log_lines() if "route" in line]

    def messages(self):
        """Returns the messages of log lines that are not about a request."""
        return [line["message"] for line in self.log_lines() if "message" in line]

    def faults(self):
        """Returns the log lines of requests that got an internal error."""
        return [line for line in self.logged() if line["status"] == 500]

    def log_lines(self):
        """Returns the whole log, in which each line is a JSON object."""
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
        if self.pooler:
            self.pooler.stop()
        for data, _ in self.nodes():
            if (data / "postmaster.pid").exists():
                self.stop_node(data, "immediate")
        self.log.close()
        for given in self.given:
            given.close()
        shutil.rmtree(self.folder, ignore_errors=True)
