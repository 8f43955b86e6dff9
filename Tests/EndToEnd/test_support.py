"""Tests the commands for users who need help, and the deletion of apps."""

import json
import os
import pty
import subprocess
import unittest

from asking import ADDRESS
from cases import Administration
from machine import BUILD, wait_until


class Support(Administration):
    def dossier(self, *arguments, **options):
        return self.site.dossier(*arguments, **options)

    def test_a_created_user_chooses_a_password_by_mail(self):
        made = self.dossier("user", "create", "email=made@example.com", "email_verified=true",
                            "name=12", 'metadata={"seats": 4}', "--mail")
        self.assertEqual((made["email_verified"], made["name"]), (True, "12"))
        code = self.site.mailed("made@example.com", "ds_reset")
        self.expect(self.post("/v1/password/reset", {"token": code, "password": "chosen from a code"}), 200)
        grant = self.expect(self.login("made@example.com", "chosen from a code"), 200).json
        self.assertEqual(grant["user_id"], made["id"])
        self.assertEqual(self.me(grant, "/metadata").json, {"seats": 4})
        self.assertEqual(
            [event["action"] for event in self.audit_events("--user", made["id"])][-2:],
            ["password_reset_mail", "user_create"])
        self.refused(11, "user", "create", "email=MADE@example.com", "email_verified=true",
                     words="/email")
        self.refused(12, "user", "create", "shoe_size=44", words="/shoe_size")
        self.refused(64, "user", "create", "name", words="'name' is invalid for '<member=value>")

    def test_a_user_is_created_with_a_password_from_a_file(self):
        made = self.dossier("user", "create", "email=typed@example.com", "--password-file", "-",
                            given="said by keyboard\n")
        grant = self.expect(self.login("typed@example.com", "said by keyboard"), 200).json
        self.assertEqual(grant["user_id"], made["id"])
        path = self.site.folder / "user.json"
        path.write_text(json.dumps({"name": "Filed", "properties": {"seat": 1}}))
        self.assertEqual(self.dossier("user", "create", "--from", path)["name"], "Filed")
        path.write_text("[]")
        self.refused(12, "user", "create", "--from", path, words="not a JSON object")
        self.refused(12, "user", "create", "email=w@example.com", "--password-file", "-",
                     given="short\n", words="/password")

    def test_a_password_is_set_and_the_owner_is_notified(self):
        grant = self.verified("forgot@example.com")
        self.expect(self.post("/v1/me/api-keys", {"name": "one"}, token=grant["access_token"]), 201)
        self.dossier("user", "password", "forgot@example.com", "--from", "-",
                     given="said on the phone\n")
        self.expect(self.me(grant), 401, "session_ended")
        self.expect(self.login("forgot@example.com"), 401, "wrong_credentials")
        again = self.expect(self.login("forgot@example.com", "said on the phone"), 200).json
        self.assertEqual(self.me(again, "/api-keys").json, [])
        events = [(event["action"], event["actor"]) for event in
                  self.audit_events("--user", "forgot@example.com")]
        self.assertIn(("password_set", "operator:tester"), events)
        wait_until(lambda: "set a new password for your account" in "".join(
            self.site.mails("forgot@example.com")), what="the mail")
        # A user who was imported without a password now has one.
        made = self.dossier("user", "create", "email=bare@example.com")
        self.dossier("user", "password", made["id"], "--from", "-", given="the first of all\n")
        self.expect(self.login("bare@example.com", "the first of all"), 200)
        self.refused(12, "user", "password", made["id"], "--from", "-", given="bare\n",
                     words="/password")
        self.refused(64, "user", "password", made["id"], words="--mail or --from")
        anonymous = self.site.login()["user_id"]
        self.refused(10, "user", "password", anonymous, "--from", "-", given="of nobody at all")
        self.refused(10, "user", "password", anonymous, "--mail", words="does not exist")

    def test_a_reset_is_mailed_to_the_user_of_the_address(self):
        grant = self.expect(self.register("owned@example.com", "an owners password"), 201).json
        self.refused(78, "user", "password", grant["user_id"], "--mail", DOSSIER_MAIL="",
                     words="does not send email")
        self.expect(self.register("OWNED@example.com", "a rivals password"), 409, "email_taken")
        for user in [grant["user_id"], "owned@example.com"]:
            self.dossier("user", "password", user, "--mail")
        code = self.site.mailed("owned@example.com", "ds_reset", 2)
        again = self.expect(
            self.post("/v1/password/reset", {"token": code, "password": "chosen anew"}), 200).json
        self.assertEqual(again["user_id"], grant["user_id"])
        self.expect(self.me(grant), 401, "session_ended")
        self.expect(self.login("owned@example.com", "chosen anew"), 200)

    def test_all_data_of_a_user_is_exported(self):
        grant = self.verified("data@example.com")
        own = self.expect(self.me(grant, "/export"), 200).json
        told = self.dossier("user", "export", "data@example.com")
        self.assertEqual(set(told), set(own))
        self.assertEqual(told["profile"], own["profile"])
        self.assertEqual(self.audit_events("--user", "data@example.com")[0]["action"], "user_export")
        self.refused(10, "user", "export", "0" * 24)

    def exhaust_limit(self, email, address="127.0.0.1"):
        """Guesses until the rate limit refuses."""
        while True:
            answer = self.login(email, "a wrong guess", headers={ADDRESS: address})
            if answer.status == 429:
                return
            self.expect(answer, 401)

    def sign_in(self, email, address):
        """Signs in from an unknown device. Returns the status."""
        return self.login(email, headers={ADDRESS: address}).status

    def test_a_rate_limit_of_a_user_is_reset(self):
        self.site.dossier("app", "set", "failures_per_identifier_hourly=20",
                          "failures_per_ip=100")
        for name in ["slow", "other"]:
            self.verified(f"{name}@example.com")
        self.exhaust_limit("slow@example.com", "198.51.100.7")
        self.exhaust_limit("other@example.com", "198.51.100.7")
        self.assertEqual(self.sign_in("slow@example.com", "198.51.100.7"), 429)
        self.assertGreater(self.dossier("rate-limit", "reset", "SLOW@example.com")["reset"], 0)
        self.assertEqual(self.sign_in("slow@example.com", "198.51.100.7"), 200)
        self.assertEqual(self.sign_in("other@example.com", "198.51.100.7"), 429)
        # The newest thousand refusals name the networks; the operator may name another.
        self.site.sql("insert into audit (user_id, event_id, app_id, action, actor, address) "
                      "select app_id, new_object_id(), app_id, 'rate_limited', 'unauthenticated', "
                      "'192.0.2.1' from apps, generate_series(1, 1000) where name = 'default'")
        self.dossier("rate-limit", "reset", "other@example.com")
        self.assertEqual(self.sign_in("other@example.com", "198.51.100.7"), 429)
        self.dossier("rate-limit", "reset", "other@example.com", "--network", "198.51.100.7")
        self.assertEqual(self.sign_in("other@example.com", "198.51.100.7"), 200)
        self.site.sql("delete from audit where address = '192.0.2.1'")
        # The limits of an address without a user, over all networks.
        for number in range(6):
            answer = self.login("nobody@example.com", headers={ADDRESS: f"203.0.113.{number}"})
            if answer.status == 429:
                break
        self.dossier("rate-limit", "reset", "nobody@example.com")
        self.expect(self.login("nobody@example.com", headers={ADDRESS: "203.0.113.9"}), 401)
        event = next(event for event in self.audit_events() if event["action"] == "rate_limit_reset")
        self.assertEqual(event["actor"], "operator:tester")
        self.refused(64, "rate-limit", "reset")
        self.refused(12, "rate-limit", "reset", "--network", "here", words="/network: ")
        self.refused(64, "rate-limit", "reset", "slow@example.com", "--all")

    def test_rate_limits_of_a_network_or_of_the_app_are_reset(self):
        self.site.dossier("app", "set", "anonymous_users_per_ip=2")
        self.addCleanup(self.site.dossier, "app", "set", "anonymous_users_per_ip=null")

        def register(address):
            return self.post("/v1/login/anonymous", {}, headers={ADDRESS: address}).status

        for address in ["198.51.100.20", "198.51.100.21"]:
            self.assertEqual([register(address) for _ in range(3)], [200, 200, 429])
        self.dossier("rate-limit", "reset", "--network", "198.51.100.20")
        self.assertEqual([register(f"198.51.100.{end}") for end in (20, 21)], [200, 429])
        self.dossier("rate-limit", "reset", "--all")
        self.assertEqual(register("198.51.100.21"), 200)

    # Apps

    def test_an_app_is_deleted_with_its_users_and_nothing_else(self):
        headers = self.site.add_app("going")
        self.site.add_app("next-to-it")
        grants = [self.expect(self.post("/v1/login/anonymous", {}, headers=headers), 200).json
                  for _ in range(3)]
        one = self.expect(self.register("going@example.com", headers=headers), 201).json
        stays = self.verified("stays@example.com")
        key = self.site.client("--app", "going", "scopes=read:users")["secret"]
        # More users than one batch deletes.
        self.site.sql("insert into users (user_id, app_id, anonymous) select new_object_id(), app_id, "
                      "true from apps, generate_series(1, 250) where name = 'going'")
        app = self.site.sql("select app_id from apps where name = 'going'")
        self.refused(23, "app", "delete", "--app", "going", words="going")
        self.refused(11, "app", "delete", "--app", "default", "--yes", words="setting app")
        self.refused(10, "app", "delete", "--app", "gone", "--yes")
        self.assertEqual(self.dossier("app", "delete", "--app", "going", "--yes"),
                         {"name": "going", "users": 254})
        for grant in [*grants, one]:
            self.assertNotEqual(self.me(grant, headers=headers).status, 200)
        self.assertNotEqual(self.site.get("/v1/users", token=key).status, 200)
        self.expect(self.post("/v1/login/anonymous", {}, headers=headers), 404, "app_not_found")
        self.expect(self.me(stays), 200)
        # No table has rows of the app, except devices and rate limits, which maintenance deletes later.
        tables = self.site.sql(
            "select table_name from information_schema.columns where table_schema = 'public' and "
            "column_name = 'app_id' and table_name in (select relname from pg_class "
            "where relkind = 'r')").split()
        left = [table for table in tables if self.site.sql(
            f"select count(*) from {table} where app_id = '{app}'") != "0"]
        self.assertEqual(set(left) - {"devices", "rate_limits"}, set())
        event = next(event for event in self.audit_events() if event["action"] == "app_delete")
        self.assertEqual((event["app"], event["detail"]), (None, {"name": "going", "users": 254}))
        self.assertEqual(self.dossier("app", "create", "going")["name"], "going")

    # At a terminal

    def test_a_deletion_asks_for_confirmation(self):
        user = self.site.login()["user_id"]

        def confirm_deletion(answer):
            """Types the answer at a terminal. Returns the exit status."""
            person, terminal = pty.openpty()
            os.write(person, answer)
            run = subprocess.run(
                [BUILD / "dossier", "user", "delete", user], stdin=terminal, capture_output=True,
                text=True, env=self.site.environment)
            os.close(person)
            os.close(terminal)
            self.assertIn("[y/N]", run.stderr)
            return run.returncode

        self.assertEqual(confirm_deletion(b"n\n"), 23)
        self.assertEqual(confirm_deletion(b"\n"), 23)
        self.assertEqual(self.dossier("user", "show", user)["id"], user)
        self.assertEqual(confirm_deletion(b"y\n"), 0)
        self.refused(10, "user", "show", user)

    def test_shells_complete_the_commands_of_all_programs(self):
        for program, word in [("dossier", "rate-limit"), ("dossierd", "socket-unit"),
                              ("dossier-migrate", "status")]:
            for shell in ["bash", "zsh", "fish"]:
                script = subprocess.run(
                    [BUILD / program, "--generate-completion-script", shell], capture_output=True,
                    text=True, check=True).stdout
                self.assertIn(word, script)
                if shell == "bash":
                    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


if __name__ == "__main__":
    unittest.main()
