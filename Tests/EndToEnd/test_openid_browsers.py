"""Attacks on a sign-in at the pages of OpenID Connect: other browsers, forms and frames."""

import concurrent.futures

from asking import ADDRESS
from cases import Held, in_parallel
from hosted import Visitor
from machine import wait_until
from openid import CALLBACK, FORM, Party, OpenIDCase, claims


class Browsers(OpenIDCase):
    def setUp(self):
        super().setUp()
        self.email, _ = self.user()

    def test_another_browser_cannot_continue_a_sign_in(self):
        """An attacker starts a sign-in that the victim continues, or the reverse."""
        self.visitor.open(Party(self, self.spa).path)
        path, body = self.visitor.page.path, self.visitor.body(self.visitor.form(), email="x@example.com")
        stranger = self.new_visitor()
        self.assertIn(stranger.open(path).status, [403, 404])
        stranger.open(Party(self, self.spa).path)
        for page in [stranger.open(path), stranger.send(
                "POST", path, body, **{"Content-Type": "application/x-www-form-urlencoded"})]:
            self.assertIn(page.status, [403, 404], page.text)
        # With the id of its own authorization, the token of the other form does not fit.
        stranger.open(Party(self, self.spa).path)
        page = stranger.send("POST", stranger.page.path, body, **{
            "Content-Type": "application/x-www-form-urlencoded"})
        self.assertEqual(page.status, 403)

    def test_forms_of_other_sites_are_refused(self):
        self.visitor.open(Party(self, self.spa).path)
        page = self.visitor.submit(email=self.email, origin="https://evil.example")
        self.assertEqual(page.status, 403)
        self.visitor.open(Party(self, self.spa).path)
        page = self.visitor.submit(email=self.email, csrf="x")
        self.assertEqual(page.status, 403)

    def test_a_sign_in_changes_the_secret_of_the_browser(self):
        """An attacker who has read or set the cookies before the sign-in has no session after it."""
        self.visitor.open(Party(self, self.spa).path)
        before = dict(self.visitor.cookies)
        self.visitor.submit(email=self.email)
        self.visitor.submit("/password", password="correct horse battery")
        self.tokens(self.email, visitor=self.new_visitor())
        thief = self.new_visitor()
        thief.cookies = before
        party = Party(self, self.spa, prompt="none")
        self.assertEqual(party.answer(thief.open(party.path))["error"], "login_required")
        # The next user of the browser changes it again.
        before = dict(self.visitor.cookies)
        other = "second-" + self.email
        self.user(other)
        self.visitor.open(Party(self, self.spa, prompt="login").path)
        self.visitor.submit("/another")
        self.visitor.submit(email=other)
        self.visitor.submit("/password", password="correct horse battery")
        thief.cookies = before
        party = Party(self, self.spa, prompt="none", login_hint=other)
        answer = party.answer(thief.open(party.path))
        if "code" in answer:
            tokens = party.exchange(answer["code"]).json
            self.assertNotEqual(claims(tokens["id_token"])["email"], other)

    def test_a_sign_in_in_a_second_tab_keeps_the_code_of_the_first(self):
        first = Party(self, self.spa, scope="openid email")
        code = first.code(self.signed_in(first, self.email))
        second = Party(self, self.spa, scope="openid", prompt="login")
        second.code(self.signed_in(second, self.email))
        tokens = self.expect(first.exchange(code), 200).json
        self.assertEqual(claims(tokens["id_token"])["email"], self.email)
        self.assertEqual(self.userinfo(tokens["access_token"]).status, 200)
        # A sign-out still ends a code.
        third = Party(self, self.spa, scope="openid", prompt="login")
        code = third.code(self.signed_in(third, self.email))
        self.visitor.open("/oidc/logout")
        self.visitor.submit("/oidc/logout/confirm")
        self.expect(third.exchange(code), 400)

    def test_an_old_form_returns_no_session(self):
        """An attacker copies a form and the cookies of a shared computer before the victim signs in."""
        self.visitor.open(Party(self, self.spa).path)
        form, thief = self.visitor.form(), self.new_visitor()
        body = self.visitor.body(form, email=self.email)
        thief.cookies = dict(self.visitor.cookies)
        self.visitor.submit(email=self.email)
        self.visitor.submit("/password", password="correct horse battery")
        page = thief.send("POST", form.action, body, Origin=thief.origin, **{
            "Content-Type": "application/x-www-form-urlencoded"})
        self.assertNotIn(b"code=", page.body)
        self.assertFalse([name for name in thief.cookies if "signin" in name])

    def test_any_step_number_of_a_form_is_accepted(self):
        for step in ["9223372036854775807", "-9223372036854775808", "9" * 40, "x", ""]:
            self.visitor.open(Party(self, self.spa).path)
            page = self.visitor.submit(email=self.email, step=step)
            self.assertEqual(page.status, 200, step)

    def test_parameters_in_a_body_are_moved_to_the_query(self):
        for path in ["/authorize", "/oidc/logout"]:
            page = self.visitor.send("POST", path, "client_id=a%20b&state=%26x", follow=False, **{
                "Content-Type": "application/x-www-form-urlencoded"})
            self.assertEqual((page.status, page.location), (303, f"{path}?client_id=a%20b&state=%26x"))
            self.assertFalse(page.headers.get_all("Set-Cookie"))

    def test_pages_cannot_be_framed(self):
        for path in [Party(self, self.spa).path, "/account", "/oidc/logout"]:
            page = self.visitor.open(path)
            self.assertIn("frame-ancestors 'none'", page.headers["Content-Security-Policy"])
            self.assertEqual(page.headers["Cache-Control"], "no-store")
            self.assertNotIn("Cross-Origin-Opener-Policy", page.headers)

    def test_strangers_cannot_fill_the_database(self):
        self.settings(sign_in_pages_per_ip=3)
        client = self.new_client("single_page", f"callback_urls={CALLBACK}")
        path, silent = Party(self, client).path, Party(self, client, prompt="none")

        def stranger():
            return self.new_visitor(**{ADDRESS: "192.0.2.77"})

        for _ in range(3):
            self.assertEqual(stranger().open(path).status, 200)
        for refused in [path, "/account", path + "&prompt=login"]:
            self.shows(stranger().open(refused), "Too many attempts", status=429)
        # A refused silent request stores nothing.
        self.assertEqual(silent.answer(stranger().open(silent.path))["error"], "login_required")
        stored = self.site.sql(
            f"select count(*) from authorizations where client_id = '{client['id']}'")
        self.assertEqual(stored, "3")
        # A signed-in user is not counted with strangers of the same network.
        guest = self.new_visitor(**{ADDRESS: "192.0.2.78"})
        self.signed_in(Party(self, client), self.email, visitor=guest)
        for _ in range(5):
            guest.headers[ADDRESS] = "192.0.2.77"
            self.assertTrue(silent.code(guest.open(silent.path)))

    def test_a_user_cannot_fill_the_database(self):
        client = self.new_client("single_page", f"callback_urls={CALLBACK}")
        self.signed_in(Party(self, client), self.email)
        self.settings(sign_ins_per_user=3)
        silent = Party(self, client, prompt="none")

        def stored():
            return int(self.site.sql(
                f"select count(*) from authorizations where client_id = '{client['id']}'"))

        before = stored()
        for _ in range(3):
            self.assertTrue(silent.code(self.visitor.open(silent.path)))
        for _ in range(2):
            page = self.visitor.open(silent.path)
            self.assertNotIn("code=", page.location or "")
        self.assertEqual(stored(), before + 3)
        # Another user of the same network is not refused.
        other = self.new_visitor()
        self.sign_up("other-" + self.email, visitor=other)
        self.assertTrue(silent.code(other.open(silent.path)))

    def test_a_client_chooses_its_login_methods(self):
        """A session of another login method does not count, with and without pages."""
        self.settings(email_code=True)
        strict = self.new_client("single_page", f"callback_urls={CALLBACK}")
        self.site.dossier("client", "set", strict["id"], 'connections=["email_code"]')
        self.signed_in(Party(self, self.spa), self.email)
        silent = Party(self, strict, prompt="none")
        self.assertEqual(silent.answer(self.visitor.open(silent.path))["error"], "login_required")
        party = Party(self, strict)
        self.visitor.open(party.path)
        self.shows(self.visitor.submit(email=self.email), "Enter the code")
        page = self.visitor.submit("/code", code=self.mailed_code(self.email))
        self.expect(party.exchange(party.code(page)), 200)
        self.assertTrue(silent.code(self.visitor.open(silent.path)))

    def clicks(self, **parameters):
        """Enters the address.

        Returns the client, the id of the authorization, and what sends the form of the password.
        """
        party = Party(self, self.spa, **parameters)
        self.visitor.open(party.path)
        self.visitor.submit(email=self.email)
        form = self.visitor.form("/password")
        body = self.visitor.body(form, password="correct horse battery")
        twins = [Visitor(self.site.port) for _ in range(2)]
        for twin in twins:
            twin.cookies = dict(self.visitor.cookies)

        def click(index):
            return twins[index].send("POST", form.action, body, Origin=twins[index].origin, **FORM)

        return party, form.action.split("/")[2], click

    def signs_in_once(self, party, pages):
        codes = {party.code(page) for page in pages}
        self.assertEqual(len(codes), 1)
        self.expect(party.exchange(codes.pop()), 200)
        live = self.site.sql("select count(*) from sessions s join users u using (user_id) "
                             f"where u.email = '{self.email}' and s.style = 'pages'")
        self.assertEqual(live, "1")

    def test_two_clicks_send_one_code(self):
        party, _, click = self.clicks()
        self.signs_in_once(party, in_parallel(2, click))

    def test_two_clicks_that_finish_at_the_same_time_send_one_code(self):
        party, _, click = self.clicks(audience=self.API)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            # The last thing that a sign-in reads before it makes the code.
            with Held(self.site, "lock table resource_servers"):
                clicks = []
                for index in range(2):
                    clicks.append(pool.submit(click, index))
                    wait_until(lambda: self.site.waiting() > index, what=f"click {index}")
            pages = [click.result() for click in clicks]
        self.signs_in_once(party, pages)

    def test_two_clicks_send_one_code_however_long_the_first_takes(self):
        party, authorization, click = self.clicks()

        def lookups():
            """Returns how often workers have looked for an authorization."""
            query = ("select coalesce(sum(idx_scan + seq_scan), 0) from pg_stat_user_tables "
                     "where relname like 'authorizations%'")
            return sum(int(self.site.sql(query, port)) for _, port in self.site.nodes())

        this = f"where authorization_id = '{authorization}'"
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            with Held(self.site, f"select from users where email = '{self.email}' for update"):
                first = pool.submit(click, 0)
                wait_until(lambda: self.site.sql(
                    f"select is_settled from authorizations {this}") == "f")
                # As if it had begun some seconds ago.
                self.site.sql("update authorizations set claimed_at = claimed_at - interval '11 seconds' "
                              f"{this}")
                before = lookups()
                second = pool.submit(click, 1)
                # The second one looks ten times a second.
                wait_until(lambda: second.done() or lookups() > before + 80)
                self.assertFalse(second.done(), second.done() and second.result().text)
            pages = [first.result(), second.result()]
        self.signs_in_once(party, pages)

    def test_a_second_click_takes_over_from_a_worker_that_has_died(self):
        party, authorization, click = self.clicks()
        self.site.sql("update authorizations set step = step + 1, is_settled = false, "
                      f"claimed_at = now() - interval '29 seconds' where authorization_id = '{authorization}'")
        self.signs_in_once(party, [click(0)])
