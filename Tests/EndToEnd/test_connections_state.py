"""Who may come back from an issuer: the state, the browser, and the parameters of the callback."""

import json
import threading
import unittest
import urllib.parse

from asking import ADDRESS
from connections import (
    CONFIRM, FAILED, OTHER_BROWSER, POSTED, SIGN_IN, START_AGAIN, ConnectionCase, browse)
from hosted import Visitor
from openid import LOGOUT


class State(ConnectionCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.one = cls.connect("oidc", "one")
        cls.other = cls.connect("oidc", "other")
        cls.site.create_app("second")
        cls.site.dossier("app", "host", "set", "--app", "second", "second.example")

    def setUp(self):
        super().setUp()
        for issuer in [self.one, self.other]:
            issuer.is_new(f"{issuer.name}-{self.own_email()}")

    def refused(self, back, visitor=None, heading=None):
        """Checks that a callback signs no user in, and that no issuer is asked for a token."""
        before = len(self.one.asked("token")) + len(self.other.asked("token"))
        page = self.come_back(back, visitor)
        self.assertEqual(len(self.one.asked("token")) + len(self.other.asked("token")), before)
        self.assertGreaterEqual(page.status, 400, page.text)
        self.assertFalse(page.location)
        self.assertIsNone(self.owner(self.one))
        if heading:
            self.assertEqual(page.heading.strip(), heading)
        return page

    def test_an_altered_or_missing_state_is_refused(self):
        url, party = self.begin(self.one)
        back = browse(url)
        state = back.parameters["state"]
        middle = len(state) // 2
        letter = "A" if state[middle] != "A" else "B"
        for wrong in [None, "", "x", state[:-1], state[:middle] + letter + state[middle + 1:],
                      state + "A", "A" * 2000, state.swapcase(), "\u0000", "%", state[:40]]:
            with self.subTest(wrong):
                self.refused(back.changed(state=wrong))
        # None of these has used up the sign-in.
        self.assertTrue(party.code(self.come_back(back)))

    def test_a_response_of_eight_kilobytes_is_taken(self):
        """Codes of Microsoft have 2 KB, and some services add parameters that are not read."""
        url, party = self.begin(self.one)
        back = browse(url)
        code = "c" * 4096
        self.one.codes[code] = self.one.codes.pop(back.parameters["code"])
        back = back.changed(code=code, id_token="t" * 4096)
        self.assertGreater(len(back.path), 8192)
        self.assertTrue(party.code(self.come_back(back)))
        # The largest buffer of nginx for a line.
        path = f"/u/callback/one?state=s&code={'c' * 16384}"
        self.assertEqual(self.visitor.open(path).status, 414)

    def test_a_state_expires(self):
        """The row of the sign-in expires; a unit test has the time in the state."""
        url, _ = self.begin(self.one)
        back = browse(url)
        self.site.sql("update authorizations set created_at = now() - interval '2 days', "
                      "expires_at = now() - interval '1 minute'")
        page = self.come_back(back)
        self.assertIn("expired", page.text)
        self.assertIsNone(self.owner(self.one))

    def test_a_state_belongs_to_its_app(self):
        url, _ = self.begin(self.one)
        back = browse(url)
        stranger = self.new_visitor(host=f"second.example:{self.site.port}")
        stranger.cookies = dict(self.visitor.cookies)
        self.refused(back, stranger)

    def test_a_state_belongs_to_its_browser(self):
        """An attacker sends the victim a callback that signs in as the attacker."""
        attacker = self.new_visitor()
        url, _ = self.begin(self.one, attacker)
        back = browse(url)
        for victim in [self.new_visitor(), self.visitor]:
            page = self.refused(back, victim, OTHER_BROWSER)
            # The key of a browser has no rights.
            self.assertLessEqual(set(victim.cookies), {"__Host-dossier-browser"})
            # With a sign-in of its own under way, the answer is the same.
            self.begin(self.other, self.visitor)
        # Only the client can begin its request again, since its browser keeps the state.
        page = self.refused(back, self.new_visitor(), OTHER_BROWSER)
        self.assertTrue(page.links[START_AGAIN].startswith(LOGOUT), page.links)

    def test_a_browser_without_cookies_gets_an_explanation(self):
        visitor = self.new_visitor()
        url, _ = self.begin(self.one, visitor)
        visitor.cookies = {}
        self.refused(browse(url), visitor, OTHER_BROWSER)

    def test_the_callback_of_another_connection_refuses_a_state(self):
        """An issuer that is hostile gets no code of another one (mix-up)."""
        url, party = self.begin(self.one)
        back = browse(url)
        mixed = type(back)(back.url.replace("/callback/one", "/callback/other"))
        self.refused(mixed)
        self.refused(type(back)(back.url.replace("/callback/one", "/callback/unknown")))
        self.assertTrue(party.code(self.come_back(back)))

    def test_iss_must_be_the_issuer(self):
        for iss in ["https://evil.example.com", self.other.base, self.one.base + "/", None, ""]:
            with self.subTest(iss):
                visitor = self.new_visitor()
                url, _ = self.begin(self.one, visitor)
                self.refused(browse(url).changed(iss=iss), visitor, FAILED.format("one"))

    def test_a_way_back_works_once(self):
        url, party = self.begin(self.one)
        back = browse(url)
        code = party.code(self.come_back(back))
        before = len(self.one.asked("token"))
        # A reload shows the present state, and asks the issuer for nothing.
        page = self.come_back(back)
        self.assertEqual(len(self.one.asked("token")), before)
        self.assertEqual(party.code(page) if page.location else code, code)
        self.expect(party.exchange(code), 200)
        # So does the button of the page before.
        self.assertEqual(len(self.identities(self.one)), len(set(self.identities(self.one).values())))
        # A thief with the whole URL, but without the cookies.
        self.come_back(back, thief := self.new_visitor())
        self.assertFalse([name for name in thief.cookies if "signin" in name])

    def test_two_callbacks_at_once_send_one_code(self):
        url, party = self.begin(self.one)
        back, pages = browse(url), []

        def click():
            twin = Visitor(self.site.port)
            twin.cookies = dict(self.visitor.cookies)
            pages.append(self.come_back(back, twin))

        threads = [threading.Thread(target=click) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        codes = {party.code(page) for page in pages if b"code=" in page.body or page.location}
        self.assertEqual(len(codes), 1)
        # The code of the issuer was sent once.
        self.assertEqual(len([request for request in self.one.asked("token")
                              if request.form["code"] == back.parameters["code"]]), 1)

    def test_a_person_who_cancels_is_back_on_the_page_of_sign_in(self):
        url, party = self.begin(self.one)
        self.one.lie(callback={"code": None, "error": "access_denied",
                               "error_description": "<script>alert(1)</script>"})
        page = self.come_back(browse(url))
        self.assertEqual((page.heading.strip(), page.status), (SIGN_IN, 200), page.text)
        self.assertNotIn("alert(1)", page.body.decode())
        # Another way to sign in works at once.
        self.one.honest()
        page = self.come_back(browse(self.follow(self.other, page)))
        self.assertTrue(party.code(page))

    def test_other_errors_of_an_issuer_are_told_without_its_words(self):
        for error in ["server_error", "temporarily_unavailable", "invalid_request", "login_required",
                      "<b>x</b>", "x" * 5000]:
            with self.subTest(error[:20]):
                visitor = self.new_visitor()
                url, _ = self.begin(self.one, visitor)
                self.one.lie(callback={"code": None, "error": error,
                                       "error_description": "Phishers write <b>this</b>" + "y" * 3000})
                page = self.refused(browse(url), visitor)
                text = page.body.decode()
                # The page has random tokens, which can contain a few equal letters in a row.
                for word in ["Phishers", "<b>", "y" * 20, "x" * 20]:
                    self.assertNotIn(word, text)
        log = (self.site.folder / "dossierd.log").read_text()
        self.assertNotIn("y" * 201, log)

    def test_parameters_that_are_doubled_or_too_long_are_refused(self):
        url, party = self.begin(self.one)
        back = browse(url)
        for text in ["&code=other", "&state=other", "&iss=https%3A%2F%2Fevil.example.com",
                     "&error=access_denied&error=x"]:
            self.refused(type(back)(back.url + text))
        self.refused(back.changed(code="c" * 4097))
        self.refused(back.changed(code=None))
        self.refused(back.changed(code=""))
        # A code and an error at once are no response.
        self.refused(back.changed(error="access_denied"))
        self.assertTrue(party.code(self.come_back(back)))

    def test_a_way_back_leads_only_to_the_client(self):
        url, party = self.begin(self.one)
        page = self.come_back(browse(url).changed(
            redirect_uri="https://evil.example.com", next="https://evil.example.com"))
        self.assertTrue(party.code(page))

    def test_the_referrer_and_caches_do_not_get_the_code(self):
        url, _ = self.begin(self.one)
        self.come_back(browse(url))
        for page in self.visitor.trace:
            self.assertEqual(page.headers["Cache-Control"], "no-store")
            self.assertIn(page.headers["Referrer-Policy"], ["no-referrer", "same-origin"])

    def test_a_start_needs_a_sign_in_of_this_browser(self):
        page = self.visitor.open("/account")
        path = self.button(self.one.name, page)
        stranger = self.new_visitor()
        answer = stranger.open(path, follow=False)
        self.assertIn(answer.status, [403, 404])
        self.assertFalse(answer.location)
        for wrong in ["unknown", "ONE", "x" * 300]:
            page = self.visitor.open(path.replace("/connect/one", f"/connect/{wrong}"))
            self.assertEqual(page.status, 404)
        page = self.visitor.open(path.replace("/connect/one", "/connect/"))
        self.assertEqual(page.status, 404)

    def test_starts_are_limited_by_network(self):
        visitor = self.new_visitor(**{ADDRESS: "192.0.2.90"})
        path = self.button(self.one.name, visitor.open("/account"))
        self.settings(sign_in_pages_per_ip=3)
        answers = [visitor.open(path, follow=False) for _ in range(6)]
        self.assertEqual(answers[-1].status, 429)
        self.assertFalse(answers[-1].location)

    def test_a_disabled_connection_is_closed(self):
        url, _ = self.begin(self.other)
        page = self.visitor.page
        self.change(self.other, enabled=False)
        self.addCleanup(self.change, self.other, enabled=True)
        asked = len(self.other.asked("token"))
        self.assertEqual(self.come_back(browse(url)).status, 404)
        self.assertEqual(len(self.other.asked("token")), asked)
        self.assertIsNone(self.owner(self.other))
        visitor = self.new_visitor()
        page = visitor.open("/account")
        self.assertFalse([path for path in page.links.values() if path.endswith("/connect/other")])
        self.assertIn("/connect/one", " ".join(page.links.values()))


class Posted(ConnectionCase):
    """Apple posts the response from its own page, so the cookies do not arrive with it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.apple = cls.connect("apple", email_trust="verified")

    def setUp(self):
        super().setUp()
        self.apple.is_new(self.own_email())

    def posted(self, back):
        """Posts the form without cookies. Returns the answer."""
        stranger = Visitor(self.site.port)
        return stranger.send("POST", back.path, back.form, follow=False, **POSTED)

    def test_the_form_becomes_a_parameter_of_a_get(self):
        url, party = self.begin(self.apple)
        self.assertIn("response_mode=form_post", url)
        back = browse(url)
        answer = self.posted(back)
        self.assertEqual(answer.status, 303)
        self.assertRegex(answer.location, r"^/u/[0-9a-f]{24}/connected\?")
        # The address bar and logs do not have the code.
        for value in back.parameters.values():
            self.assertNotIn(urllib.parse.quote_plus(value), answer.location)
        # Only the browser of the sign-in can go on.
        page = self.new_visitor().open(answer.location)
        self.assertEqual(page.heading.strip(), OTHER_BROWSER)
        self.assertIsNone(self.owner(self.apple))
        code = party.code(self.visitor.open(answer.location))
        # The parameter is used up.
        asked = len(self.apple.asked("token"))
        self.visitor.open(answer.location)
        self.assertEqual(len(self.apple.asked("token")), asked)
        self.expect(party.exchange(code), 200)

    def test_a_form_of_many_kilobytes_is_taken(self):
        url, party = self.begin(self.apple)
        back = browse(url).changed(id_token="t" * 25_000)
        self.assertTrue(party.code(self.come_back(back)))

    def test_an_altered_parameter_is_refused(self):
        url, party = self.begin(self.apple)
        location = self.posted(browse(url)).location
        name, value = urllib.parse.urlsplit(location).query.split("=", 1)
        letter = "A" if value[20] != "A" else "B"
        for wrong in [value[:20] + letter + value[21:], value[:-4], "x", ""]:
            path = urllib.parse.urlsplit(location).path
            page = self.visitor.open(f"{path}?{name}={wrong}")
            self.assertGreaterEqual(page.status, 400)
        self.assertTrue(party.code(self.visitor.open(location)))

    def test_a_name_is_taken_once_within_its_limits(self):
        visitor = self.new_visitor()
        told = self.signed_in_at(self.apple, visitor)
        self.assertEqual((told["given_name"], told["family_name"]), ("Ada", "Lovelace"))
        # Apple sends it no more, and a forged one changes nothing.
        url, party = self.begin(self.apple, self.new_visitor())
        back = browse(url)
        self.assertNotIn("user", back.parameters)
        again = self.signed_in_at(self.apple, self.new_visitor())
        self.assertEqual(again["name"], told["name"])

    def test_a_hostile_name_is_dropped_or_shown_as_text(self):
        for user in ['{"name": {"firstName": "<script>x</script>", "lastName": "\\u0000"}}',
                     json.dumps({"name": {"firstName": "n" * 10_000}}), "no JSON", "[]", "7",
                     '{"name": 7}', '{"name": {"firstName": {"a": 1}}}', "{" * 500, '{"name": null}',
                     json.dumps({"email": "victim@example.com"})]:
            with self.subTest(user[:40]):
                self.apple.is_new(f"{self.apple.person.number}-{self.own_email()}")
                visitor = self.new_visitor()
                url, party = self.begin(self.apple, visitor)
                page = self.come_back(browse(url).changed(user=user), visitor)
                told = self.identity(page, party)
                self.assertEqual(told["email"], self.apple.person.email)
                self.assertLess(len(told.get("name", "")), 1000)
                self.assertNotIn(b"<script>x", visitor.open("/account").body)

    def test_a_form_without_a_state_or_from_nobody_is_refused(self):
        url, _ = self.begin(self.apple)
        back = browse(url)
        for wrong in [back.changed(state=None), back.changed(state="x"), back.changed(code="c" * 5000)]:
            answer = self.posted(wrong)
            page = self.visitor.open(answer.location) if answer.status == 303 else answer
            self.assertGreaterEqual(page.status, 400)
        self.assertIsNone(self.owner(self.apple))

    def test_a_person_who_cancels_is_back(self):
        url, _ = self.begin(self.apple)
        self.apple.lie(callback={"code": None, "error": "user_cancelled_authorize"})
        page = self.come_back(browse(url))
        self.assertEqual((page.heading.strip(), page.status), (SIGN_IN, 200))

    def test_other_connections_take_no_form(self):
        issuer = self.connect("oidc", "queried")
        url, _ = self.begin(issuer)
        back = browse(url)
        answer = self.posted(type(back)(
            back.url.split("?")[0], urllib.parse.urlencode(back.parameters)))
        page = self.visitor.open(answer.location) if answer.status == 303 else answer
        self.assertGreaterEqual(page.status, 400)


class LinkState(ConnectionCase):
    """A link from the account page, which has no request of a client."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.linked = cls.connect("oidc", "linked")

    def start(self, visitor):
        answer = visitor.open("/account/connect/linked", follow=False)
        self.assertEqual(answer.status, 302, answer.text)
        return answer.location

    def test_a_link_of_one_user_is_not_finished_by_another(self):
        """An attacker cannot link an own account to the victim, nor the reverse."""
        self.linked.is_new()
        self.sign_up("attacker@example.com")
        back = browse(self.start(self.visitor))
        victim = self.new_visitor()
        self.sign_up("victim@example.com", visitor=victim)
        page = self.come_back(back, victim)
        self.assertGreaterEqual(page.status, 400, page.text)
        self.assertIsNone(self.owner(self.linked))
        # Nor after a sign-out.
        back = browse(self.start(self.visitor))
        self.visitor.cookies = {}
        self.shows(self.come_back(back), SIGN_IN)
        self.assertIsNone(self.owner(self.linked))

    def test_a_link_works_once(self):
        self.linked.is_new()
        self.sign_up(self.own_email())
        back = browse(self.start(self.visitor))
        page = self.come_back(back)
        self.assertLess(page.status, 400, page.text)
        user = self.owner(self.linked)
        self.assertTrue(user)
        # The issuer takes a code once.
        self.assertGreaterEqual(self.come_back(back).status, 400)
        self.assertEqual(self.owner(self.linked), user)

    def test_a_link_needs_a_session_and_a_fresh_proof(self):
        page = self.new_visitor().open("/account/connect/linked")
        self.assertEqual(page.heading.strip(), SIGN_IN)
        email = self.own_email()
        self.sign_up(email)
        self.site.sql("update sessions set authenticated_at = now() - interval '1 day'")
        page = self.visitor.open("/account/connect/linked")
        self.assertEqual(page.heading.strip(), CONFIRM, page.text)

    def test_the_state_of_a_sign_in_does_not_end_as_a_link(self):
        self.linked.is_new()
        self.sign_up(self.own_email())
        url, _ = self.begin(self.linked, self.new_visitor())
        state = browse(url).parameters["state"]
        back = browse(self.start(self.visitor))
        self.assertGreaterEqual(self.come_back(back.changed(state=state)).status, 400)
        self.assertIsNone(self.owner(self.linked))


if __name__ == "__main__":
    unittest.main()
