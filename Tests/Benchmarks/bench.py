"""Measures a deployment with many users: requests by wrk, statements by pgbench."""

import base64
import concurrent.futures
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
os.environ.setdefault("DOSSIER_TEST_BUILD", str(HERE.parents[1] / ".build/release"))
sys.path.insert(0, str(HERE.parent / "EndToEnd"))
from deployment import Deployment  # noqa: E402
from load import load  # noqa: E402
from machine import ROOT, TOOLS, free_port, is_listening, wait_until  # noqa: E402

YARDSTICKS = ROOT / ".build/benchmarks"


def claims(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def children(pid):
    return [int(child) for child in
            pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def processor_time(pids):
    """Returns the processor time in microseconds of those of these processes that still run."""
    ticks = 0
    for pid in pids:
        try:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks * 1_000_000 / os.sysconf("SC_CLK_TCK")


class Bench:
    def __init__(self, users, seconds, sessions=1_000):
        self.seconds = seconds
        self.site = Deployment(
            settings={"DOSSIER_LOG": "errors", "DOSSIER_APP_CACHE_TTL_MS": "5000",
                      "DOSSIER_ISSUER_NETWORK": "any"}.items())
        load(self.site, users)
        tokens = [self.site.login()["access_token"] for _ in range(sessions)]
        self.ids = [(claims(token)["sub"], claims(token)["sid"]) for token in tokens]
        self.site.sql("insert into documents (user_id, kind, body, version) values " + ",".join(
            f"('{user}', 'metadata', '{{\"theme\": \"dark\"}}', 1)" for user, _ in self.ids))
        self.tokens = self.file("tokens", tokens)
        self.bare = self.file("bare", [f"{user}.{session}" for user, session in self.ids])
        self.site.sql("create table bench_sessions (n int primary key, user_id text, session_id text)")
        rows = ",".join(f"({n}, '{u}', '{s}')" for n, (u, s) in enumerate(self.ids))
        self.site.sql(f"insert into bench_sessions values {rows}")
        self.processes = []
        # The program and the nginx of a port.
        self.served = {self.site.port: (self.site.workers, self.site.nginx.pid)}

    def file(self, name, lines):
        """Writes a file for a client, and returns its path."""
        path = self.site.folder / name
        path.write_text("\n".join(lines))
        return path

    def processor(self, port):
        """The processor time so far of each kind of process that answers on a port."""
        programs, nginx = self.served[port]
        postmaster = int((self.site.folder / "postgres/postmaster.pid").read_text().split()[0])
        return {"program": processor_time(programs()), "nginx": processor_time(children(nginx)),
                "postgres": processor_time(children(postmaster))}

    def stop(self):
        for process in self.processes:
            # SIGTERM, since the workers of a killed nginx would outlive it.
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        self.site.stop()

    def wrk(self, port, tokens, method="GET", path="/v1/me", clients=64, pause=0, body=None,
            paths=None):
        kind = "application/json" if body else "application/merge-patch+json"
        return self.run_wrk(port, "tokens.lua", clients, {
            "TOKENS": str(tokens), "METHOD": method, "TARGET": path, "PAUSE": str(pause),
            "KIND": kind, **({"BODY": body} if body else {}),
            **({"TARGETS": str(paths)} if paths else {})})

    def requests(self, path, bodies, mode="each", clients=64, **environment):
        return self.run_wrk(self.site.port, "requests.lua", clients, {
            "BODIES": str(bodies), "TARGET": path, "MODE": mode, **environment})

    def run_wrk(self, port, script, clients, environment):
        before = self.processor(port)
        run = subprocess.run(
            ["wrk", "-t2", f"-c{clients}", f"-d{self.seconds}s", "-s", HERE / script,
             f"http://127.0.0.1:{port}"],
            env={**os.environ, "SHARED": str(HERE / "shared.lua"), **environment},
            capture_output=True, text=True, check=True)
        result = json.loads(run.stdout.split("RESULT ")[1])
        assert result["errors"] == 0, run.stdout
        requests = result["rate"] * self.seconds
        after = self.processor(port)
        result["processor_us"] = {kind: (after[kind] - before[kind]) / requests for kind in after}
        return result

    def index(self):
        """Indexes two paths: one that few users share, and one that all users share."""
        for path, kind in [("metadata.group", "number"), ("metadata.theme", "text")]:
            self.site.dossier("index", "create", path, f"kind={kind}", timeout=1_800)
        self.key = self.file("key", [self.site.client("--operator")["secret"]])

    def search(self, filter, clients):
        path = "/v1/users?" + urllib.parse.urlencode({"filter": filter})
        return self.wrk(self.site.port, self.key, path=path, clients=clients)

    def paced(self):
        """GET /v1/me on 16 connections that pause for 10 ms after each response."""
        return self.wrk(self.site.port, self.tokens, clients=16, pause=10)

    def paced_while_searched(self, filter, clients):
        """The same during searches, one after another on each connection."""
        with concurrent.futures.ThreadPoolExecutor() as pool:
            search = pool.submit(self.search, filter, clients)
            result = self.paced()
            search.result()
        return result

    def yardstick(self, name, sockets, keep, wrapper=(), environment=()):
        """Starts a C program with its own sockets and nginx, and returns the port."""
        folder = self.site.folder / name
        folder.mkdir()
        paths, programs = [], []
        for index in range(sockets):
            path = folder / f"{index}.sock"
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(str(path))
            path.chmod(0o666)
            listener.listen(1024)
            variables = {**os.environ, "YARDSTICK_DATABASE": self.site.conninfo("server"),
                         **dict(environment)}
            programs.append(subprocess.Popen(
                [*wrapper, YARDSTICKS / name], stdin=listener, env=variables))
            paths.append(path)
        port = free_port()
        servers = "".join(f"server unix:{path};" for path in paths)
        if keep:
            servers += "keepalive 64; keepalive_requests 100000;"
        original = (self.site.folder / "nginx.conf").read_text()
        conf = (self.site.folder / "dossier.conf").read_text()
        conf = conf.replace(f"127.0.0.1:{self.site.port}", f"127.0.0.1:{port}")
        if not keep:
            conf = conf.replace("fastcgi_keep_conn on", "fastcgi_keep_conn off")
        (folder / "upstream.conf").write_text(
            f"upstream dossier_workers {{ {servers} }}\n"
            "map $upstream_addr $dossier_another { default dossier_workers; }\n")
        (folder / "dossier.conf").write_text(conf)
        for name in ["dossier.fastcgi_params", "dossier.body_limits", "dossier.error_pages"]:
            (folder / name).write_text((self.site.folder / name).read_text())
        (folder / "nginx.conf").write_text(
            original.replace(f"{self.site.folder}/upstream", f"{folder}/upstream")
            .replace(f"{self.site.folder}/dossier.conf", f"{folder}/dossier.conf")
            .replace(f"{self.site.folder}/nginx.pid", f"{folder}/nginx.pid"))
        nginx = subprocess.Popen(
            ["/usr/sbin/nginx", "-e", folder / "nginx.log", "-c", folder / "nginx.conf"])
        self.processes += [*programs, nginx]
        self.served[port] = (lambda: [program.pid for program in programs], nginx.pid)
        wait_until(lambda: is_listening(port), what="nginx")
        return port

    def pgbench_script(self):
        """The statement of a metadata PATCH, without the product."""
        def text(path, start):
            source = (ROOT / "Sources" / path).read_text()
            return re.search(re.escape(start) + r'\s*"""(.*?)"""', source, re.S).group(1)

        rule = text("Runtime/Principal.swift", "static let isAuthorized: SQL =")
        sql = text("Documents/Documents.swift", '"documents.update",').replace(
            r"\(.isAuthorized)", rule)
        user, session = [
            f"(select {column} from bench_sessions where n = :n)"
            for column in ("user_id", "session_id")]
        values = [user, session, "'metadata'", "'{\"counter\":1}'", "true", "null", "false"]
        for number, value in reversed(list(enumerate(values, 1))):
            sql = sql.replace(f"${number}", value)
        script = self.site.folder / "patch.sql"
        script.write_text(f"\\set n random(0, {len(self.ids) - 1})\n{' '.join(sql.split())};\n")
        return script

    def pgbench(self, script):
        run = subprocess.run(
            [TOOLS / "pgbench", "-n", "-M", "prepared", "-c", "8", "-j", "2", "-T",
             str(self.seconds), "-D", f"sessions={len(self.ids)}", "-f", script, "-h", self.site.folder, "-U", "owner", "dossier"],
            capture_output=True, text=True, check=True)
        return float(re.search(r"tps = ([\d.]+)", run.stdout).group(1))

    def memory(self):
        """Returns the MB of the largest worker, and the part that it does not share with others."""
        sizes = []
        for pid in self.site.workers():
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            sizes.append([int(re.search(rf"{name}:\s+(\d+)", status)[1]) / 1024 for name in ["VmRSS", "RssAnon"]])
        return max(sizes)

    def start_time(self):
        """Measures the time from the start of the supervisor to the first response from the database."""
        self.site.supervisor.terminate()
        self.site.supervisor.wait(60)
        started = time.monotonic()
        self.site.start_dossierd()
        while self.site.get("/readyz").status != 200:
            time.sleep(0.002)
        return time.monotonic() - started
