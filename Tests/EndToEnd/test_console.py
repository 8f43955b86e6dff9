"""The console: its door, its forms and its pages, without scripts."""

import json
import re
import unittest

from console import PASSWORD, ConsoleCase


class Door(ConsoleCase):
    def test_the_first_link_sets_an_administrator_up(self):
        address, link = self.link()
        visitor = self.visitor
        visitor.address = address
        self.shows(visitor.open("/console"), "Sign in")
        self.shows(visitor.open("/console/-/start"), "Welcome")
        wrong = "This link has expired or was used. Make a new one: dossier administrator link ADDRESS"
        self.shows(visitor.submit(link=link[:-4] + "AAAA"), "Welcome", wrong, status=422)
        page = self.shows(visitor.submit(link=link), "Set up your account")
        self.assertIn(address, page.text)
        visitor.authenticator = self.authenticator(visitor)
        page = visitor.submit(password="", code=" ")
        missing = "Enter the 6-digit code that your authenticator app shows."
        self.shows(page, "Set up your account", "Enter a password.", missing, status=422)
        page = visitor.submit(password=PASSWORD, code=visitor.authenticator.wrong())
        self.shows(page, "Set up your account",
                   "The code is wrong. Check it, or wait for the next one.", status=422)
        page = visitor.submit(password="short", code=visitor.authenticator.code())
        self.assertEqual(page.status, 422)
        self.forget_steps()
        page = visitor.submit(password=PASSWORD, code=visitor.authenticator.code())
        self.shows(page, "Save your recovery codes")
        self.shows(visitor.open("/console"), "Overview")
        # The link works once.
        other = self.new_visitor()
        other.open("/console/-/start")
        self.shows(other.submit(link=link), "Welcome", wrong, status=422)

    def test_an_administrator_signs_out_and_in(self):
        visitor = self.administrator()
        self.shows(visitor.submit("/sign-out"), "Sign in")
        self.shows(visitor.open("/console/default/users"), "Sign in")
        visitor.submit(email=visitor.address, password="wrong horse battery")
        self.shows(visitor.page, "Sign in", "Email address or password is wrong.", status=422)
        self.shows(visitor.submit(email=visitor.address, password=""), "Sign in", "Enter a password.", status=422)
        self.shows(visitor.submit(email=visitor.address, password=PASSWORD), "Enter the code")
        missing = "Enter the 6-digit code that your authenticator app shows."
        self.shows(visitor.submit(code=""), "Enter the code", missing, status=422)
        page = visitor.submit(code=visitor.authenticator.wrong())
        self.shows(page, "Enter the code", "The code is wrong, or was used. Wait for the next one.", status=422)
        self.forget_steps()
        # The sign-in leads back to the page.
        page = self.shows(visitor.submit(code=visitor.authenticator.code()), "Users")
        self.assertEqual(page.path, "/console/default/users")

    def test_a_user_of_the_app_with_the_same_address_gains_nothing(self):
        visitor = self.administrator()
        self.expect(self.register(visitor.address, "correct horse battery"), 201)
        stranger = self.new_visitor()
        stranger.open("/console")
        page = stranger.submit(email=visitor.address, password="correct horse battery")
        self.shows(page, "Sign in", "Email address or password is wrong.", status=422)

    def test_a_disabled_administrator_is_refused_at_once(self):
        visitor = self.administrator("viewer")
        self.site.dossier("administrator", "disable", visitor.address)
        self.shows(visitor.open("/console/default/users"), "Sign in")

    def test_a_form_after_the_end_of_the_session_is_kept(self):
        visitor = self.administrator()
        user = self.user()
        visitor.open(f"/console/default/users/{user}")
        self.site.sql("update sessions set ended_at = now()")
        page = self.shows(visitor.submit("/profile", nickname="kept"), "Sign in", status=403)
        page = self.shows(self.sign_in(visitor), "Change the profile of a user?")
        self.assertIsNone(self.site.dossier("user", "show", user)["nickname"])
        page = visitor.submit("/profile")
        self.assertIn("The profile is saved.", page.text)
        self.assertEqual(self.site.dossier("user", "show", user)["nickname"], "kept")

    def test_the_sign_in_leads_only_to_the_console(self):
        visitor = self.administrator()
        visitor.submit("/sign-out")
        for target in ["//example.com/", "https://example.com/", "/u/logout", "/console@x"]:
            visitor.open(f"/console/-/sign-in?next={target}")
            self.assertEqual(visitor.form().fields["next"], "/console")

    def test_pages_are_not_cached_and_not_framed(self):
        visitor = self.administrator()
        for path in ["/console/default", "/console/default/users", "/console/-/sign-in"]:
            page = visitor.open(path)
            self.assertEqual(page.headers["Cache-Control"], "no-store")
            self.assertIn("frame-ancestors 'none'", page.headers["Content-Security-Policy"])
            self.assertIn("script-src 'self'", page.headers["Content-Security-Policy"])
            self.assertNotIn("unsafe", page.headers["Content-Security-Policy"])
            self.assertEqual(page.headers["Cross-Origin-Opener-Policy"], "same-origin")
            self.assertEqual(page.headers["Referrer-Policy"], "same-origin")

    def test_the_assets_are_small(self):
        page = self.visitor.open("/console/-/sign-in")
        body = page.body.decode()
        style = self.visitor.open(re.search(r'href="(/console/-/assets/[^"]+css)"', body)[1])
        script = self.visitor.open(re.search(r'src="(/console/-/assets/[^"]+js)"', body)[1])
        self.assertLessEqual(len(style.body), 27 * 1_024)
        self.assertLessEqual(len(script.body), 12_000)
        self.assertIn("immutable", style.headers["Cache-Control"])


class Closed(ConsoleCase):
    SETTINGS = {}

    def test_without_the_setting_nothing_is_there(self):
        for path in ["/console", "/console/-/sign-in", "/console/-/start", "/console/default/users"]:
            self.assertEqual(self.visitor.open(path).status, 404)

    def test_an_own_host_and_networks(self):
        self.restart(DOSSIER_CONSOLE="console.example.com")
        self.addCleanup(self.restart, DOSSIER_CONSOLE=None, DOSSIER_CONSOLE_NETWORKS=None)
        own = self.new_visitor(host="console.example.com")
        self.assertEqual(self.visitor.open("/console/-/sign-in").status, 404)
        self.shows(own.open("/console"), "Sign in")
        self.restart(DOSSIER_CONSOLE_NETWORKS="192.0.2.0/24")
        self.assertEqual(own.open("/console/-/sign-in").status, 404)
        # nginx passes no such field on.
        forged = own.send("GET", "/console/-/sign-in", X_Forwarded_For="192.0.2.1")
        self.assertEqual(forged.status, 404)
        self.restart(DOSSIER_CONSOLE_NETWORKS="127.0.0.0/8 ::1/128")
        self.shows(own.open("/console/-/sign-in"), "Sign in")


class Forms(ConsoleCase):
    def test_a_form_of_another_page_changes_nothing(self):
        visitor, user = self.administrator(), self.user()
        path = f"/console/default/users/{user}"
        other = self.administrator()
        other.open(f"{path}/block")
        foreign = other.form("/block").fields["token"]
        for origin, fields in [
                (None, {}), ("https://evil.example", {}), ("null", {}),
                (True, {"token": foreign}), (True, {"token": ""}), (True, {"once": ""})]:
            visitor.open(f"{path}/block")
            page = visitor.submit("/block", origin=origin, **fields)
            self.assertEqual(page.status, 403, (origin, fields, page.text))
        # The token of another form.
        visitor.open(path)
        token = visitor.form("/profile").fields["token"]
        visitor.open(f"{path}/block")
        self.assertEqual(visitor.submit("/block", token=token).status, 403)
        # Links change nothing.
        for action in ["unblock", "verify/request", "metadata", "sessions/end", "sign-in/limits"]:
            self.assertEqual(visitor.open(f"{path}/{action}").status, 405)
        self.assertFalse(self.site.dossier("user", "show", user)["blocked"])

    def test_a_second_click_gets_the_first_response(self):
        visitor = self.administrator()
        visitor.open("/console/default/users/new")
        form, email = visitor.form("/new"), self.own_email()
        answers = []
        for _ in range(2):
            visitor.page = type(visitor.page)(200, {}, b"", "")
            visitor.page.forms = [form]
            answers.append(visitor.submit(follow=False, email=email, password=""))
        self.assertEqual([answer.status for answer in answers], [303, 303])
        self.assertEqual(*[answer.location.split("?")[0] for answer in answers])
        found = self.site.dossier("user", "list", "--filter", f'email = "{email}"')
        self.assertEqual(len(found), 1)

    def test_a_message_of_an_attacker_is_not_shown(self):
        visitor = self.administrator()
        page = visitor.open("/console/default/users?state=c29tZXRoaW5n&notice=Pay+now")
        self.assertNotIn("Pay now", page.text)


    def test_a_form_of_many_names_holds_no_worker_up(self):
        visitor = self.administrator("viewer")
        visitor.open(f"/console/default/users/{self.user()}/sessions")
        form = visitor.form("/sign-out")
        names = "".join(f"&n{number}=" for number in range(30_000))
        token, once = form.fields["token"], form.fields["once"]
        for path, status in [(visitor.page.path.replace("sessions", "metadata"), 400), (form.action, 413)]:
            page = visitor.send("POST", path, f"token={token}&once={once}{names}", Origin=visitor.origin,
                                **{"Content-Type": "application/x-www-form-urlencoded"})
            self.assertEqual(page.status, status, page.text)
        self.assertEqual(visitor.open("/console/default").status, 200)

    def test_the_app_of_administrators_has_no_pages(self):
        visitor = self.administrator()
        for path in ["", "/settings/account", "/users"]:
            self.assertEqual(visitor.open(f"/console/operators{path}").status, 404)

    def test_an_unknown_path_has_the_look_of_the_console(self):
        visitor = self.administrator("viewer")
        app = self.site.create_app("elsewhere")
        for path, place in [("/console/default/no/such", "default"), ("/console/elsewhere/a/b", "elsewhere"),
                            ("/console/-/nothing", None), ("/console/nowhere/a/b", None)]:
            page = self.shows(visitor.open(path), "Not found", status=404)
            links = page.links
            self.assertEqual(links.get("Users"), place and f"/console/{place}/users", path)
            # Its body has a search.
            self.assertEqual([form.action for form in page.forms if form.action.endswith("/search")],
                             2 * [f"/console/{place or '-'}/search"])
            self.assertIn("Sign out", page.text)
        page = self.shows(self.new_visitor().open("/console/default/no/such"), "Not found", status=404)
        self.assertEqual(page.links["Back to the console"], "/console")
        # The bar leads to the other apps of the administrator.
        self.assertEqual(visitor.open("/console/default").links["elsewhere"], "/console/elsewhere")
        narrow = self.administrator("viewer", "--app", "default")
        self.assertNotIn("Switch app", narrow.page.text)
        page = self.shows(narrow.open("/console/elsewhere/a/b"), "Not found", status=404)
        self.assertNotIn("/console/elsewhere", page.body.decode())

    def test_a_link_is_not_used_up_from_another_network(self):
        address, link = self.link("viewer", "--network", "192.0.2.0/24")
        visitor = self.new_visitor()
        visitor.address = address
        visitor.open("/console/-/start")
        self.assertEqual(visitor.submit(link=link).status, 404)
        self.site.dossier("administrator", "set", address, "--any-network")
        visitor.open("/console/-/start")
        self.shows(visitor.submit(link=link), "Set up your account")
        visitor.authenticator = self.authenticator(visitor)
        visitor.submit(password=PASSWORD, code=visitor.authenticator.code())
        # Nor does a password tell anything there.
        self.site.dossier("administrator", "set", address, "--network", "192.0.2.0/24")
        visitor.cookies = {}
        visitor.open("/console/-/sign-in")
        page = visitor.submit(email=address, password=PASSWORD)
        self.shows(page, "Sign in", "Email address or password is wrong.", status=422)

    def test_a_form_of_another_port_or_scheme_changes_nothing(self):
        visitor = self.administrator()
        user = self.user()
        host = visitor.host.partition(":")[0]
        for origin in [f"https://{visitor.host}", f"http://{host}", f"http://{host}:1", "null",
                       f"{visitor.origin}0", f"{visitor.origin}/", visitor.origin.upper()]:
            visitor.open(f"/console/default/users/{user}/block")
            self.assertEqual(visitor.submit("/block", origin=origin).status, 403, origin)
        self.assertFalse(self.site.dossier("user", "show", user)["blocked"])


class Users(ConsoleCase):
    def test_an_empty_list_and_a_new_user(self):
        visitor = self.administrator()
        self.site.create_app("fresh")
        page = self.shows(visitor.open("/console/fresh/users"), "Users")
        self.assertIn("You don't have any users yet.", page.text)
        self.shows(visitor.open(page.links["Create user"]), "Create user")
        page = visitor.submit("/new", email="ada@")
        self.assertEqual(page.status, 422)
        self.assertEqual(visitor.form("/new").fields["email"], "ada@")
        email = self.own_email()
        page = visitor.submit("/new", email=email, password="correct horse battery", name="Ada")
        self.assertIn(f"Created {email}", page.text)
        self.assertEqual(page.heading.split()[0], email)
        self.assertIn("Not verified", page.heading)
        fresh = {"Dossier-App": "fresh"}
        self.expect(self.login(email, "correct horse battery", headers=fresh), 200)
        page = visitor.open("/console/fresh/users")
        self.assertIn(email, page.text)

    def test_the_search_finds_ids_addresses_and_names(self):
        visitor = self.administrator()
        email = self.own_email()
        user = self.user(email=email)
        self.site.dossier("api", "PATCH", f"/v1/users/{user}", "-", given='{"name":"Grace Hopper"}')
        self.assertEqual(
            visitor.open(f"/console/default/search?q={user}").path, f"/console/default/users/{user}")
        for query in [email, email[:12].upper(), "grace", "GRACE+Ho", "hopper", "HOP+gr"]:
            page = visitor.open(f"/console/default/search?q={query}")
            self.assertIn(email, page.links, (query, page.text))
        page = visitor.open("/console/default/search?q=opper")
        self.assertIn("Text inside a word is not searched.", page.text)

    def test_filters_are_in_the_address_of_the_page(self):
        visitor = self.administrator()
        blocked, other = self.own_email(), self.new_address()
        user = self.user(email=blocked)
        self.user(email=other)
        self.site.dossier("api", "PATCH", f"/v1/users/{user}", "-", given='{"blocked":true}')
        page = visitor.open("/console/default/users?state=blocked")
        self.assertIn(blocked, page.links)
        self.assertNotIn(other, page.links)
        page = visitor.open("/console/default/users?filter=email+%3D+%22nobody%40example.com%22")
        self.assertIn("No user matches", page.text)
        self.assertIn("Remove filter", page.links)
        page = visitor.open("/console/default/users?filter=color+%3D")
        self.assertTrue(page.errors)
        page = visitor.open("/console/default/users?from=2000-01-01&to=2999-12-31&sort=created_at")
        self.assertIn(other, page.links)

    def test_long_lists_have_pages(self):
        visitor = self.administrator()
        for number in range(52):
            self.user(email=f"u{number}@pages.example.com")
        path = "/console/default/users?filter=email_domain+%3D+%22pages.example.com%22"
        first = visitor.open(path)
        second = visitor.open(first.links["Next page"])
        found = [{link for link in page.links if link.endswith("@pages.example.com")}
                 for page in [first, second]]
        self.assertEqual([len(part) for part in found], [50, 2])
        self.assertFalse(found[0] & found[1])
        self.assertNotIn("Next page", second.links)
        self.assertIn("First page", second.links)

    def test_hostile_values_are_text(self):
        visitor = self.administrator()
        user = self.user()
        name = "<script>alert(1)</script> \"'&"
        self.site.dossier("api", "PATCH", f"/v1/users/{user}", "-", given=json.dumps({"name": name}))
        text = json.dumps({"</textarea><script>": "x" * 65_000, "\u202e": "<b>"})
        self.site.dossier("api", "PUT", f"/v1/users/{user}/metadata", "-", given=text)
        for path in ["/console/default/users", f"/console/default/users/{user}",
                     f"/console/default/search?q=%3Cscript%3E"]:
            page = visitor.open(path)
            self.assertEqual(page.status, 200)
            self.assertNotIn(b"<script>alert", page.body)
            self.assertNotIn(b"</textarea><script>", page.body)
        visitor.open(f"/console/default/users/{user}")
        self.assertEqual(json.loads(visitor.form("/metadata").fields["user_metadata"]),
                         json.loads(text))

    def test_block_verify_and_delete(self):
        visitor = self.administrator()
        email = self.own_email()
        user = self.user(email=email)
        path = f"/console/default/users/{user}"
        page = visitor.open(visitor.open(path).links["Block"])
        self.assertIn("all sessions end", page.text)
        self.assertIn("The user is blocked", visitor.submit("/block").text)
        self.assertIn("Blocked", visitor.page.heading)
        visitor.submit("/unblock")
        self.assertNotIn("Blocked", visitor.page.heading)
        page = visitor.open(visitor.page.links["Mark as verified"])
        self.assertIn("No email is sent.", page.text)
        self.assertIn("The address is marked as verified.", visitor.submit("/verify").text)
        self.assertIn("Verified", visitor.page.heading)
        # The administrator has just set the account up.
        page = visitor.open(f"{path}/delete")
        self.assertIn("What happens", page.text)
        self.assertIn("Events with the ID of the user stay, without addresses, in the audit log for 365 days",
                      page.text.partition("What stays")[2])
        self.settings(audit_retention_days=30, deleted_user_events="none")
        page = visitor.open(f"{path}/delete")
        self.assertIn("The event of the deletion stays in the audit log for 30 days", page.text)
        page = visitor.submit("/delete", confirmation="something")
        self.assertEqual((page.status, page.errors), (422, [f"Type exactly {email}."]))
        page = visitor.submit("/delete", confirmation=email.upper())
        self.assertIn(f"Deleted {email}", page.text)
        self.assertEqual(visitor.open(path).status, 404)

    def test_dangerous_pages_ask_for_password_and_code_again(self):
        visitor = self.administrator()
        user = self.user()
        self.age()
        page = self.shows(visitor.open(f"/console/default/users/{user}/delete"), "Confirm that it is you")
        page = visitor.submit("/confirm", password="wrong", code="000000")
        self.assertEqual(page.status, 422)
        self.forget_steps()
        page = visitor.submit("/confirm", password=PASSWORD, code=visitor.authenticator.code())
        self.assertIn("What happens", page.text)

    def test_forms_with_more_power_ask_for_password_and_code_again(self):
        visitor = self.administrator("admin", "--app", "default")
        client = self.site.dossier("client", "create", "Reader", "kind=machine", "--app", "default",
                                   "scopes=read:users")
        user, asks = self.user(), "Confirm that it is you"
        self.age()
        # The secret of a new client, more scopes of an old one, a place for codes, and an address that
        # gets links.
        visitor.open("/console/default/applications/new")
        self.shows(visitor.submit("/new", name="Nightly", kind="machine"), asks, status=403)
        path = f"/console/default/applications/{client['id']}"
        visitor.open(path)
        self.shows(visitor.submit(path, **{"scopes:update:users": "true"}), asks, status=403)
        visitor.open(path)
        self.shows(visitor.submit(path, callback_urls="https://evil.example/"), asks, status=403)
        visitor.open("/console/default/connections/new")
        page = visitor.submit("/new", name="evil", preset="oidc", issuer="https://evil.example")
        self.shows(page, asks, status=403)
        visitor.open(f"/console/default/users/{user}")
        self.shows(visitor.submit("/profile", email=self.new_address()), asks, status=403)
        # Other changes of them do not.
        visitor.open(path)
        self.assertIn("The changes are saved.", visitor.submit(path, description="a").text)
        visitor.open(f"/console/default/users/{user}")
        self.assertIn("The profile is saved.", visitor.submit("/profile", name="Ada").text)
        clients = self.site.dossier("client", "list", "--app", "default")
        self.assertNotIn("Nightly", [row["name"] for row in clients])
        self.assertEqual(self.site.dossier("client", "show", client["id"])["scopes"], ["read:users"])

    def test_a_new_program_is_made_with_its_secret(self):
        visitor = self.administrator()
        visitor.open("/console/default/applications/new")
        page = visitor.submit("/new", name="Reports", kind="machine")
        self.assertIn("The secret is shown only now.", page.text)
        path = page.path.split("?")[0]
        secret = page.body.decode().partition("<code>")[2].partition("<")[0]
        page = self.confirmed(visitor, f"{path}/secret")
        self.assertIn("The old secret is refused from now on.", page.text)
        self.assertNotIn(secret, page.text)

    def test_the_tabs_of_a_user(self):
        visitor = self.administrator()
        email = self.own_email()
        grant = self.expect(self.register(email, "correct horse battery"), 201).json
        user = grant["user_id"]
        path = f"/console/default/users/{user}"
        page = visitor.open(f"{path}/sessions")
        self.assertIn("127.0.0.1", page.text)
        self.assertIn("All sessions have ended.", self.confirmed(visitor, f"{path}/sessions/end-all").text)
        self.assertIn("not signed in anywhere", visitor.page.text)
        self.assertIn("password", visitor.open(f"{path}/sign-in").text)
        page = visitor.submit("/sign-in/password", password="another horse battery")
        self.assertIn("The password is set", page.text)
        self.expect(self.login(email, "another horse battery"), 200)
        visitor.open(f"{path}/properties")
        self.assertIn("The property level is set.", visitor.submit("/properties", key="level", value="7").text)
        self.assertIn("level", visitor.page.text)
        self.assertIn("removed", visitor.submit("/properties/remove").text)
        role = self.site.dossier("role", "create", "--app", "default", "editor")
        visitor.open(f"{path}/roles")
        self.assertIn("The user has the role.", visitor.submit("/roles", role=role["id"]).text)
        self.assertIn("editor", visitor.page.text)
        self.assertIn("no longer has", visitor.submit("/roles/remove").text)
        self.assertIn("Signed in", visitor.open(f"{path}/history").text)


if __name__ == "__main__":
    unittest.main()
