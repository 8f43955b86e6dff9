"""Configuration as files: `dossier export-config` and `dossier apply`."""

import json
import random
import re
import signal
import subprocess
import sys

from cases import Administration, Held
from deployment import Deployment
from machine import BUILD, ROOT, wait_until

sys.path.append(str(ROOT / "Tests/Operation"))
import guide  # noqa: E402

API = "https://api.example.com"


class Files(Administration):
    """A deployment, and files in its folder."""

    def file(self, content, name="deployment.yaml"):
        path = self.site.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    def apply(self, content, *options, status=0, words=None, **environment):
        """Applies a file; returns the steps that were taken."""
        run = self.site.dossier("apply", self.file(content), "--yes", "--json", *options,
                                check=False, output="text", **environment)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        if words:
            self.assertRegex(run.stderr, words)
        steps = json.loads(run.stdout) if run.stdout else []
        return [step for step in steps if step["action"] != "unchanged"]

    def exported(self, *options, site=None):
        return (site or self.site).dossier("export-config", *options, output="text")

    def content(self, app):
        return json.loads(self.exported("--app", app, "--format", "json"))["apps"][app]


def seed(site):
    """Fills a deployment by the commands of operators."""
    dossier = site.dossier

    def own(*words):
        return dossier(*words, "--app", "adventure")

    dossier("app", "create", "adventure")
    (site.folder / "texts.json").write_text('{"de": {"signIn": "Herein"}}')
    own("app", "set", "session_days=45", "brand_color=#123456", 'display_name=A: "über" 不',
        "reset_text=Hello,\n\n  reset it: {{token}}\n", "reset_subject=yes",
        f"texts=@{site.folder / 'texts.json'}")
    own("app", "host", "set", "users.example.com", "[::1]")
    (site.folder / "schema").write_text('{"type":"object","properties":{"level":{"maximum":1.50}}}')
    own("schema", "set", "app-metadata", site.folder / "schema")
    own("index", "create", "metadata.level", "kind=number")
    api = own("resource-server", "create", API, "name=Orders", "scopes.write:orders=Order",
              "scopes.read:orders=See orders", "token_seconds=600",
              'claims={"plan":"app_metadata./plan"}')["id"]
    role = own("role", "create", "Editor", "description=Edits all")["id"]
    own("role", "permit", role, api, "--scope", "write:orders", "--scope", "read:orders")
    web = own("client", "create", "Web site: no 1", "kind=web", "callback_urls=https://a.example/cb",
              "scopes=update:users,read:users", "claims_profile=auth0")
    dossier("client", "disable", web["id"])
    machine = own("client", "create", "nightly", "kind=machine")
    dossier("client", "grant", machine["id"], api, "--scope", "read:orders")
    own("client", "create", "Page", "kind=single_page")
    dossier("client", "create", "--operator", "console", "kind=machine")
    own("issuer", "create", "login-page", "issuer=https://l.example", "audience=adventure",
        "jwks_url=https://login.example.com/keys", 'claims={"nickname":"preferred_username"}')
    (site.folder / "secret").write_text("s" * 32)
    own("issuer", "create", "old", "issuer=https://o.example", "audience=adventure",
        f"secret=@{site.folder / 'secret'}")
    own("connection", "create", "github", "client_id=shop", f"client_secret=@{site.folder / 'secret'}")


class RoundTrips(Files):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        seed(cls.site)
        cls.empty = Deployment()

    @classmethod
    def tearDownClass(cls):
        cls.empty.stop()
        super().tearDownClass()

    def test_an_export_is_no_change_and_makes_an_equal_deployment(self):
        text = self.exported()
        for part in ["session_days: 45", "maximum: 1.50", "signIn: Herein", '"Web site: no 1":', "disabled: true",
                     "kind: single_page", "reset_text: |\n", 'reset_subject: "yes"', "console:"]:
            self.assertIn(part, text)
        for secret in ["s" * 32, "ds_"]:
            self.assertNotIn(secret, text)
        path = self.file(text)
        other = self.file(self.exported("--format", "json"), "deployment.json")
        for options in [[path], [path, "--prune"], [other, "--prune"], [path, other]]:
            steps = self.site.dossier("apply", *options, "--check")
            self.assertEqual({step["action"] for step in steps}, {"unchanged"})
        secret = {"ADVENTURE_OLD_SECRET": "t" * 40, "ADVENTURE_GITHUB_CLIENT_SECRET": "u" * 40}
        self.empty.dossier("apply", path, "--yes", **secret)
        self.assertEqual(self.exported(site=self.empty), text)
        said = self.empty.dossier("apply", path, output="text")
        self.assertIn("issuer adventure/old: secret is not compared; --secrets sends it\n", said)
        self.assertIn("connection adventure/github: client_secret is not compared; --secrets sends it\n", said)
        self.assertRegex(said, r"\n0 to do, 13 unchanged\n$")

    def test_one_app_is_exported_and_applied(self):
        text = self.exported("--app", "adventure")
        self.assertNotIn("console", text)
        self.assertNotIn("default", text)
        steps = self.site.dossier("apply", self.file(self.exported()), "--app", "default", "--check")
        self.assertEqual([step["name"] for step in steps], ["default"])
        self.refused(12, "apply", self.file(text), "--app", "default", words="names the app default")

    def test_names_that_are_not_clear_are_refused_with_both_ids(self):
        self.site.dossier("app", "create", "twins")
        ids = sorted(self.site.dossier("client", "create", "--app", "twins", "twin", "kind=machine")["id"]
                     for _ in range(2))
        said = self.site.dossier("export-config", "--app", "twins", check=False, output="text")
        self.assertEqual(said.returncode, 11)
        for id in ids:
            self.assertIn(id, said.stderr)
        self.apply({"apps": {"twins": {"clients": {"twin": {}}}}}, status=12,
                   words=f"/apps/twins/clients/twin: .*{ids[0]} and {ids[1]}")
        for id in ids:
            self.site.dossier("client", "delete", "--yes", id)


class Guide(Files):
    def test_one_file_describes_two_apps_with_ten_clients(self):
        text = guide.section("Keep the configuration in files")
        block, = re.findall(r"(?ms)^```yaml\n(.*?)^```$", text)
        scripts = guide.commands("Keep the configuration in files")
        variables = {name: "x" * 40 for name in re.findall(r"env: (\w+)", block)}
        self.assertTrue(variables)
        path = self.file(block)
        made = self.site.dossier("apply", path, "--yes", **variables)
        clients = self.site.dossier("client", "list")
        self.assertEqual(len(clients), 10)
        self.assertEqual(len({client["app"] for client in clients} - {None}), 2)
        # A client that brought no secret got one.
        secrets = {step["name"] for step in made if step["kind"] == "client" and step.get("secret")}
        self.assertEqual(secrets, {client["name"] for client in clients
                                   if client["kind"] in ("web", "machine")} - {"Shop"})
        self.assertIn("0 to do", self.site.dossier("apply", path, output="text"))
        # The commands of the guide.
        script = scripts[0].replace(" --config /etc/dossier/dossier.conf", "")
        folder = self.site.folder / "guide"
        folder.mkdir()
        run = subprocess.run(
            ["bash", "-e", "-c", script], cwd=folder, capture_output=True, text=True, timeout=120,
            env={**self.site.environment, **variables, "PATH": f"{BUILD}:/usr/bin:/bin"})
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("apps:", (folder / "deployment.yaml").read_text())


class Applies(Files):
    def setUp(self):
        super().setUp()
        self.app = re.sub("[^a-z]+", "-", self._testMethodName)[5:50].strip("-")
        self.site.dossier("app", "create", self.app)

    def of_app(self, **sections):
        return {"apps": {self.app: sections}}

    def test_a_record_is_whole_and_the_rest_stays(self):
        full = self.of_app(
            hosts=["a.example"], settings={"session_days": 9, "brand_color": "#123456"},
            apis={API: {"name": "Orders", "scopes": {"a": "A", "b": "B"}, "token_seconds": 90}},
            roles={"Editor": {"description": "Edits", "permissions": {API: ["b", "a"]}}},
            clients={"Site": {"kind": "web", "scopes": ["read:users"], "disabled": True,
                              "callback_urls": ["https://a.example/"], "id": "Own-Id"},
                     "Job": {"grants": {API: ["a"]}}})
        self.apply(full)
        self.assertEqual(self.content(self.app)["clients"]["Site"]["id"], "Own-Id")
        steps = self.apply(self.of_app(
            settings={"session_days": 8}, apis={API: {"name": "All orders", "scopes": {"b": "B"}}},
            roles={"Editor": {"permissions": {API: ["b"]}}}, clients={"Job": {}}))
        changes = {step["kind"]: {change["attribute"]: (change["old"], change["new"])
                                  for change in step["changes"]} for step in steps}
        self.assertEqual(changes, {
            "app": {"session_days": (9, 8), "brand_color": ("#123456", changes["app"]["brand_color"][1])},
            "API": {"name": ("Orders", "All orders"), "token_seconds": (90, 86400),
                    "scopes": ({"a": "A", "b": "B"}, {"b": "B"})},
            "role": {"description": ("Edits", ""),
                     "permissions": ({API: ["a", "b"]}, {API: ["b"]})},
            "client": {"grants": ({API: ["a"]}, {})}})
        left = self.content(self.app)
        self.assertEqual((left["hosts"], left["settings"]), (["a.example"], {"session_days": 8}))
        # Another name of the same id.
        del left["clients"]["Job"]
        left["clients"]["Website"] = {**left["clients"].pop("Site"), "disabled": False}
        self.apply({"apps": {self.app: left}})
        listed = self.site.dossier("client", "list", "--app", self.app)
        self.assertEqual([(one["name"], one["disabled"]) for one in listed if one["id"] == "Own-Id"],
                         [("Website", False)])
        self.apply(self.of_app(clients={"Website": {"kind": "native"}}), status=12,
                   words="kind of the client cannot change")
        events = [event["action"] for event in self.site.dossier("audit", "--app", self.app, "--all")]
        self.assertIn("client_change", events)

    def test_prune_deletes_what_no_file_names(self):
        self.apply(self.of_app(
            hosts=["b.example"], settings={"session_days": 9}, indexes={"metadata.a": "text"},
            schemas={"metadata": {"type": "object"}}, apis={API: {"name": "Orders"}},
            roles={"Editor": {}}, clients={"Site": {}}))
        kept = self.of_app(roles={"Editor": {}})
        steps = self.site.dossier("apply", self.file(kept), "--check", "--prune", check=False)
        self.assertEqual(steps.returncode, 2)
        done = self.apply(kept, "--prune")
        self.assertEqual([(step["action"], step["kind"]) for step in done],
                         [("change", "app"), ("delete", "client"), ("delete", "API"),
                          ("delete", "index"), ("delete", "schema")])
        self.assertEqual(self.content(self.app), {"roles": {"Editor": {}}})
        # Neither other apps, nor the APIs of each app, nor clients of the operator.
        self.assertEqual(self.apply(kept, "--prune"), [])
        self.assertEqual({api["identifier"] for api in self.site.dossier(
            "resource-server", "list", "--app", self.app)}, {"api/v2/", "/"})

    def test_check_and_consent(self):
        path = self.file(self.of_app(settings={"session_days": 12}))
        run = self.site.dossier("apply", path, "--check", check=False, output="text")
        self.assertEqual((run.returncode, run.stdout.splitlines()),
                         (2, [f"change app {self.app}", "  session_days: 60 → 12".replace(
                             "60", str(self.usual("session_days"))), "1 to do, 0 unchanged"]))
        self.refused(23, "apply", path, "--json", words="Pass --yes to confirm.")
        self.assertEqual(self.content(self.app), {})
        self.apply(self.of_app(settings={"session_days": 12}))
        self.site.dossier("apply", path, "--check")

    def usual(self, name):
        return self.site.dossier("app", "show", "--app", self.app)["settings"][name]

    def test_secrets_come_from_the_environment_or_a_file(self):
        issuer = {"issuer": "https://i.example", "audience": "a"}
        (self.site.folder / "issuer-secret").write_text("f" * 40 + "\n")
        for number, (source, given) in enumerate(
                [({"file": "issuer-secret"}, {}), ({"env": "ISSUER"}, {"ISSUER": "e" * 40})]):
            content = self.of_app(issuers={f"i{number}": {**issuer, "secret": source}})
            self.apply(content, **given)
            # It is not compared, and needs not be there.
            self.assertEqual(self.apply(content), [])
            self.assertEqual([step["secrets"] for step in self.apply(content, "--secrets", **given)],
                             [["secret"]])
        content = self.of_app(
            issuers={"i2": {**issuer, "secret": {"env": "NOWHERE"}}}, roles={"none": {}})
        self.apply(content, status=12, words="/issuers/i2: the environment has no variable NOWHERE")
        self.assertNotIn("roles", self.content(self.app))
        self.apply(self.of_app(issuers={"i2": {**issuer, "secret": "plain" * 10}}), status=12,
                   words=r'issuers/i2/secret: A file has no secrets. Write \{"env": "NAME"\}')
        # From a URL of keys to a secret, which is then sent.
        self.apply(self.of_app(issuers={"i3": {**issuer, "jwks_url": "https://i.example/keys"}}))
        content = self.of_app(issuers={"i3": {**issuer, "secret": {"env": "ISSUER"}}})
        self.apply(content, ISSUER="g" * 40)
        self.assertEqual(self.apply(content), [])
        self.apply(self.of_app(clients={"moved": {
            "kind": "web", "secret": {"env": "SECRET"}}}), SECRET="c" * 40)

    def test_bad_files_are_refused_with_the_place(self):
        for text, words in [
            ("apps: {a: {}\n", r"deployment.yaml:2: /apps: This is not YAML"),
            ("apps:\n  a:\n    hosts: []\n    hosts: []\n",
             r"deployment.yaml:4: /apps/a: The name hosts stands twice"),
            ('{"apps": {},\n "apps": {}}', r"deployment.yaml:2: /apps: "),
            ("apps:\n  a:\n    settings:\n      session_day: 3\n",
             r":4: /apps/a/settings/session_day: This name is unknown."),
            ("apps:\n  a:\n    settings:\n      session_days: yes\n",
             r":4: /apps/a/settings/session_days: This value must be a whole number"),
            ("apps:\n  a:\n    issuers:\n      i: {issuer: x}\n",
             r":4: /apps/a/issuers/i: This member is required. /audience"),
            ("app: {}\n", r":1: /app: This name is unknown. Known are apps, clients."),
            ("- a\n", "This value must be an object"),
        ]:
            self.apply(text, status=12, words=words)
        other = self.file(self.of_app(settings={"session_days": 3}), "other.yaml")
        self.apply(self.of_app(settings={"session_days": 2}), other, status=12,
                   words="session_days: It differs from .*deployment.yaml: /apps/")
        self.refused(21, "apply", "/nowhere", words="/nowhere")
        # A fault that only /v1 finds names the step, and the next run continues.
        steps = self.apply(self.of_app(roles={"a": {}, "b": {"permissions": {"x": ["y"]}}, "c": {}}),
                           status=12, words=f"role {self.app}/b: The app has no API .*x.*\n.*1 of 3")
        self.assertEqual([step["name"] for step in steps], ["a"])

    def test_of_two_at_once_one_is_refused(self):
        running = []
        name = f"select from apps where name = '{self.app}' for update"
        with Held(self.site, name):
            for days in [5, 6]:
                path = self.file(self.of_app(settings={"session_days": days}), f"{days}.yaml")
                running.append(subprocess.Popen(
                    [BUILD / "dossier", "apply", path, "--yes"], env=self.site.environment,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
            wait_until(lambda: self.site.sql(
                "select count(*) from pg_stat_activity where wait_event_type = 'Lock'") == "2",
                what="two commands that wait")
        ends = [(run.communicate(timeout=120)[1], run.returncode) for run in running]
        self.assertEqual(sorted(status for _, status in ends), [0, 13])
        said = next(said for said, status in ends if status == 13)
        self.assertIn("Another change may have come first. 0 of 1 steps are done.", said)
        done = [days for days, (_, status) in zip([5, 6], ends) if status == 0]
        self.assertEqual(self.content(self.app)["settings"]["session_days"], done[0])

    def test_a_run_that_is_killed_is_completed_by_the_next(self):
        name, kills, turn = self.app, 0, 0
        # A run may end before the test sees its events, so one app may not be enough.
        while kills <= 3:
            turn += 1
            self.app = f"{name}-{turn}"
            self.site.dossier("app", "create", self.app)
            kills += self.kill_runs(turn)
        self.assertGreater(kills, 3)

    def kill_runs(self, turn):
        """Kills runs until one completes the app. Returns how many it has killed."""
        content = self.of_app(
            settings={"session_days": 5}, schemas={"metadata": {"type": "object"}},
            apis={f"{API}/{n}": {"name": f"API {n}", "scopes": {"a": "A"}} for n in range(8)},
            roles={f"Role {n}": {"permissions": {f"{API}/{n}": ["a"]}} for n in range(8)},
            clients={f"Client {n}": {"id": f"killed-{turn}-{n}", "disabled": n % 2 == 0, "grants": {
                f"{API}/{n}": ["a"]}} for n in range(8)},
            indexes={"metadata.k": "text"})
        path = self.file(content)
        count = lambda: int(self.site.sql(
            f"select count(*) from audit join apps using (app_id) where name = '{self.app}'"))
        kills, last = 0, 0
        while True:
            child = subprocess.Popen([BUILD / "dossier", "apply", path, "--yes"],
                                     env=self.site.environment, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL)
            goal = last + random.randrange(1, 8)
            wait_until(lambda: child.poll() is not None or count() >= goal, 300, "events")
            if child.poll() is None:
                child.kill()
                kills += 1
            if child.wait() != -signal.SIGKILL:
                self.assertEqual(child.returncode, 0)
                break
            last = count()
        self.assertEqual(self.apply(content), [])
        self.assertEqual(len(self.site.dossier("client", "list", "--app", self.app)), 8)
        # The roles and the clients have all that is theirs.
        exported = self.content(self.app)
        for section in ["roles", "apis", "clients", "schemas", "indexes", "settings"]:
            for name, value in content["apps"][self.app][section].items():
                if isinstance(value, dict):
                    value = {key: one for key, one in value.items() if one is not False}
                self.assertEqual(exported[section][name], value)
        return kills
