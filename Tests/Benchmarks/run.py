#!/usr/bin/env python3
"""Compares the product with two C programs that run the same query, through the same nginx.

    Tests/Benchmarks/run.py [--users 1000] [--large 1000000] [--seconds 6] [--rounds 5]
                            [--json FILE]

Needs a release build (swift build -c release), wrk, gcc, nginx and PostgreSQL. Only ratios within one
run are meaningful, since nginx, PostgreSQL, wrk and the program share the machine.
"""

import argparse
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
from asking import ADDRESS  # noqa: E402
from deployment import Deployment  # noqa: E402
from machine import wait_until  # noqa: E402
from machine import ROOT, TOOLS, free_port, is_listening

PACED = "GET /v1/me, paced"
SERVICES = "/api/client/v2.0/app/default"
LOADED = PACED + ", beside 4 searches, {}"
PASSWORD, PASSWORDS = "correct horse", 64
YARDSTICKS = ROOT / ".build/benchmarks"

SEED = """
insert into users (user_id, app_id, anonymous, name, email)
select lpad(to_hex(g), 24, '0'), (select app_id from apps), false, 'User ' || g,
  'user' || g || '@example.com' from generate_series(1, {count}) g;
insert into sessions (user_id, session_id, app_id, device_id, provider, scope, refresh_salt, expires_at)
select user_id, user_id, app_id, user_id, 'password', '', decode(md5(user_id), 'hex'),
  now() + interval '60 days' from users where email is not null;
insert into documents (user_id, class, body, version)
select user_id, 'metadata', jsonb_build_object('theme', 'dark', 'counter', 0, 'group',
  hashtext(user_id) & 65535), 1 from users where email is not null;
vacuum analyze;
"""


def claims(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def service_call(name, **arguments):
    """The body of an operation of App Services on the custom data of a user."""
    return json.dumps({"name": name, "service": "mongodb-atlas", "arguments": [
        {"database": "my_database", "collection": "users", **arguments}]})


def offer_services(site):
    """Names the app's collection, and waits until every worker has seen it."""
    site.set_app(app_services_collection="mongodb-atlas/my_database/users")
    token = site.login()["access_token"]
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}

    def is_offered():
        return site.request("POST", f"{SERVICES}/functions/call", service_call("count"),
                            headers).status == 200

    # nginx hands requests to the workers in turn.
    wait_until(lambda: all(is_offered() for _ in range(4 * len(site.workers()))), 60,
               "the collection")


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
            settings={"DOSSIER_LOG": "errors", "DOSSIER_APP_CACHE_TTL_MS": "5000"}.items())
        started = time.monotonic()
        for statement in SEED.format(count=users).split(";\n"):
            if statement.strip():
                self.site.sql(statement)
        print(f"seeded {users} users in {time.monotonic() - started:.1f} s", file=sys.stderr)
        tokens = [self.site.login()["access_token"] for _ in range(sessions)]
        self.ids = [(claims(token)["sub"], claims(token)["sid"]) for token in tokens]
        self.site.sql("insert into documents (user_id, class, body, version) values " + ",".join(
            f"('{user}', 'metadata', '{{\"theme\": \"dark\"}}', 1)" for user, _ in self.ids))
        self.tokens = self.site.folder / "tokens"
        self.tokens.write_text("\n".join(tokens))
        self.bare = self.site.folder / "bare"
        self.bare.write_text("\n".join(f"{user}.{session}" for user, session in self.ids))
        self.site.sql("create table bench_sessions (n int primary key, user_id text, session_id text)")
        rows = ",".join(f"({n}, '{u}', '{s}')" for n, (u, s) in enumerate(self.ids))
        self.site.sql(f"insert into bench_sessions values {rows}")
        self.refreshes = self.site.folder / "refreshes"
        self.processes = []
        # The program and the nginx of a port.
        self.served = {self.site.port: (self.site.workers, self.site.nginx.pid)}

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

    def logins(self, path, bodies, mode="login", clients=64, **environment):
        return self.run_wrk(self.site.port, "logins.lua", clients, {
            "BODIES": str(bodies), "TARGET": path, "MODE": mode, **environment})

    def refresh(self):
        # The tokens of an earlier run are used up, and a session may refresh a hundred times at once.
        grants = [self.site.login() for _ in range(2_000)]
        self.refreshes.write_text("\n".join(
            json.dumps({"refresh_token": grant["refresh_token"]}) for grant in grants))
        return self.logins("/v1/token/refresh", self.refreshes, "refresh")

    def find_one(self):
        """The operation of App Services on the custom data of every user."""
        offer_services(self.site)
        body = service_call("findOne", query={"color": "blue"})
        self.site.sql("insert into documents (user_id, class, body, version) values " + ",".join(
            f"""('{user}', 'custom_data', '{{"userId": "{user}", "color": "blue"}}', 1)"""
            for user, _ in self.ids) + " on conflict do nothing")
        return self.wrk(self.site.port, self.tokens, "POST", f"{SERVICES}/functions/call",
                        body=body)

    def anonymous_logins(self, path="/v1/login/anonymous"):
        bodies = self.site.folder / "anonymous"
        bodies.write_text("{}\n{}\n")
        return self.logins(path, bodies, ADDRESS_FIELD=ADDRESS)

    def client(self):
        """A client with a grant, made once."""
        if not hasattr(self, "made"):
            made = self.site.dossier("client", "create", "--app", "default", "--kind", "web",
                                     "--callback", "https://app.example.com/cb", "bench")
            api = self.site.dossier("resource-server", "create", "--app", "default", "--scope",
                                    "read:posts=Read posts", "https://api.example.com/", "Posts")
            self.site.dossier("client", "grant", made["id"], api["id"], "--scope", "read:posts")
            self.made = made
        return self.made

    def client_grant(self):
        """The body of a request for a token, which is signed with RS256."""
        return json.dumps({
            "grant_type": "client_credentials", "client_id": self.client()["id"],
            "client_secret": self.client()["secret"], "audience": "https://api.example.com/"})

    def client_tokens(self):
        bodies = self.site.folder / "clients"
        bodies.write_text(2 * (self.client_grant() + "\n"))
        return self.logins("/oauth/token", bodies)

    def client_refreshes(self):
        """Refreshes of a client: each makes an access token and an ID token."""
        if not hasattr(self, "native"):
            self.site.dossier("resource-server", "create", "--app", "default", "--offline-access",
                              "true", "https://refresh.example.com/", "Refreshes")
            self.native = self.site.dossier(
                "client", "create", "--app", "default", "--kind", "native", "--callback",
                "https://app.example.com/cb", "bench refreshes", "password_grant=true")["id"]
        members = {"grant_type": "refresh_token", "client_id": self.native}
        self.passwords()
        # A session may refresh a hundred times at once.
        lines = []
        for number in range(3 * PASSWORDS):
            answer = self.site.request("POST", "/oauth/token", json.dumps({
                "grant_type": "password", "client_id": self.native, "password": PASSWORD,
                "username": f"bench{number % PASSWORDS}@example.com",
                "scope": "openid offline_access", "audience": "https://refresh.example.com/"}),
                {"Content-Type": "application/json"})
            lines.append(json.dumps({**members, "refresh_token": answer.json["refresh_token"]}))
        self.refreshes.write_text("\n".join(lines))
        return self.logins("/oauth/token", self.refreshes, "refresh", clients=8,
                           MEMBERS=json.dumps(members)[1:-1] + ",")

    def management(self):
        """A file with a token of a back end for the Management API, made once."""
        if not hasattr(self, "managed"):
            servers = self.site.dossier("resource-server", "list")
            own = next(server for server in servers if server["identifier"] == "api/v2/")
            made = self.site.dossier("client", "create", "--app", "default", "Back end")
            self.site.dossier("client", "grant", made["id"], own["id"], "--scope", "read:users",
                              "--scope", "update:users", "--scope", "create:users")
            issuer = self.site.get("/.well-known/openid-configuration").json["issuer"]
            answer = self.site.request("POST", "/oauth/token", json.dumps({
                "grant_type": "client_credentials", "client_id": made["id"],
                "client_secret": made["secret"], "audience": issuer + "api/v2/"}),
                {"Content-Type": "application/json"})
            self.managed = self.site.folder / "managed"
            self.managed.write_text(answer.json["access_token"])
            self.managed_paths = self.site.folder / "managed-paths"
            self.managed_paths.write_text("\n".join(
                f"/api/v2/users/auth0%7C{user}" for user, _ in self.ids))
        return self.managed

    def managed_user(self, method="GET", body=None):
        token = self.management()
        return self.wrk(self.site.port, token, method, body=body, paths=self.managed_paths)

    def created_users(self):
        body = json.dumps({
            "connection": "Username-Password-Authentication", "email": "UNIQUE@example.com",
            "password": PASSWORD, "verify_email": False})
        return self.wrk(self.site.port, self.management(), "POST", "/api/v2/users", clients=8,
                        body=body)

    def managed_users(self, query, name="users"):
        path = f"/api/v2/{name}?{query}"
        return self.wrk(self.site.port, self.management(), path=path, clients=8)

    def authorization(self):
        """The path of a request that stores an authorization, and leads to the first page."""
        query = urllib.parse.urlencode({
            "response_type": "code", "client_id": self.client()["id"], "scope": "openid",
            "redirect_uri": "https://app.example.com/cb", "code_challenge": "A" * 43,
            "code_challenge_method": "S256"})
        return f"/authorize?{query}"

    def authorizations(self):
        return self.wrk(self.site.port, self.tokens, path=self.authorization())

    def passwords(self):
        """A file with the addresses and passwords of users, made once."""
        bodies = self.site.folder / "passwords"
        if not bodies.exists():
            lines = [json.dumps({"email": f"bench{n}@example.com", "password": PASSWORD})
                     for n in range(PASSWORDS)]
            for line in lines:
                answer = self.site.request(
                    "POST", "/v1/register", line, {"Content-Type": "application/json"})
                assert answer.status == 201, answer.body
            bodies.write_text("\n".join(lines))
        return bodies

    def password_logins(self):
        return self.logins("/v1/login/password", self.passwords(), clients=8)

    def run_wrk(self, port, script, clients, environment):
        before = self.processor(port)
        run = subprocess.run(
            ["wrk", "-t2", f"-c{clients}", f"-d{self.seconds}s", "-s", HERE / script,
             f"http://127.0.0.1:{port}"],
            env={**os.environ, **environment}, capture_output=True, text=True, check=True)
        result = json.loads(run.stdout.split("RESULT ")[1])
        assert result["errors"] == 0, run.stdout
        requests = result["rate"] * self.seconds
        after = self.processor(port)
        result["processor_us"] = {kind: (after[kind] - before[kind]) / requests for kind in after}
        return result

    def index(self):
        """Indexes two paths: one that few users share, and one that all users share."""
        for path, kind in [("metadata.group", "number"), ("metadata.theme", "text")]:
            self.site.dossier("index", "add", path, "--kind", kind, timeout=1_800)
        self.key = self.site.folder / "key"
        self.key.write_text(self.site.client("--operator")["secret"])

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
        sql = text("Documents/Documents+Queries.swift", '"documents.update",').replace(
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
        sizes = []
        for pid in self.site.workers():
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            sizes.append(int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024)
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


def median(results):
    return sorted(results, key=lambda result: result["rate"])[len(results) // 2]


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--users", type=int, default=1_000)
    options.add_argument("--large", type=int, default=1_000_000, help="0 leaves it out")
    options.add_argument("--seconds", type=int, default=6, help="of each measurement")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--json", type=pathlib.Path)
    options = options.parse_args()
    subprocess.run(["make", "-s", "-C", HERE], check=True)

    sites = []
    try:
        bench = Bench(options.users, options.seconds)
        sites.append(bench)
        threads = bench.yardstick("yardstick_threads", 1, keep=False)
        loop = bench.yardstick("yardstick_loop", 2, keep=True)
        script = bench.pgbench_script()
        measures = {
            "GET /v1/me, threads": lambda: bench.wrk(threads, bench.bare),
            "GET /v1/me, loop": lambda: bench.wrk(loop, bench.bare),
            "GET /v1/me, product": lambda: bench.wrk(bench.site.port, bench.tokens),
            "PATCH /v1/me/metadata, product": lambda: bench.wrk(
                bench.site.port, bench.tokens, "PATCH", "/v1/me/metadata"),
            "the statement of the PATCH, pgbench": lambda: {"rate": bench.pgbench(script)},
            "POST /v1/token/refresh, product": bench.refresh,
            "the write of a refresh, pgbench": lambda: {"rate": bench.pgbench(HERE / "refresh.sql")},
            "POST /v1/login/anonymous, product": bench.anonymous_logins,
            "the writes of a login, pgbench": lambda: {"rate": bench.pgbench(HERE / "login.sql")},
            "POST /v1/login/password, product": bench.password_logins,
            "App Services, anonymous login": lambda: bench.anonymous_logins(
                f"{SERVICES}/auth/providers/anon-user/login"),
            "App Services, findOne": bench.find_one,
            "GET /authorize": bench.authorizations,
            "POST /oauth/token, client_credentials": bench.client_tokens,
            "POST /oauth/token, refresh_token": bench.client_refreshes,
            "GET /api/v2/users/{id}": bench.managed_user,
            "PATCH /api/v2/users/{id}, user_metadata": lambda: bench.managed_user(
                "PATCH", '{"user_metadata":{"theme":"light"}}'),
            "POST /api/v2/users": bench.created_users,
            "GET /api/v2/users, page of 50": lambda: bench.managed_users("per_page=50"),
            "GET /api/v2/users, q=email": lambda: bench.managed_users(
                "q=email%3A%22user7%40example.com%22"),
            "GET /api/v2/users-by-email": lambda: bench.managed_users(
                "email=user7%40example.com", "users-by-email"),
        }
        if options.large:
            large = Bench(options.large, options.seconds)
            sites.append(large)
            measures[f"GET /v1/me, product, {options.large} users"] = lambda: large.wrk(
                large.site.port, large.tokens)
            large.index()
            few, all_ = "metadata.group = 7", 'metadata.theme = "dark"'
            searches = f"GET /v1/users, {{}}, {options.large} users"
            measures[searches.format("few found")] = lambda: large.search(few, 8)
            measures[searches.format("page of all")] = lambda: large.search(all_, 8)
            measures[PACED] = large.paced
            measures[LOADED.format("few found")] = lambda: large.paced_while_searched(few, 4)
            measures[LOADED.format("page of all")] = lambda: large.paced_while_searched(all_, 4)
        # Alternating, so that a slower machine slows all of them.
        results = [{name: measure() for name, measure in measures.items()}
                   for _ in range(options.rounds)]
        memory = bench.memory()
        start = bench.start_time()
    finally:
        for site in sites:
            site.stop()

    def ratio(name, other):
        """Returns the median of the rounds' ratios, since a slow round affects both sides."""
        ratios = sorted(result[name]["rate"] / result[other]["rate"] for result in results)
        return ratios[len(ratios) // 2]

    table = {name: median([result[name] for result in results]) for name in measures}
    product = "GET /v1/me, product"
    ratios = {
        "product / C loop (aim 0.9)": ratio(product, "GET /v1/me, loop"),
        "product / C threads (aim 1.5)": ratio(product, "GET /v1/me, threads"),
        "p99 / p50 (aim <= 3)": table[product]["p99_us"] / table[product]["p50_us"],
        "PATCH / pgbench (aim 0.9)": ratio(
            "PATCH /v1/me/metadata, product", "the statement of the PATCH, pgbench"),
        "refresh / pgbench (aim 0.9)": ratio(
            "POST /v1/token/refresh, product", "the write of a refresh, pgbench"),
        "anonymous login / pgbench (aim 0.7)": ratio(
            "POST /v1/login/anonymous, product", "the writes of a login, pgbench"),
        "worker, MB (aim <= 60)": memory,
        "start to first answer, ms (aim <= 100)": start * 1000,
    }
    if options.large:
        ratios[f"cost at {options.large} / {options.users} users (aim <= 1.1)"] = ratio(
            product, f"GET /v1/me, product, {options.large} users")

    # The processor time is that of one request.
    kinds = ["program", "nginx", "postgres"]
    print(f"| {'what':48} | requests/s | p50 us | p99 us | "
          + " | ".join(f"{kind} us" for kind in kinds) + " |")
    print(f"|{'-' * 50}|-----------:|-------:|-------:|"
          + "|".join("-" * (len(kind) + 4) + ":" for kind in kinds) + "|")
    for name, result in table.items():
        times = result.get("processor_us", {})
        print(f"| {name:48} | {result['rate']:10.0f} | {result.get('p50_us', ''):>6} "
              f"| {result.get('p99_us', ''):>6} | "
              + " | ".join(f"{times[kind]:{len(kind) + 3}.1f}" if kind in times
                           else " " * (len(kind) + 3) for kind in kinds) + " |")
    print()
    for name, ratio in ratios.items():
        print(f"- {name}: {ratio:.2f}")
    if options.json:
        options.json.write_text(json.dumps({"table": table, "ratios": ratios}, indent=2))


if __name__ == "__main__":
    main()
