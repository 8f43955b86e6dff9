"""The base classes of the test cases."""

import concurrent.futures
import re
import signal
import subprocess
import threading
import unittest

from asking import JSON
from deployment import Deployment
from machine import TOOLS, wait_until


class Case(unittest.TestCase):
    """Tests on one deployment for each class."""

    SETTINGS = {}

    NGINX_PROCESSES = 2

    @classmethod
    def setUpClass(cls):
        cls.site = Deployment(settings=cls.SETTINGS.items(), nginx_processes=cls.NGINX_PROCESSES)

    @classmethod
    def tearDownClass(cls):
        cls.site.stop()

    def restart(self, ready=True, **settings):
        """Restarts dossierd with other settings. None removes a setting."""
        self.site.supervisor.send_signal(signal.SIGTERM)
        self.site.supervisor.wait(120)
        self.site.environment.update(settings)
        for name in [name for name, value in settings.items() if value is None]:
            del self.site.environment[name]
        self.site.start_dossierd()
        if ready:
            self.site.wait_until_ready()

    def expect(self, answer, status, code=None):
        self.assertEqual(answer.status, status, answer.body)
        if code:
            self.assertEqual(answer.json["code"], code)
            self.assertEqual(answer.headers["Content-Type"], "application/problem+json")
        return answer

    def post(self, path, body=None, **options):
        headers = {**(JSON if body is not None else {}), **options.pop("headers", {})}
        return self.site.request("POST", path, body, headers, **options)

    def own_email(self):
        """Returns an address that no other test has."""
        return f"{self._testMethodName.replace('_', '-')[-40:]}@example.com"

    def register(self, email, password="correct horse", **options):
        return self.post("/v1/register", {"email": email, "password": password}, **options)

    def verified(self, email, password="correct horse", **options):
        """Registers a user and verifies the address; returns the answer to the registration."""
        grant = self.expect(self.register(email, password, **options), 201).json
        self.expect(self.verify(self.site.mailed(email, "ds_verify"), grant, **options), 204)
        return grant

    def verify(self, token, grant=None, password=None, **options):
        """Sends a token of a mail, with the user's session or password."""
        body = {"token": token, **({} if password is None else {"password": password})}
        if grant:
            options["token"] = grant["access_token"]
        return self.post("/v1/email/verify", body, **options)

    def link(self, grant, **body):
        """Links credentials; `grant` gets the tokens of the new session."""
        answer = self.post("/v1/me/identities", body, token=grant["access_token"])
        if answer.status == 200:
            grant.update(answer.json)
        return answer

    def codes(self, email):
        """Returns the codes mailed to an address, the oldest first."""
        return [found[0] for mail in self.site.mails(email)
                for found in [re.search(r"\b\d{4} \d{4}\b", mail)] if found]

    def mailed_code(self, email, count=1):
        """Waits for `count` codes mailed to an address. Returns the newest."""
        wait_until(lambda: len(self.codes(email)) >= count, what=f"{count} codes to {email}")
        return self.codes(email)[-1]

    def change_email(self, grant, email, **options):
        """Changes the address of a user to a new one."""
        options["token"] = grant["access_token"]
        count = len(self.codes(email))
        asked = self.expect(self.post("/v1/me/email", {"email": email}, **options), 202).json
        body = {"flow": asked["flow"], "code": self.mailed_code(email, count + 1)}
        self.expect(self.post("/v1/me/email/verify", body, **options), 204)

    def full_device(self, **app):
        """Returns the header of a device with the maximum number of users."""
        device = {}
        for _ in range(20):
            answer = self.post("/v1/login/anonymous", {}, headers={**app, **device})
            device = {"Dossier-Device": self.expect(answer, 200).json["device_secret"]}
        return device

    def renewed(self, answer, grant):
        """Replaces the tokens in `grant` by those of a new session, as after a password change."""
        grant.update(self.expect(answer, 200).json)
        return answer

    def reset(self, token, password, **options):
        """Sets a new password with a mailed token."""
        return self.post(
            "/v1/password/reset", {"token": token, "password": password}, **options)

    def sign_up(self, email, password="correct horse", **options):
        """Registers a user of an app with `verify_first`; returns the tokens."""
        count = len(self.codes(email))
        flow = self.expect(self.register(email, password, **options), 202).json["flow"]
        code = self.mailed_code(email, count + 1)
        return self.expect(self.enter(flow, code, **options), 200).json

    def enter(self, flow, code, **options):
        """Enters a code that was mailed."""
        return self.post("/v1/login/code", {"flow": flow, "code": code}, **options)

    def sign_in_by_code(self, email, **options):
        """Signs in by a mailed code; returns the tokens."""
        count = len(self.codes(email))
        asked = self.post("/v1/login/code/request", {"email": email}, **options)
        flow = self.expect(asked, 202).json["flow"]
        code = self.mailed_code(email, count + 1)
        return self.expect(self.enter(flow, code, **options), 200).json

    def reset_by_mail(self, email, password, **options):
        """Resets a password by the token of a mail; returns the tokens."""
        count = len(self.site.tokens(email, "ds_reset"))
        self.expect(self.post("/v1/password/reset-request", {"email": email}, **options), 202)
        token = self.site.mailed(email, "ds_reset", count + 1)
        return self.expect(self.reset(token, password, **options), 200).json

    def login(self, email, password="correct horse", **options):
        return self.post(
            "/v1/login/password", {"email": email, "password": password}, **options)

    def refresh(self, grant):
        return self.post("/v1/token/refresh", {"refresh_token": grant["refresh_token"]})

    def me(self, grant, path="", **options):
        return self.site.get(f"/v1/me{path}", token=grant["access_token"], **options)


class Administration(Case):
    """Tests that use the operator's command line."""

    def refused(self, status, *arguments, words="", **options):
        run = self.site.dossier(*arguments, check=False, **options)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        self.assertIn(words, run.stderr)
        self.assertEqual(run.stdout, "")

    def audit_events(self, *arguments):
        return self.site.dossier("audit", *arguments)


class Held:
    """A statement in an open transaction, whose locks last until `release`, which rolls it back."""

    def __init__(self, site, statement):
        self.psql = subprocess.Popen(
            [TOOLS / "psql", "-h", site.folder, "-U", "owner", "-d", "dossier", "-Atq",
             "-v", "ON_ERROR_STOP=1"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        print(f"begin; {statement}; select 'held';", file=self.psql.stdin, flush=True)
        for line in self.psql.stdout:
            if line == "held\n":
                return
        raise RuntimeError(f"refused: {statement}")

    def release(self):
        # The lock lasts until the session ends.
        self.psql.communicate()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.release()


class Waiting(Case):
    """Tests of concurrent requests, one of which waits for a lock."""

    # One process sends two requests to different workers. In one worker, two writes of a user
    # would wait for each other, not for the lock.
    NGINX_PROCESSES = 1

    def setUp(self):
        super().setUp()
        self.threads = []

    def started(self, request):
        """Starts a request. Returns a function that waits for its response."""
        answers = []
        thread = threading.Thread(target=lambda: answers.append(request()))
        thread.start()
        self.threads.append(thread)

        def answer():
            thread.join()
            return answers[0]

        return answer

    def wait_for(self, count):
        """Waits until `count` requests wait for a lock, or one has a response."""
        wait_until(lambda: self.site.waiting() >= count
                   or not all(thread.is_alive() for thread in self.threads),
                   what=f"{count} that wait")


def in_parallel(count, body):
    """Runs `body(0)` … on threads that start together; returns what they returned."""
    barrier = threading.Barrier(count)

    def run(index):
        barrier.wait()
        return body(index)

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))
