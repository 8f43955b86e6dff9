"""The curl examples of the reference run as printed, on a deployment with the sample users."""

import html
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

from PIL import Image

from authenticator import Authenticator
from cases import Case
from machine import BUILD, ROOT, wait_until
from reference import chapters

# The examples that cannot run as printed, each with the reason.
EXCEPT = {
    "POST /v1/login/jwt": "needs a token of an issuer that the app trusts",
    "POST /v1/login/connection": "needs a code of a service that knows the app",
    "POST /v1/login/second-factor/enroll": "needs an app that requires a second factor",
    "POST /v1/login/second-factor/passkey/options": "needs an app that requires a passkey",
    "POST /v1/login/passkey/options": "needs an app with passkeys",
    "POST /v1/login/passkey": "needs a device with a passkey",
    "POST /v1/register/passkey/options": "needs an app with passkeys",
    "POST /v1/register/passkey": "needs a device",
    "POST /v1/me/passkeys/options": "needs an app with passkeys",
    "POST /v1/me/passkeys": "needs a device",
    "PATCH /v1/me/passkeys/{identity}": "needs a passkey",
    "DELETE /v1/me/passkeys/{identity}": "needs a passkey",
    "DELETE /v1/users/{user}/passkeys/{identity}": "needs a passkey",
    "GET /v1/users/{user}/devices/{device}": "needs the id of a device",
    "DELETE /v1/users/{user}/devices/{device}": "needs the id of a device",
    "GET /v1/devices/{device}": "needs the id of a device",
    "DELETE /v1/users/{user}/consents/{client}": "needs a client that the user has allowed",
    "PUT /v1/users/{user}/documents": "needs the stored versions",
    "GET /v1/me/events": "does not end, and needs dossier-streams",
    "GET /v1/events": "needs an app with event_feed",
    "GET /v1/events/stream": "does not end, and needs dossier-streams",
    "GET /v1/revocations": "needs an app with revocation_feed",
    "POST /v1/webhooks/{webhook}/deliveries/{delivery}/retry": "needs a delivery",
    "POST /v1/support-sessions": "needs the code of a user",
    "GET /v1/support-sessions/{session}": "needs a session of support",
    "DELETE /v1/support-sessions/{session}": "needs a session of support",
    "POST /v1/users/{user}/merge": "needs users whom the examples before have not blocked",
    "POST /v1/merges/{merge}/undo": "needs a merge",
    "POST /v1/mails/{mail}/retry": "needs an email that waits for the relay",
    "DELETE /v1/mails/{mail}": "needs an email that waits for the relay",
}
# The examples that need what an error has: here the flow that waits for the second factor.
USING_AN_ERROR = {"POST /v1/login/second-factor"}
# One shell runs all examples. curl fails if the API returns an error.
SHELL = r"""
set -o pipefail
curl() { command curl -sS --fail-with-body "$@"; }
trap 'failed="$failed $LINENO"' ERR
for example in "$@"; do
  failed=
  . "$example"
  printf '\n\036%s\036%s\036\n' "$example" "$failed"
done
"""
QUESTION = re.compile(r"The (code|token) [\w ]+: $")


class Commands(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        program = cls.folder / "dossier"
        settings = shlex.join(f"{name}={value}" for name, value in cls.site.environment.items())
        program.write_text(f'#!/bin/sh\nexec env -i {settings} {BUILD}/dossier "$@"\n')
        program.chmod(0o755)
        # As deploy/up --seed adds them.
        seeded = subprocess.run(
            ["bash", "-euc", f'here={ROOT}; . {ROOT}/deploy/functions; add_sample_data "$1" "$2"', "bash",
             cls.folder, str(cls.site.port)], capture_output=True, text=True)
        assert seeded.returncode == 0, seeded.stderr
        Image.new("RGB", (40, 20), (200, 30, 30)).save(cls.folder / "picture.jpg", "JPEG")

    def examples(self):
        """Yields the name and the text of each example, in the order of the reference."""
        for path, page in chapters(self.site).items():
            for part in re.split(r'(?=<section class="part")', page):
                route = re.search(r'<p class="route"><b class="\w+">(\w+)</b> <code>(.*?)</code>', part)
                for title, text in re.findall(
                        r"<figcaption>(.*?)</figcaption><pre[^>]*>(.*?)</pre>", part, re.S):
                    # Some figures are responses, bodies, or for pages.
                    if "curl " in text:
                        name = f"{route[1]} {route[2]}" if route and title == "curl" else f"{path}: {title}"
                        yield name, html.unescape(text)

    def answer(self, example, said):
        """Returns what a reader types, from an email or an authenticator app."""
        question = QUESTION.search(said)
        if "authenticator" in question[0]:
            secrets = re.findall("[A-Z2-7]{32}", said) or ["A" * 32]
            return Authenticator({"id": "", "uri": "", "secret": secrets[-1]}).code()
        kind = {"code": r"\b\d{4} \d{4}\b", "token": r"\bds_\w+_[\w-]{20,}"}[question[1]]
        if "old address" in question[0]:
            kind = r"\bds_restore_[\w-]{20,}"
        addresses = set(re.findall(r"[\w.]+@example\.\w+", example)) or {"sofja@example.org"}

        def found():
            return [token for address in addresses for text in self.site.mails(address)
                    for token in re.findall(kind, text)]
        try:
            wait_until(found, what=f"a mail to {addresses}")
        except AssertionError as error:
            # The example fails, with its output.
            return str(error)
        return found()[-1]

    def run_all(self, examples):
        """Returns the output of each example that failed, by its name."""
        paths = {}
        for number, (name, text) in enumerate(examples):
            path = self.folder / f"{number:03}.sh"
            path.write_text(text + "\n")
            paths[str(path)] = name, text
        shell = subprocess.Popen(
            ["bash", "-c", SHELL, "bash", *paths], cwd=self.folder, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={"PATH": f"{self.folder}:{os.environ['PATH']}", "HOME": str(self.folder)})
        self.addCleanup(shell.stdout.close)
        self.addCleanup(shell.kill)
        left, failed, said = dict(paths), {}, ""
        while chunk := os.read(shell.stdout.fileno(), 1 << 20):
            said += chunk.decode(errors="replace")
            while end := re.search(r"\n\036(.*?)\036(.*?)\036\n", said):
                name, text = left.pop(end[1])
                if len(end[2].split()) > (name in USING_AN_ERROR):
                    failed[name] = f"{text}\n{said[:end.start()][-600:]}"
                said = said[end.end():]
            if QUESTION.search(said):
                _, text = next(iter(left.values()))
                shell.stdin.write(f"{self.answer(text, said)}\n".encode())
                shell.stdin.flush()
                said += "\n"
        shell.stdin.close()
        self.assertEqual(shell.wait(60), 0)
        self.assertEqual(left, {})
        return failed

    def test_the_examples_run_as_printed_in_the_order_of_the_pages(self):
        all_examples = list(self.examples())
        names = [name for name, _ in all_examples]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual(set(EXCEPT), set(names))
        routes = {f"{method.upper()} {path}" for path, item in
                  self.site.reference.document["paths"].items() for method in item}
        self.assertLessEqual(routes, set(names))
        failed = self.run_all(
            [(name, text) for name, text in all_examples if name not in EXCEPT])
        print(f"{len(names)} examples, {len(names) - len(EXCEPT) - len(failed)} run as printed")
        self.assertEqual(list(failed), [], "\n\n".join(failed.values()))
        # The reader's deployment, and one name for each variable.
        text = "\n".join(text for _, text in all_examples)
        self.assertIn(f"B=http://127.0.0.1:{self.site.port}\n", text)
        self.assertEqual(set(re.findall(r"Bearer (\S+?)[\"\\]", text)), {"$TOKEN", "$SECRET", "$OTHER"})
        self.assertEqual(set(re.findall(r"https?://[\w.:]+\.example\.com/dossier\.js", text)), set())


if __name__ == "__main__":
    unittest.main()
