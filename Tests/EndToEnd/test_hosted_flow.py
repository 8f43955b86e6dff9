"""The steps of a sign-in at the hosted pages: repeated, skipped, forged and expired forms."""

import re
import unittest

from cases import in_parallel
from hosted import PASSWORD, HostedCase, Visitor


class Flow(HostedCase):
    """Steps that are sent too early, too late, twice or from another browser."""

    def path(self, name):
        return re.sub(r"[a-z-]+$", name, self.visitor.page.path)

    def test_a_page_requested_too_early_redirects_to_the_current_one(self):
        self.visitor.open("/account")
        for name in ["password", "code", "factor", "recovery", "enroll", "recovery-codes",
                     "mail-sent", "choose", "consent", "confirm"]:
            self.shows(self.visitor.open(self.path(name)), "Sign in")

    def test_back_to_the_address(self):
        self.visitor.open("/account")
        self.visitor.submit(email="ada@example.com")
        page = self.visitor.open(self.visitor.page.links["Change"])
        self.shows(page, "Sign in")
        self.assertEqual(page.forms[0].fields["email"], "ada@example.com")
        page = self.visitor.submit(email="bob@example.com")
        self.assertEqual(page.forms[0].fields["email"], "bob@example.com")

    def test_a_form_that_is_sent_twice_acts_once(self):
        email = self.own_email()
        self.visitor.open("/account")
        self.visitor.open(self.visitor.page.links["Create account"])
        form = self.visitor.form()
        body = self.visitor.body(form, email=email, new_password=PASSWORD)
        visitors = []
        for _ in range(2):
            visitor = Visitor(self.site.port)
            visitor.cookies = dict(self.visitor.cookies)
            visitors.append(visitor)
        pages = in_parallel(2, lambda index: visitors[index].send(
            "POST", form.action, body, Origin=visitors[index].origin,
            **{"Content-Type": "application/x-www-form-urlencoded"}))
        for page in pages:
            self.shows(page, "Your account")
        self.assertEqual(self.site.sql(
            "select count(*) from sessions s join users u using (user_id) "
            f"where u.email = '{email}'").strip(), "1")

    def test_a_flow_does_not_continue_in_another_browser(self):
        self.visitor.open("/account")
        other = self.new_visitor()
        other.open("/u/reset")
        page = other.open(self.visitor.page.path)
        self.shows(page, "Sign-in expired", status=404)
        other.page = self.visitor.page
        page = other.submit(email="ada@example.com")
        self.shows(page, "Sign-in expired", status=404)

    def test_a_browser_without_cookies(self):
        self.visitor.open("/account")
        path = self.visitor.page.path
        page = self.new_visitor().open(path)
        self.shows(page, "Start again in this browser", status=403)
        self.assertEqual(page.links["Start again"], "/account")
        # Without cookies, no link leads to the same page.
        other = self.new_visitor()
        other.cookies = None
        self.shows(other.open(page.links["Start again"]), "Start again in this browser", status=403)
        self.assertIn("allow cookies", other.page.text)

    def test_forms_of_other_sites_are_refused(self):
        self.visitor.open("/account")
        form = self.visitor.form()
        for origin in ["https://evil.example", "null", "http://127.0.0.1.evil.example"]:
            self.shows(self.visitor.submit(email="ada@example.com", origin=origin),
                       "Request not accepted", status=403)
            self.visitor.open(form.action)
        for token in ["", "x", form.fields["csrf"][:-1], form.fields["csrf"] + "0", None]:
            self.shows(self.visitor.submit(email="ada@example.com", csrf=token),
                       "Request not accepted", status=403)
            self.visitor.open(form.action)
        # Without the field of the origin, the token suffices.
        self.shows(self.visitor.submit(email="ada@example.com", origin=None), "Enter your password")

    def test_an_expired_sign_in_begins_again(self):
        email = self.own_email()
        self.expect(self.register(email, PASSWORD), 201)
        self.visitor.open("/account")

        # The address of the form is kept, and then that of the state.
        for send in [lambda: self.visitor.submit(email=email),
                     lambda: self.visitor.submit("/password", password=PASSWORD),
                     lambda: self.visitor.open(self.visitor.page.path)]:
            old = self.visitor.page.path
            self.site.sql("update authorizations set expires_at = now()")
            page = self.shows(send(), "Sign in", "This sign-in has expired. Start again.")
            self.assertNotEqual(page.path.split("/")[2], old.split("/")[2])
            self.assertEqual(page.forms[0].fields["email"], email)
            self.shows(self.visitor.submit(email=email), "Enter your password")
        # Another browser starts nothing.
        other = self.new_visitor()
        other.open("/u/reset")
        self.shows(other.open(old), "Sign-in expired", status=404)
        self.shows(self.visitor.submit("/password", password=PASSWORD), "Your account")

    def test_a_sign_in_in_another_tab_is_offered(self):
        email = self.own_email()
        self.visitor.open("/account")
        tab = self.visitor.page
        self.sign_up(email)
        self.visitor.page = tab
        page = self.visitor.submit(email="bob@example.com")
        self.shows(page, "Choose an account")
        self.assertIn(email, page.text)
        self.shows(self.visitor.submit("/choose"), "Your account")

    def test_headers_of_pages(self):
        page = self.visitor.open("/account")
        self.assertEqual(page.headers["Cache-Control"], "no-store")
        self.assertEqual(page.headers["Referrer-Policy"], "same-origin")
        self.assertEqual(page.headers.get_all("X-Content-Type-Options"), ["nosniff"])
        self.assertEqual(page.headers.get_all("Content-Security-Policy"), [
            "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
            "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"])
        self.assertNotIn("Cross-Origin-Opener-Policy", page.headers)
        for path in re.findall(r'(?:href|src)="(/u/assets/[^"]+)"', page.body.decode()):
            asset = self.visitor.open(path)
            self.assertEqual(asset.status, 200)
            self.assertIn("immutable", asset.headers["Cache-Control"])

    def test_long_input_does_not_look_like_a_crashed_worker(self):
        """Pages repeat input in a response header, whose length nginx limits."""
        self.visitor.open("/u/reset")
        for length in [300, 3_000, 12_000]:
            self.shows(self.visitor.submit("/forgot", email="x" * length),
                       "Reset your password", "Enter an address like name@example.com.")
        client = self.site.dossier("client", "create", "--app", "default", "long",
                                   "kind=single_page", "callback_urls=https://app.example.com/cb")
        self.site.dossier("client", "set", client["id"], "logout_urls=https://app.example.com/")
        query = (f"client_id={client['id']}&post_logout_redirect_uri=https://app.example.com/"
                 "&redirect_uri=https://app.example.com/cb&response_type=code&prompt=none&state=")
        for path in ["/oidc/logout", "/authorize"]:
            for state in ["%25" * 2_048, "A" * 2_048, "A" * 9_000]:
                page = self.new_visitor().open(f"{path}?{query}{state}")
                self.assertLess(page.status, 500, (path, len(state), page.text))
        form = f"{query}{'%25' * 4_000}"
        page = self.new_visitor().send("POST", "/authorize", form, **{
            "Content-Type": "application/x-www-form-urlencoded"})
        self.assertLess(page.status, 500, page.text)
        self.assertNotIn("too big header", (self.site.folder / "nginx.log").read_text())

    def test_unknown_paths_of_the_pages(self):
        for path in ["/u", "/u/nothing", "/u/x/y", "/account/nothing", "/u/done/x",
                     "/u/avatar/x.png", "/u/assets/x.css", "/u/0123/sign-in"]:
            with self.subTest(path):
                page = self.visitor.open(path)
                self.assertEqual((page.status, page.heading), (404, "Page not found"))
                self.assertEqual(page.links["Dossier"], "/")

    def test_unknown_paths_of_all_wires(self):
        """Browsers get a page, and programs get an error of the wire."""
        self.settings(display_name="Nordwind")
        browser = "application/xhtml+xml,text/html;q=0.9,*/*;q=0.8"
        for path in ["/x", "/v1/x", "/api/v2/x", "/api/client/v2.0/x", "/oauth/x", "/u/x", "/account/x",
                     "/.well-known/x", "/authorize/x", "/v2/x", "/reference/x/y"]:
            with self.subTest(path):
                page = self.visitor.open(path, Accept=browser)
                self.assertEqual((page.status, page.heading), (404, "Page not found"))
                self.assertEqual(page.links["Nordwind"], "/")
                self.assertIn("Accept", ", ".join(page.headers.get_all("Vary")))
                for accept in ["*/*", "application/json", "text/html;q=0, */*"]:
                    page = self.visitor.open(path, Accept=accept)
                    self.assertEqual(page.status, 404)
                    self.assertIn("json", page.headers["Content-Type"], (accept, page.body))
                    self.assertIn("Accept", ", ".join(page.headers.get_all("Vary")))

    def test_the_start_page(self):
        self.settings(display_name="Nordwind")
        self.shows(self.visitor.open("/"), "Welcome to Nordwind")
        self.assertEqual(self.visitor.page.links["Sign in"], "/account")
        email = self.own_email()
        self.sign_up(email)
        page = self.shows(self.visitor.open("/"), "Welcome to Nordwind")
        self.assertIn(email, page.text)
        self.assertEqual(page.links["Your account"], "/account")
        self.settings(home_url="https://nordwind.example/start")
        page = self.visitor.open("/")
        self.assertEqual((page.status, page.location), (302, "https://nordwind.example/start"))
        for url in ["javascript:alert(1)", "//evil.example", "http://nordwind.example", "/x"]:
            run = self.site.dossier("app", "set", f"home_url={url}", check=False)
            self.assertEqual(run.returncode, 12, url + run.stdout + run.stderr)

    def test_the_icon(self):
        def link(page):
            return re.search(r'<link rel="icon" href="([^"]*)">', page.body.decode())[1]
        self.settings(display_name="<b>", brand_color="#ffdd00")
        self.assertEqual(link(self.visitor.open("/account")), "/favicon.ico")
        icon = self.visitor.open("/favicon.ico")
        self.assertEqual((icon.status, icon.headers["Content-Type"]), (200, "image/svg+xml"))
        self.assertEqual(icon.headers["X-Content-Type-Options"], "nosniff")
        self.assertIn("default-src 'none'", icon.headers["Content-Security-Policy"])
        self.assertIn(b'fill="#ffdd00"', icon.body)
        self.assertIn(b">&lt;</text>", icon.body)
        for setting, url in [("logo_url", "https://cdn.example/logo.svg"),
                             ("favicon_url", "https://icons.example/icon.png")]:
            self.settings(**{setting: url})
            page = self.visitor.open("/account")
            self.assertEqual(link(page), url)
            self.assertIn(url.rsplit("/", 1)[0], page.headers["Content-Security-Policy"])
            self.assertEqual(self.visitor.open("/favicon.ico").location, url)
        for url in ["javascript:alert(1)", "data:image/png;base64,x", "http://icons.example/x.png"]:
            run = self.site.dossier("app", "set", f"favicon_url={url}", check=False)
            self.assertEqual(run.returncode, 12, url + run.stdout + run.stderr)

    def test_other_pages_cannot_read_these(self):
        self.settings(allowed_origins=["https://app.example.com"])
        self.visitor.headers["Origin"] = "https://app.example.com"
        for path in ["/account", "/account/switch", "/u/reset"]:
            self.visitor.open(path)
            for page in self.visitor.trace:
                self.assertNotIn("Access-Control-Allow-Origin", page.headers)


if __name__ == "__main__":
    unittest.main()
