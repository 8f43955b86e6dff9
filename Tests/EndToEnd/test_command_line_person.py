"""The person on the command line, and the id of a request, in the audit log."""

import subprocess
import unittest

from asking import ADDRESS
from cases import Case
from machine import BUILD, wait_until


class CommandLinePerson(Case):
    SETTINGS = {"DOSSIER_LOG_ADDRESSES": "network"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.operator = cls.site.client("--operator")["secret"]

    def person(self, *words, status=0, **environment):
        """Blocks a new user, and returns the actor of the event with its name, or the error."""
        email = f"{self.count()}@example.com"
        user = self.expect(self.register(email), 201).json["user_id"]
        environment = {**self.site.environment, "DOSSIER_AS": "", **environment}
        run = subprocess.run([BUILD / "dossier", "user", "block", "--yes", user, *words],
                             env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(run.returncode, status, run.stderr)
        if status:
            return run.stderr
        path = f"/v1/audit?user={user}&action=user_block"
        event, = self.expect(self.site.request("GET", path, token=self.operator), 200).json
        return event["actor"], event["actor_name"]

    numbers = 0

    @classmethod
    def count(cls):
        cls.numbers += 1
        return cls.numbers

    def test_an_option_a_variable_and_sudo_name_the_person_in_this_order(self):
        names = {"DOSSIER_AS": "grace", "SUDO_USER": "alan"}
        self.assertEqual(self.person("--as", "ada", **names), ("operator:ada", "ada"))
        self.assertEqual(self.person(**names), ("operator:grace", "grace"))
        self.assertEqual(self.person(SUDO_USER="alan"), ("operator:alan", "alan"))
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True)
        self.assertEqual(self.person(SUDO_USER="")[0], f"operator:{user.stdout.strip()}")

    def test_hostile_names_are_refused_or_escaped(self):
        for name in ["ada lovelace", "a;b", "a'b", "\x1b[31mroot", "ada\nroot", "a:b", "ä",
                     "x" * 65, "administrator:" + "a" * 24]:
            self.assertIn("--as needs", self.person("--as", name, status=64))
            self.assertIn("DOSSIER_AS needs", self.person(DOSSIER_AS=name, status=64))
        # The system has such names, so that they must not stop a command.
        self.assertEqual(self.person(SUDO_USER="CORP\\ada lovelace\n")[0],
                         "operator:CORP%5Cada%20lovelace%0A")
        actor, name = self.person(SUDO_USER="é" * 200)
        self.assertEqual((len(name) <= 64, set(name)), (True, set("%C3A9")), actor)

    def test_an_account_of_the_console_is_the_actor(self):
        site = self.site
        made = site.dossier("administrator", "create", "grace@example.org", "--role", "owner",
                            "--system-user", "ghopper")
        account = f"administrator:{made['id']}"
        for name in ["ghopper", "grace@example.org", "Grace@EXAMPLE.org"]:
            self.assertEqual(self.person("--as", name), (account, "grace@example.org"))
        self.assertEqual(self.person(SUDO_USER="ghopper"), (account, "grace@example.org"))
        # A name that only resembles one is no account.
        self.assertEqual(self.person("--as", "GHopper")[0], "operator:GHopper")
        # Two accounts cannot have one system user.
        for words in [["create", "alan@example.org", "--role", "viewer"], ["set", self.other()]]:
            run = site.dossier("administrator", *words, "--system-user", "ghopper", check=False)
            self.assertEqual(run.returncode, 12, run.stderr)
            self.assertIn("/system_user", run.stderr)
        run = site.dossier("administrator", "set", made["id"], "--system-user", "a b", check=False)
        self.assertEqual(run.returncode, 12, run.stderr)
        # An account that may do nothing is still the person: the name grants nothing.
        site.dossier("administrator", "set", made["id"], "--system-user", "")
        self.assertEqual(self.person("--as", "ghopper")[0], "operator:ghopper")

    def other(self):
        return self.site.dossier("administrator", "create", "other@example.org", "--role",
                                 "admin")["id"]

    def test_the_filter_operator_means_all_persons_of_the_command_line(self):
        self.person("--as", "one.person")
        self.person("--as", "two.persons")

        def found(*words):
            events = self.site.dossier("audit", "--action", "user_block", *words)
            return {event["actor"] for event in events}

        both = {"operator:one.person", "operator:two.persons"}
        self.assertLessEqual(both, found("--actor", "operator"))
        self.assertEqual(found("--actor", "operator:one.person"), {"operator:one.person"})
        self.assertEqual(found("--actor", "operator:one"), set())
        everything = self.site.dossier("audit", "--actor", "operator", "--all")
        self.assertLessEqual(both, {event["actor"] for event in everything})
        self.assertTrue(all(event["actor"].startswith("operator:") for event in everything))
        ids = [event["id"] for event in everything]
        self.assertEqual(ids, sorted(ids, reverse=True))

    def test_a_request_is_in_the_log_and_in_the_audit_log(self):
        email = f"{self.count()}@example.com"
        self.register(email)
        fields = {"X-Request-Id": "joins-both", ADDRESS: "203.0.113.77"}
        grant = self.expect(self.login(email, headers=fields), 200).json
        events = self.site.dossier("audit", "--request", "joins-both")
        self.assertEqual([(event["action"], event["request_id"], event["user_id"])
                          for event in events], [("login", "joins-both", grant["user_id"])])
        line = self.line("joins-both")
        self.assertEqual((line["user"], line["address"]), (grant["user_id"], "203.0.113.0/24"))
        path = "/v1/audit?request=joins-both"
        found = self.expect(self.site.request("GET", path, token=self.operator), 200).json
        self.assertEqual([event["id"] for event in found], [event["id"] for event in events])
        self.assertEqual(self.site.dossier("audit", "--request", "joins"), [])
        run = self.site.dossier("audit", "--request", "no request", check=False)
        self.assertEqual(run.returncode, 12, run.stderr)
        # IPv6 keeps the network of a site; the user sees the id of the request too.
        self.expect(self.site.request("GET", "/v1/me", token=grant["access_token"], headers={
            "X-Request-Id": "by-six", ADDRESS: "2001:db8:1:2::3"}), 200)
        self.assertEqual(self.line("by-six")["address"], "2001:db8:1::/48")

    def line(self, request):
        """Returns the line of a request, which is written after its response."""
        def found():
            return [line for line in self.site.log_lines() if line.get("request") == request]

        wait_until(found, what=f"the line of {request}")
        line, = found()
        return line

    def test_addresses_are_logged_by_setting_only(self):
        for value, address in [("off", None), ("full", "203.0.113.78")]:
            self.restart(DOSSIER_LOG_ADDRESSES=value)
            self.site.request("GET", "/v1/me", headers={
                "X-Request-Id": f"logged-{value}", ADDRESS: "203.0.113.78"})
            self.assertEqual(self.line(f"logged-{value}").get("address"), address)
        run = subprocess.run([BUILD / "dossierd", "config"], capture_output=True, text=True,
                             env={**self.site.environment, "DOSSIER_LOG_ADDRESSES": "some"})
        self.assertIn("log_addresses is some, not off, network or full", run.stdout + run.stderr)


if __name__ == "__main__":
    unittest.main()
