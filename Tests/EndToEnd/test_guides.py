"""Every command of every guide: its words are valid, and a test runs it and looks at its output."""

import json
import os
import re
import shlex
import subprocess
import sys
import unittest

from PIL import Image

from cases import Administration
from machine import BUILD, FOREIGN, ROOT

sys.path.append(str(ROOT / "Tests/Operation"))
import guide  # noqa: E402

PROGRAMS = ["dossier", "dossierd", "dossier-migrate"]
GUIDES = [ROOT / "README.md", *sorted((ROOT / "deploy").rglob("*.md")), ROOT / "migrations/README.md",
          *sorted((ROOT / "Sources").glob("*/*.docc/*.md"))]
# The headings whose commands no test runs word for word, and why.
NOT_RUN = {
    "Keep deleted users deleted": "test_erasures runs the commands with other files",
    "Join the log and the audit log": "test_command_line_person runs the command",
    "Name who uses the command line": "test_command_line_person runs the commands",
    "See what happens now": "test_top runs the commands",
    "Distribute a database": "takes hosts with Citus; cluster.py makes nodes with these settings",
    "Back up a distributed database": "takes hosts with Citus",
    "Add Google, Apple, GitHub or any issuer": "it calls GitHub; test_connection_commands does the same",
    "Working on it": "these are the tests",
}


def spans(text):
    """Yields the code of a guide: the lines of its scripts, and what stands between backquotes."""
    blocks = r"(?ms)^ *```(\w*)\n(.*?)^ *```$"
    for language, block in re.findall(blocks, text):
        if language == "sh":
            for line in block.replace("\\\n", " ").splitlines():
                yield line.strip(), True
    for code in re.findall(r"`([^`\n]+)`", re.sub(blocks, "", text)):
        yield code, False


def commands_of_programs():
    """Yields each call of a program in the guides as its words, and whether it is a whole command."""
    for path in GUIDES:
        for code, is_whole in spans(path.read_text()):
            for part in re.split(r"\s*(?:\||&&|;|\$\()\s*", code):
                part = re.split(r"\s[<>]|\s#\s", part)[0]
                part = re.sub(r"^(?:\(|runuser -u \S+ -- |/data/|\$data/)", "", part).rstrip(")")
                if part.split(" ")[0] in PROGRAMS:
                    try:
                        yield path.name, shlex.split(part), is_whole
                    except ValueError:
                        # The rest of a quoted text is in another line or behind a pipe.
                        yield path.name, part.replace("'", "").replace('"', "").split(), False


class Words(unittest.TestCase):
    """The words of the commands, which the programs themselves parse."""

    @classmethod
    def setUpClass(cls):
        cls.declared = {program: json.loads(subprocess.run(
            [BUILD / program, "--experimental-dump-help"], check=True, capture_output=True,
            text=True).stdout)["command"] for program in PROGRAMS}

    def declaration(self, words):
        """Returns the declaration of the command that words name, and the words behind its name."""
        command, rest = self.declared[words[0]], words[1:]
        while command.get("subcommands") and rest and not rest[0].startswith("-"):
            found = [one for one in command["subcommands"] if one["commandName"] == rest[0]]
            if not found:
                return None, rest
            command, rest = found[0], rest[1:]
        return command, rest

    def test_each_command_exists_with_its_options(self):
        count = 0
        for place, words, _ in commands_of_programs():
            with self.subTest(place=place, command=words):
                command, rest = self.declaration(words)
                self.assertIsNotNone(command)
                names = {("-" if name["kind"] == "short" else "--") + name["name"]
                         for one in command["arguments"] for name in one.get("names") or []}
                for word in rest:
                    word = word.strip("[]")
                    if re.match("--?[a-z]", word):
                        self.assertIn(word.split("=")[0].split("|")[0],
                                      names | {"--help", "--version", "--generate-completion-script"})
                count += 1
        self.assertGreater(count, 150)

    def test_each_whole_command_has_all_that_it_needs(self):
        """Without a database, a command ends with 64 only if its words are wrong."""
        environment = {**FOREIGN, "DOSSIER_DATABASE": "host=/nowhere dbname=x user=x",
                       "DOSSIER_MIGRATE_DATABASE": "host=/nowhere dbname=x user=x",
                       "DOSSIER_MASTER_KEY": "A" * 44}
        tried = set()
        for place, words, is_whole in commands_of_programs():
            if not is_whole or words[:2] in (["dossierd", "run"], ["dossier", "calibrate"]):
                continue
            # A process id, and the number of a migration.
            words = ["1" if word in ("PID", "$MAINPID", "N") else word for word in words]
            if "…" in " ".join(words) or tuple(words) in tried or words[-1] == "up" and len(words) == 2:
                continue
            tried.add(tuple(words))
            with self.subTest(place=place, command=words):
                run = subprocess.run([BUILD / words[0], *words[1:]], capture_output=True, text=True,
                                     env=environment, input="", timeout=120)
                self.assertNotEqual(run.returncode, 64, run.stderr)
        self.assertGreater(len(tried), 50)


class Coverage(unittest.TestCase):
    def test_the_commands_below_each_heading_are_run_or_listed(self):
        # This file has the headings of NOT_RUN too.
        tests = "".join(path.read_text() for path in (ROOT / "Tests").rglob("*.py"))
        missing, found = [], set()
        for path in [ROOT / "README.md", ROOT / "deploy/README.md", ROOT / "deploy/ha/README.md"]:
            heading = None
            for title, _ in re.findall(r"(?m)^#{2,3} (.*)$|^ *(```sh)$", path.read_text()):
                heading = title or heading
                if title:
                    continue
                found.add(heading)
                if f'"{heading}"' not in tests and heading != "Install in ten steps":
                    missing.append(heading)
        self.assertEqual(missing, [])
        self.assertLessEqual(set(NOT_RUN), found)


class Output(Administration):
    """Runs commands of the operator's guide on a deployment, and looks at what they print."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = cls.site.folder / "guide"
        cls.folder.mkdir()
        programs = cls.folder / "bin"
        programs.mkdir()
        for program in [*PROGRAMS, "dossier-pictures"]:
            (programs / program).symlink_to(BUILD / program)
        cls.environment = {**cls.site.environment, "PATH": f"{programs}:{os.environ['PATH']}"}

    def run_script(self, script, **places):
        """Runs a script of the guide, with other places for those of an installation."""
        for before, after in {
            " --config /etc/dossier/dossier.conf": "", "/root/": f"{self.folder}/",
            "/tmp/": f"{self.folder}/", "/etc/nginx/conf.d/": f"{self.site.folder}/",
            "journalctl -u dossierd -o cat": f"cat {self.site.folder}/dossierd.log",
            "127.0.0.1:8080": f"127.0.0.1:{self.site.port}", **places,
        }.items():
            script = script.replace(before, after)
        run = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], capture_output=True, text=True,
                             env=self.environment, cwd=self.folder, timeout=120)
        self.assertEqual(run.returncode, 0, script + run.stdout + run.stderr)
        return run.stdout

    def test_settings_are_changed_and_shown(self):
        for heading, *printed in [
            ("Configure sign-up and second factors", r"settings\.sign_up +verify_first",
             r"settings\.mfa +optional"),
            ("Choose how long data is kept", r"settings\.audit_retention_days +90",
             r"settings\.anonymous_user_retention_days +7"),
            ("Show settings and write files for nginx", r"(?m)^issuer +\S+", r"(?m)^workers +\S+"),
            ("Change the request limits of nginx", "limit_req_zone", "rate=100r/s"),
        ]:
            script, = guide.commands(heading)
            said = self.run_script(script)
            for line in printed:
                self.assertRegex(said, line)
        self.site.dossier("app", "set", "sign_up=null", "mfa=null", "mfa_issuer=null",
                          "audit_retention_days=null", "anonymous_user_retention_days=null")

    def test_a_set_of_breached_passwords_is_built(self):
        script, = guide.commands("Refuse breached passwords")
        (self.folder / "pwnedpasswords.txt").write_text(
            "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:9659365\r\n")
        said = self.run_script(script, **{"/var/lib/dossier": str(self.folder)})
        self.assertRegex(said, r"(?m)^passwords +1$")

    def test_the_doctor_reports_each_check(self):
        script, = guide.commands("Run the doctor")
        said = self.run_script(script)
        for what in ["settings", "database", "writes", "connections", "clock", "mail queue", "hosts"]:
            self.assertRegex(said, rf"(?m)^{what} +-$")

    def test_an_administrator_gets_a_link(self):
        script, = guide.commands("Add administrators")
        said = self.run_script(script)
        self.assertRegex(said, r"/console/-/start#ds_admin_[\w-]+")

    def test_users_are_imported_and_exported(self):
        script, = guide.commands("Import and export users")
        self.assertRegex(self.run_script(script), r"(?m)^created +2$")
        results = [json.loads(line) for line in
                   (self.folder / "results.ndjson").read_text().splitlines()]
        self.assertEqual([row["status"] for row in results], ["created"] * 2)
        exported = [json.loads(line) for line in
                    (self.folder / "exported.ndjson").read_text().splitlines()]
        lin = next(user for user in exported if user.get("email") == "lin@example.com")
        self.assertEqual((lin["name"], lin["metadata"]), ("Lin", {"theme": "dark"}))

    def test_a_picture_is_decoded(self):
        script, = guide.commands("Test the picture decoder")
        Image.new("RGB", (40, 30), "red").save(self.folder / "FILE", "PNG")
        self.run_script(script)
        self.assertIn(b"\xff\xd8\xff", (self.folder / "answer").read_bytes())

    def test_the_log_is_filtered_by_level_and_by_request(self):
        answer = self.site.get("/v1/me")
        identifier = answer.headers["X-Request-Id"]
        with open(self.site.folder / "dossierd.log", "a") as log:
            log.write("a line that is not JSON\n")
            log.write('{"level":"error","message":"looked for"}\n')
        # The first command stands in a sentence.
        level, = re.findall(r"`(journalctl [^`]*)`", guide.section("Read the logs"))
        said = self.run_script(level)
        self.assertIn("looked for", said)
        self.assertNotIn("GET /v1/me", said)
        script, = guide.commands("Read the logs")
        rows = [json.loads(line) for line in
                self.run_script(script, ID=identifier).splitlines()]
        self.assertEqual([(row["route"], row["status"]) for row in rows], [("GET /v1/me", 401)])

    def test_migrations_are_listed(self):
        script = guide.scripts((ROOT / "migrations/README.md").read_text())[0]
        script = re.sub(r"(?m)^(dossier-migrate \w+)", rf"\1 --migrations {ROOT}/migrations", script)
        self.environment = {**self.environment, "DOSSIER_MIGRATE_DATABASE": self.site.conninfo("owner")}
        said = self.run_script(script.replace("--grant-to dossier", "--grant-to server"))
        self.assertRegex(said, r"(?m)^0016 +\w+ +applied ")


class ManualPages(unittest.TestCase):
    def test_each_command_has_a_place_in_the_manual(self):
        for program in PROGRAMS:
            made = subprocess.run([ROOT / "deploy/manual", "8", BUILD / program], check=True,
                                  capture_output=True, text=True).stdout
            # groff warns of each request or character that it does not know.
            shown = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-P-c"], input=made,
                                   capture_output=True, text=True, check=True)
            self.assertEqual(shown.stderr, "")
            text = re.sub(r".\x08", "", shown.stdout)
            declared = json.loads(subprocess.run(
                [BUILD / program, "--experimental-dump-help"], check=True, capture_output=True,
                text=True).stdout)["command"]

            def walk(command, words):
                for child in command.get("subcommands", []):
                    if child["shouldDisplay"] and child["commandName"] != "help":
                        name = f"{words} {child['commandName']}"
                        self.assertIn(f"\n   {name}\n", text)
                        walk(child, name)

            walk(declared, program)
            self.assertIn("--config <config>" if program != "dossier-migrate" else "--grant-to", text)


if __name__ == "__main__":
    unittest.main()
