"""Tests rate limits by user and by network, and the header fields that report them."""

import itertools
import re
import time
import unittest

from cases import Case, in_parallel
from asking import ADDRESS
from deployment import Deployment


def limits(answer):
    """Returns the quota, window, rest and reset time of each policy in the header fields."""
    def members(field):
        found = {}
        for member in answer.headers[field].split(", "):
            name, *parameters = member.split(";")
            assert re.fullmatch('"[a-z-]+"', name), member
            found[name.strip('"')] = {
                key: int(value) for key, value in (p.split("=") for p in parameters)}
        return found

    policies, states = members("RateLimit-Policy"), members("RateLimit")
    assert policies.keys() == states.keys(), (policies, states)
    return {name: {**policies[name], **states[name]} for name in policies}


# A window so long that no attempt becomes available during a test, and the seconds of one attempt.
DAY = {"failure_minutes": 1_440}
SHARE = 8_640


class Quota:
    """The attempts that a limit allows, with those that become available on a slow machine."""

    def __init__(self, case, whole, share):
        """`share` is the number of seconds until one attempt becomes available."""
        self.case, self.whole, self.share = case, whole, share
        self.start, self.passed, self.succeeded = time.monotonic(), 0, 0

    def count(self, answers):
        self.passed += sum(answer.status != 429 for answer in answers)
        self.succeeded += sum(answer.status == 200 for answer in answers)
        back = (time.monotonic() - self.start) // self.share
        self.case.assertLessEqual(self.passed, self.whole + back)

    def use_up(self, attempt):
        """Makes attempts, each with its number, until one is refused. Returns that response."""
        for number in itertools.count():
            answer = attempt(number)
            self.count([answer])
            if answer.status == 429:
                self.case.assertGreaterEqual(self.passed, self.whole)
                return answer


class Limits(Case):
    def backdate(self, app, seconds):
        """Backdates the attempts of an app, without a time zone of the session for Citus."""
        before = f"(theoretical_arrival_at at time zone 'UTC' - interval '{seconds} seconds')"
        self.site.sql(f"update rate_limits set theoretical_arrival_at = {before} at time zone 'UTC' "
                      f"where app_id = (select app_id from apps where name = '{app['Dossier-App']}')")

    def attempt(self, app, email, password="wrong horse", place="192.0.2.1", **headers):
        return self.login(email, password, headers={**app, ADDRESS: place, **headers})

    def anonymous(self, app, place):
        return self.post("/v1/login/anonymous", {}, headers={**app, ADDRESS: place})

    # Logins

    def test_guesses_are_limited_equally_for_known_and_unknown_users(self):
        app = self.site.add_app("guesses", **DAY)
        self.register("known@example.com", headers=app)
        for email in ["known@example.com", "unknown@example.com"]:
            answers = in_parallel(16, lambda i: self.attempt(app, email, f"wrong horse {i}"))
            statuses = sorted(answer.status for answer in answers)
            self.assertEqual(statuses, [401] * 10 + [429] * 6, email)
            refused = self.attempt(app, email, "correct horse")
            self.expect(refused, 429, "too_many_attempts")
            self.assertIn(int(refused.headers["Retry-After"]), range(1, SHARE + 1))
            told = limits(refused)
            self.assertEqual(told.keys(), {"login"})
            self.assertEqual((told["login"]["q"], told["login"]["w"], told["login"]["r"]), (10, 86_400, 0))
            self.assertIn(told["login"]["t"], range(9 * SHARE, 10 * SHARE + 1))
        # Refused attempts, also parallel ones, consumed nothing of the network's limit.
        told = limits(self.attempt(app, "third@example.com"))["login-network"]
        self.assertEqual((told["q"], told["r"]), (100, 79))
        # No user stays locked out: attempts become available one by one.
        self.backdate(app, SHARE)
        statuses = [self.attempt(app, "unknown@example.com").status for _ in range(2)]
        self.assertEqual(statuses, [401, 429])
        self.expect(self.attempt(app, "known@example.com", "correct horse"), 200)

    def test_a_success_refunds_only_its_own_attempt(self):
        app = self.site.add_app("successes", **DAY)
        self.register("sure@example.com", headers=app)
        left = []
        for password in ["correct horse"] * 12 + ["wrong horse", "correct horse"] * 9:
            answer = self.attempt(app, "sure@example.com", password)
            self.assertEqual(answer.status, 200 if password == "correct horse" else 401)
            left.append(limits(answer)["login"]["r"])
        self.assertEqual(left, [10] * 12 + [n for r in range(9, 0, -1) for n in (r, r)])
        self.expect(self.attempt(app, "sure@example.com"), 401)
        self.expect(self.attempt(app, "sure@example.com", "correct horse"), 429)

    def test_an_attacker_cannot_lock_a_user_out(self):
        app = self.site.add_app("others", **DAY)
        grant = self.verified("victim@example.com", headers=app)
        for _ in range(10):
            self.expect(self.attempt(app, "victim@example.com", place="203.0.113.9"), 401)
        self.expect(self.attempt(app, "victim@example.com", place="203.0.113.9"), 429)
        # Other networks are unaffected, and the header fields do not reveal the attack.
        answer = self.attempt(app, "victim@example.com", "correct horse")
        self.assertEqual(limits(self.expect(answer, 200))["login"]["r"], 10)
        # The victim's device passes from the attacker's network.
        device = {"Dossier-Device": grant["device_secret"]}
        passed = self.attempt(
            app, "victim@example.com", "correct horse", "203.0.113.9", **device)
        self.assertEqual(limits(self.expect(passed, 200)).keys(), {"login-device"})

    def test_distributed_guesses_are_limited_except_on_a_known_device(self):
        app = self.site.add_app("everywhere", failures_per_identifier_hourly=2, **DAY)
        grant = self.verified("hunted@example.com", headers=app)
        self.site.sql("delete from rate_limits")
        quota = Quota(self, 2, share=1_800)
        quota.use_up(lambda i: self.attempt(app, "hunted@example.com", place=f"203.0.113.{i}"))
        stranger = self.expect(self.anonymous(app, "192.0.2.7"), 200).json["device_secret"]
        for headers in [{}, {"Dossier-Device": stranger}]:
            refused = quota.use_up(
                lambda i: self.attempt(app, "hunted@example.com", place=f"192.0.2.{i}", **headers))
            self.expect(refused, 429, "too_many_attempts")
            # The limit over all addresses appears only in the answers that it refuses.
            self.assertEqual(limits(refused).keys(), {"login-anywhere"})
            self.assertIn(int(refused.headers["Retry-After"]), range(1, 1_801))
        own = {"Dossier-Device": grant["device_secret"]}
        passed = self.attempt(app, "hunted@example.com", "correct horse", **own)
        own["Dossier-Device"] = self.expect(passed, 200).json["device_secret"]
        # Its guesses are limited too, from all networks.
        statuses = [self.attempt(app, "hunted@example.com", place=f"203.0.113.{i}", **own).status
                    for i in range(11)]
        self.assertEqual(statuses, [401] * 10 + [429])
        # Its guesses at other users are limited too.
        self.verified("other@example.com", headers=app)
        answer = self.attempt(app, "other@example.com", **own)
        self.assertEqual(limits(self.expect(answer, 401)).keys(), {"login", "login-network"})

    def test_one_network_is_limited_over_all_identifiers(self):
        app = self.site.add_app("narrow", failures_per_ip=5, **DAY)
        places = ["2001:db8:0:1::1", "2001:db8:0:1:ffff::2", "2001:DB8:0:1:0:0:0:3"]
        statuses = [self.attempt(app, f"a{i}@example.com", place=places[i % 3]).status
                    for i in range(7)]
        self.assertEqual(statuses, [401] * 5 + [429] * 2)
        self.expect(self.attempt(app, "a@example.com", place="2001:db8:0:2::1"), 401)
        refused = self.attempt(app, "b@example.com", place=places[0])
        self.assertEqual(limits(refused).keys(), {"login-network"})
        # An attempt that one limit refuses consumes nothing of another limit.
        self.backdate(app, 2 * SHARE)
        told = limits(self.attempt(app, "b@example.com", place=places[0]))
        self.assertEqual(told["login"]["r"], 9)

    def test_an_ipv4_mapped_address_counts_as_ipv4(self):
        app = self.site.add_app("mapped", failures_per_ip=2, **DAY)
        places = ["192.0.2.1", "::ffff:192.0.2.1", "::FFFF:C000:0201"]
        statuses = [self.attempt(app, f"m{i}@example.com", place=place).status
                    for i, place in enumerate(places)]
        self.assertEqual(statuses, [401, 401, 429])
        self.expect(self.attempt(app, "m@example.com", place="::ffff:192.0.2.2"), 401)

    # Users without credentials, and mail

    def test_users_without_credentials_are_limited_by_network(self):
        app = self.site.add_app("crowd", anonymous_users_per_ip=2)
        quota = Quota(self, 2, share=1_800)
        quota.count(in_parallel(8, lambda _: self.anonymous(app, "192.0.2.1")))
        refused = quota.use_up(lambda _: self.anonymous(app, "::ffff:192.0.2.1"))
        self.expect(refused, 429, "too_many_attempts")
        told = limits(refused)["anonymous"]
        self.assertEqual((told["q"], told["w"], told["r"]), (2, 3_600, 0))
        self.assertIn(int(refused.headers["Retry-After"]), range(1, 1_801))
        told = limits(self.expect(self.anonymous(app, "192.0.2.2"), 200))["anonymous"]
        self.assertEqual((told["r"], told["t"]), (1, 1_800))
        self.backdate(app, 1_800)
        quota.whole += 1
        quota.use_up(lambda _: self.anonymous(app, "192.0.2.1"))
        # A refused request stores nothing, also if a busy worker refuses it (503).
        self.assertEqual(self.site.sql(
            "select count(*) from users join apps using (app_id) where apps.name = 'crowd'"),
            str(quota.succeeded + 1))

    def test_an_attacker_cannot_block_mail_to_a_user(self):
        app = self.site.add_app("mails", **DAY)
        grant = self.verified("full@example.com", headers=app)
        self.site.sql("delete from rate_limits")
        reset = ("/v1/password/reset-request", {"email": "full@example.com"})

        def ask(place, path=reset[0], body=reset[1], **headers):
            return self.post(path, body, headers={**app, ADDRESS: place, **headers})

        def statuses(place, count, **headers):
            return [ask(place, **headers).status for _ in range(count)]

        self.assertEqual(statuses("203.0.113.1", 11), [202] * 10 + [429])
        self.assertEqual(statuses("203.0.113.2", 10), [202] * 10)
        # The burst is used up. Each other network may send one request a day.
        for place in ["203.0.113.3", "203.0.113.4"]:
            self.assertEqual(statuses(place, 2), [202, 429])
        refused = ask("203.0.113.3")
        self.assertEqual(limits(refused).keys(), {"mail-slowly"})
        self.assertGreater(int(refused.headers["Retry-After"]), SHARE)
        # The limit holds for all mail.
        place = "198.51.100.1"
        self.expect(ask(place, "/v1/email/verify/request"), 202)
        self.expect(ask(place, "/v1/email/verify/request"), 429, "too_many_attempts")
        # Only the owner's device has a separate limit.
        own = {"Dossier-Device": grant["device_secret"]}
        self.assertEqual(statuses("203.0.113.1", 11, **own), [202] * 10 + [429])
        stranger = {"Dossier-Device": self.anonymous(app, "192.0.2.9").json["device_secret"]}
        self.assertEqual(statuses("203.0.113.1", 1, **stranger), [429])

    # Header fields

    def test_every_limited_route_reports_its_limits(self):
        grant = self.verified("guarded@example.com")
        address = {"email": "guarded@example.com"}
        credentials = {**address, "password": "wrong horse"}
        self.expect(self.register("unproved@example.com"), 201)
        token = self.site.mailed("unproved@example.com", "ds_verify")
        self.site.set_app(email_code=True, mfa="required")
        self.addCleanup(self.site.set_app, email_code=False, mfa="off")
        flow = self.expect(self.login("guarded@example.com"), 401,
                           "additional_factor_required").json["flow"]
        # Its service does not answer, and the attempt counts before it is asked.
        self.site.dossier("connection", "create", "gone", "--app", "default", "preset=oidc",
                          "issuer=https://gone.invalid", "client_id=a", check=False)
        bodies = {
            "/v1/login/anonymous": {}, "/v1/login/password": credentials,
            "/v1/login/connection": {"connection": "gone", "code": "c"},
            "/v1/login/code/request": address,
            "/v1/login/second-factor": {"flow": flow, "code": "000000"},
            "/v1/me/email": {"email": "another@example.com"},
            "/v1/register": {"email": "new@example.com", "password": "correct horse"},
            "/v1/email/verify": {"token": token, "password": "wrong horse"},
            "/v1/email/verify/request": address, "/v1/password/reset-request": address,
            "/v1/password/change":
                {"current_password": "wrong horse", "new_password": "battery staple"},
            "/v1/reauthenticate": {"provider": "password", "password": "wrong horse"},
            "/v1/me/identities":
                {"provider": "password", "email": "more@example.com", "password": "correct horse"},
        }
        paths = self.site.reference.document["paths"]
        guarded = {path for path, item in paths.items() for method, operation in item.items()
                   if "too_many_attempts" in operation.get("x-problems", [])}
        # A refresh counts in the statement that rotates the token, and reports only a refusal. The
        # options of a passkey count only the email of a code, and its registration needs a device.
        # Codes for support, and tests of emails, are for operators. Jobs count only the exports of administrators.
        others = {"/v1/token/refresh", "/v1/register/passkey", "/v1/register/passkey/options",
                  "/v1/support-sessions", "/v1/mails/test", "/v1/jobs"}
        self.assertEqual(guarded - others, bodies.keys())
        of_users = {"/v1/me/email", "/v1/me/identities", "/v1/reauthenticate", "/v1/password/change"}
        for path, body in bodies.items():
            with self.subTest(path):
                who = self.site.login() if path == "/v1/me/identities" else grant
                token = who["access_token"] if path in of_users else None
                answer = self.post(path, body, token=token, headers={ADDRESS: "192.0.2.44"})
                self.assertIn(answer.status, [200, 201, 202, 204, 401]
                              + [503] * (path == "/v1/login/connection"))
                for name, told in limits(answer).items():
                    self.assertLessEqual(told["r"], told["q"], name)
                    self.assertLessEqual(told["t"], told["w"], name)
        self.assertNotIn("RateLimit", self.me(grant).headers)

    def test_pages_of_allowed_origins_may_read_the_limits(self):
        app = self.site.add_app("pages", allowed_origins=["https://app.example.com"])
        answer = self.anonymous({**app, "Origin": "https://app.example.com"}, "192.0.2.1")
        exposed = answer.headers["Access-Control-Expose-Headers"].split(", ")
        self.assertTrue({"RateLimit", "RateLimit-Policy", "Retry-After"} <= set(exposed))


class Wall(unittest.TestCase):
    """nginx's own limit, so low that a slow machine reaches it too."""

    def test_nginx_refuses_a_network_over_its_request_limit(self):
        site = Deployment(nginx=[("rate=100r/s", "rate=1r/m"), ("burst=1000", "burst=4"),
                                 ("rate=400r/s", "rate=1r/m"), ("burst=4000", "burst=9")])
        self.addCleanup(site.stop)

        def statuses(*places):
            return [site.get("/v1/me", headers={ADDRESS: place}).status for place in places]

        self.assertEqual(statuses(*["192.0.2.1"] * 5), [401] * 5)
        refused = site.get("/v1/me", headers={ADDRESS: "192.0.2.1"})
        self.assertEqual((refused.status, refused.json["code"]), (429, "too_many_requests"))
        self.assertEqual(refused.headers["Content-Type"], "application/problem+json")
        self.assertEqual(refused.headers["Retry-After"], "1")
        # All notations of an address count as one, and other addresses separately.
        self.assertEqual(statuses("::ffff:192.0.2.1", "192.0.2.2", "::ffff:192.0.2.3"), [429, 401, 401])
        self.assertEqual(statuses(*[f"2001:db8::{i}" for i in range(6)]), [401] * 5 + [429])
        self.assertEqual(statuses("2001:db8:0:0:ffff::1", "2001:db8:0:1::1"), [429, 401])
        # A site of IPv6 is limited too, however many networks it has.
        self.assertEqual(statuses(*[f"2001:db8:5:{i}::1" for i in range(12)]), [401] * 10 + [429] * 2)
        self.assertEqual(statuses("2001:db8:6::1"), [401])
        # Programs on the machine itself are not limited.
        self.assertEqual(set(statuses(*["127.0.0.1", "::1", "::ffff:127.0.0.1"] * 5)), {401})


if __name__ == "__main__":
    unittest.main()
