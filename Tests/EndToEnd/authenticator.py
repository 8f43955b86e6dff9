"""An authenticator app, and the base class for tests of second factors."""

import base64
import hmac
import time

from cases import Case
from machine import wait_until

PERIOD = 30


class Authenticator:
    """Makes the codes of a secret.

    Source: RFC 6238.
    """

    def __init__(self, enrollment):
        self.id, self.uri = enrollment["id"], enrollment["uri"]
        self.secret = base64.b32decode(enrollment["secret"])

    def code(self, later=0):
        """Returns the code of the current time step, or of a later one."""
        step = int(time.time()) // PERIOD + later
        digest = hmac.digest(self.secret, step.to_bytes(8, "big"), "sha1")
        place = digest[-1] & 15
        number = int.from_bytes(digest[place:place + 4], "big") & 0x7fffffff
        return f"{number % 1_000_000:06}"

    def wrong(self):
        """Returns a code that is not valid now, nor up to three periods from now."""
        valid = {self.code(later) for later in range(-3, 4)}
        return next(code for code in map("{:06}".format, range(10)) if code not in valid)


class FactorCase(Case):
    """Tests on a deployment whose app offers second factors."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(mfa="optional", email_code=True)

    def set_mfa(self, mode):
        """Sets the mode of second factors for one test."""
        self.site.set_app(mfa=mode)
        self.addCleanup(self.site.set_app, mfa="optional")

    def enroll(self, grant, **options):
        """Starts the enrollment of an authenticator."""
        options["token"] = grant["access_token"]
        answer = self.post("/v1/me/second-factors", {}, **options)
        return Authenticator(self.expect(answer, 201).json)

    def confirm(self, grant, authenticator, code=None, **options):
        """Confirms a factor; `grant` gets the tokens of the new session."""
        options["token"] = grant["access_token"]
        answer = self.post(f"/v1/me/second-factors/{authenticator.id}/confirm",
                           {"code": code or authenticator.code()}, **options)
        if answer.status == 200:
            grant.update(answer.json)
        return answer

    def protected(self, grant, **options):
        """Gives a user an authenticator; returns it and the recovery codes."""
        authenticator = self.enroll(grant, **options)
        answer = self.expect(self.confirm(grant, authenticator, **options), 200)
        return authenticator, answer.json["recovery_codes"]

    def factors(self, grant, **options):
        return self.expect(self.me(grant, "/second-factors", **options), 200).json

    def asked(self, answer, *methods):
        """Returns the flow of a sign-in that requires a second factor."""
        body = self.expect(answer, 401, "additional_factor_required").json
        self.assertEqual(body["methods"], list(methods or ["totp", "recovery_code"]))
        self.assertEqual(body["expires_in"], 600)
        self.assertNotIn("access_token", body)
        return body["flow"]

    def prove(self, flow, code, **options):
        return self.post("/v1/login/second-factor", {"flow": flow, "code": code}, **options)

    def later(self, user):
        """Advances the user by some minutes, so that the code of the current time step is unused."""
        self.site.sql(f"update second_factors set last_step = 0 where user_id = '{user}'")

    def sign_in(self, email, authenticator, **options):
        """Signs in by the password and a code; returns the tokens."""
        flow = self.asked(self.login(email, **options))
        self.later(self.site.sql(
            f"select user_id from second_factors where factor_id = '{authenticator.id}'"))
        return self.expect(self.prove(flow, authenticator.code(), **options), 200).json

    def in_one_step(self, attempt):
        """Returns the result of an attempt that ran within one time step."""
        while True:
            before = int(time.time()) // PERIOD
            result = attempt()
            if int(time.time()) // PERIOD == before:
                return result

    def events(self, user, action):
        """Returns the details of a user's events in the audit log."""
        found = self.site.sql(
            "select actor || ' ' || detail::text from audit "
            f"where user_id = '{user}' and action = '{action}' order by event_id")
        return found.splitlines()

    def expect_mail(self, email, words, count=1):
        def found():
            return sum(words in " ".join(mail.split()) for mail in self.site.mails(email))

        wait_until(lambda: found() >= count, what=f"a mail about: {words}")
        self.assertEqual(found(), count)
