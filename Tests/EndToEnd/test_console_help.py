"""The console: search, help for users who cannot sign in, devices, the audit log, administrators."""

import csv
import datetime
import io
import json
import re
import unittest

from console import PASSWORD, ConsoleCase, quoted


class Names(ConsoleCase):
    def test_an_app_of_any_name_opens(self):
        visitor = self.administrator()
        names = ["sign-in", "start", "confirm", "resume", "assets", "sign-out", "menu", "me", "search"]
        for name in names:
            self.site.create_app(name)
            self.shows(visitor.open(f"/console/{name}"), "Overview")
            self.shows(visitor.open(f"/console/{name}/users"), "Users")


class Search(ConsoleCase):
    def test_ids_of_all_kinds(self):
        visitor = self.administrator()
        email = self.own_email()
        grant = self.expect(self.register(email, "correct horse battery"), 201).json
        user = grant["user_id"]
        page = visitor.open(f"/console/default/search?q={user.upper()}")
        self.assertEqual(page.path, f"/console/default/users/{user}")
        [session] = self.site.dossier("api", "GET", f"/v1/users/{user}/sessions")
        page = self.shows(visitor.open(f"/console/default/search?q={session['id']}"),
                          f"Results for “{session['id']}”")
        self.assertIn("Live", page.text)
        self.assertIn(session["id"], page.links)
        device = session["device_id"]
        page = visitor.open(f"/console/-/search?q={device}")
        page = visitor.open(page.links[device])
        self.assertIn(device, page.text)
        client = self.site.dossier("client", "create", "--app", "default", "Reports", "kind=machine")
        page = visitor.open(f"/console/default/search?q={client['id']}")
        self.assertEqual(page.links["Reports"], f"/console/default/applications/{client['id']}")
        events = self.site.dossier("api", "GET", f"/v1/users/{user}/audit")
        page = visitor.open(f"/console/default/search?q={events[0]['id']}")
        self.assertIn("Signed in", page.text)
        page = visitor.open("/console/default/search?q=%40nobody.example")
        self.assertIn("Text inside a word is not searched.", page.text)
        page = visitor.open(quoted("/console/default/search", q="x" * 400))
        self.assertEqual(page.status, 422)

    def test_found_users_show_their_state(self):
        visitor = self.administrator()
        email = self.own_email()
        user = self.user(email=email)
        self.site.dossier("api", "PATCH", f"/v1/users/{user}", "-", given='{"blocked":true}')
        for query in [email, email[:10], "@" + email.split("@")[1]]:
            page = visitor.open(quoted("/console/default/search", q=query))
            self.assertIn(email, page.links)
            self.assertIn("Blocked", page.text, query)
        page = visitor.open(quoted("/console/-/search", q=email))
        self.assertEqual(page.links[email], f"/console/default/users/{user}")

    def test_days_of_the_filter_are_those_of_the_reader(self):
        visitor, email = self.administrator(), self.own_email()
        user = self.user(email=email)
        # 23:30 in UTC is the next day in a zone one hour to the east.
        self.site.sql(f"update users set created_at = '2001-02-03T23:30:00Z' where user_id = '{user}'")
        for offset, day in [("", "2001-02-03"), ("60", "2001-02-04"), ("-60", "2001-02-03"), ("x", "2001-02-03")]:
            for other in ["2001-02-03", "2001-02-04"]:
                page = visitor.open(quoted("/console/default/users", **{"from": other, "to": other}, offset=offset))
                self.assertEqual(email in page.links, other == day, (offset, other, page.path))

    def test_a_filter_tells_no_viewer_of_documents(self):
        viewer, support = self.administrator("viewer"), self.administrator("support")
        path = quoted("/console/default/users", filter='created_at > "1970-01-01" and metadata.a = 1')
        page = viewer.open(path)
        self.shows(page, "Users", "Your role cannot read documents, so a filter cannot test them.",
                   status=403)
        self.shows(support.open(path), "Users")


class SignInCheck(ConsoleCase):
    def test_reasons_are_removed_by_their_buttons(self):
        support = self.administrator("support")
        email = self.own_email()
        user = self.user(email=email)
        self.site.dossier("api", "PUT", f"/v1/users/{user}/password", "-",
                          given='{"password":"correct horse battery"}')
        for _ in range(3):
            self.login(email, "wrong horse battery")
        self.site.dossier("api", "PATCH", f"/v1/users/{user}", "-", given='{"blocked":true}')
        support.open(f"/console/default/users/{user}")
        page = self.shows(support.open(support.page.links["Why can this user not sign in?"]),
                          "Why can this user not sign in?")
        self.assertIn("No way to sign in works now.", page.text)
        self.assertIn("The user has been blocked since", page.text)
        self.assertIn("Blocked byCommand line (tester)", page.text)
        self.assertNotRegex(page.text, r"\d{4}-\d\d-\d\dT")
        self.assertRegex(page.body.decode(), r'blocked since <time datetime="[^"]+">[0-9-]{10} [0-9:]{5}</time>')
        # While the user is blocked, the right password fails too.
        self.assertNotIn("A wrong password was sent", page.text)
        page = support.submit("/remove")
        self.assertIn("The user is not blocked any more.", page.text)
        self.assertIn("A wrong password was sent", page.text)
        self.assertIn("These work now: password", page.text)
        self.assertFalse(self.site.dossier("user", "show", user)["blocked"])
        # A second click finds the reason gone.
        page = support.open(quoted("/console/default/sign-in-check", user=email))
        self.assertNotIn("blocked since", page.text)

    def test_addresses_without_a_user(self):
        admin = self.administrator("admin")
        page = admin.open(quoted("/console/default/sign-in-check", user="nobody@example.com"))
        self.assertIn("No user of the app has the address nobody@example.com.", page.text)
        self.assertEqual(page.links["Create user"], "/console/default/users/new")
        page = admin.open(quoted("/console/default/sign-in-check", user="0" * 24))
        self.assertEqual(page.errors, ["No user in default has this id."])

    def test_similar_addresses_are_found_from_the_search_and_the_list(self):
        support, email = self.administrator("support"), f"similar{self.own_email()}"
        self.user(email=email)
        self.assertEqual(support.open("/console/default/users").links["Why can a user not sign in?"],
                         "/console/default/sign-in-check")
        # Also where the search finds another user.
        label = "Look for addresses that are almost the same"
        page = support.open(quoted("/console/default/search", q="similar"))
        self.assertIn(email, page.text)
        self.assertEqual(page.links[label], "/console/default/sign-in-check")
        page = support.open(quoted("/console/default/search", q="x" + email))
        self.assertIn("sign-in-check?user=x", page.links[label])
        # Another domain is the most frequent mistake.
        other = email.partition("@")[0] + "@example.org"
        page = support.open(support.open(quoted("/console/default/search", q=other)).links[label])
        self.assertIn(f"has the address {email}, which has the same name at another domain.", page.text)
        self.assertNotIn("No way to sign in works", page.text)
        viewer = self.administrator("viewer")
        self.assertNotIn("Why can a user not sign in?", viewer.open("/console/default/users").links)

    def test_a_viewer_may_not_ask(self):
        viewer = self.administrator("viewer")
        user = self.user()
        page = viewer.open(quoted("/console/default/sign-in-check", user=user))
        self.assertEqual(page.status, 403)
        self.assertNotIn("Why can this user not sign in?", viewer.open(f"/console/default/users/{user}").links)


class Devices(ConsoleCase):
    def test_a_device_is_signed_out_and_forgotten(self):
        visitor = self.administrator("support")
        email = self.own_email()
        user = self.expect(self.register(email, "correct horse battery"), 201).json["user_id"]
        path = f"/console/default/users/{user}/devices"
        page = visitor.open(path)
        # People know a device by its program; the end of an id stands in for an unknown one.
        self.assertRegex(page.text, r"(Python-urllib|Device)\S* [0-9a-f]{8}")
        [device] = {path for path in page.links.values()
                    if re.fullmatch("/console/default/devices/[0-9a-f]{24}", path)}
        # A second device of the same program differs, and the buttons are explained.
        self.expect(self.login(email, "correct horse battery"), 200)
        page = visitor.open(path)
        names = re.findall(r'devices/([0-9a-f]{24})"><bdi>([^<]*)</bdi> <code>([0-9a-f]{8})</code>',
                           page.body.decode())
        self.assertEqual(len(names), 2, page.text)
        self.assertEqual(len({(program, end) for _, program, end in names}), 2)
        self.assertIn("The API", page.text)
        self.assertIn("127.0.0.1", page.text)
        self.assertIn("choose it for a lost phone", page.text)
        self.site.dossier("device", "delete", user, next(
            one for one, _, _ in names if not device.endswith(one)), "--app", "default", "--yes")
        visitor.open(path)
        self.assertIn("The user is signed out on", visitor.submit("/devices/sign-out").text)
        self.assertEqual(self.site.dossier("api", "GET", f"/v1/users/{user}/sessions"), [])
        page = visitor.open(device)
        self.assertIn(email, page.links)
        self.assertIn("Signed out", page.text)
        page = visitor.submit("/remove", user=user)
        self.assertIn("Removed from the device.", page.text)
        self.assertIn("This device knows no user.", page.text)
        self.assertIn("No device knows this user.", visitor.open(path).text)

    def test_a_viewer_sees_devices_and_changes_nothing(self):
        viewer = self.administrator("viewer")
        user = self.expect(self.register(self.own_email(), "correct horse battery"), 201).json["user_id"]
        page = viewer.open(f"/console/default/users/{user}/devices")
        self.assertFalse([form for form in page.forms if "devices" in form.action])


class Applications(ConsoleCase):
    def test_consents_are_listed_and_removed(self):
        support = self.administrator("support")
        user = self.user()
        path = f"/console/default/users/{user}/applications"
        self.assertIn("This user has given no application access.", support.open(path).text)
        client = self.site.dossier("client", "create", "--app", "default", "Photos", "kind=native")
        self.site.sql(
            "insert into consents (user_id, client_id, audience, scope) "
            f"values ('{user}', '{client['id']}', '', 'openid email')")
        page = self.administrator("viewer").open(path)
        self.assertIn("openid, email", page.text)
        self.assertFalse([form for form in page.forms if form.action.endswith("/remove")])
        page = support.open(path)
        self.assertIn("Photos", page.links)
        self.assertIn("The application has lost its access", support.submit("/remove").text)
        self.assertIn("no application access", support.page.text)


class Audit(ConsoleCase):
    def test_filters_and_pages(self):
        visitor = self.administrator()
        email = self.own_email()
        user = self.expect(self.register(email, "correct horse battery"), 201).json["user_id"]
        path = "/console/default/audit"
        page = visitor.open(quoted(path, action="login*", user=email))
        self.assertIn("Signed in login", page.text)
        self.assertNotIn("user_create", page.text)
        self.assertIn(email, page.links)
        for conditions in [{"network": "127.0.0.0/8"}, {"from": "2000-01-01", "to": "2999-12-31"},
                           {"actor": "user", "order": "oldest"}]:
            page = visitor.open(quoted(path, user=user, **conditions))
            self.assertIn("login", page.text, conditions)
        # Words work as well as codes, and a name leads to what this actor did.
        page = visitor.open(quoted(path, action="signed IN", actor="The user", user=user))
        self.assertIn("Signed in login", page.text)
        self.assertEqual(visitor.form("/audit").fields["action"], "Signed in")
        self.assertIn('<option value="User blocked">', page.body.decode())
        self.assertEqual(page.links["The user"], f"{path}?actor=user")
        page = visitor.open(quoted(path, action="User blocked", user=user))
        self.assertIn("No event matches action User blocked, user", page.text)
        # Days begin and end where the reader is.
        [event] = self.site.dossier("audit", "--app", "default", "--action", "login", "--user", user)
        at = datetime.datetime.fromisoformat(event["at"])
        for minutes in [-720, 0, 720]:
            day = (at + datetime.timedelta(minutes=minutes)).date()
            found = {"from": str(day), "to": str(day), "offset": minutes, "user": user}
            self.assertIn("Signed in login", visitor.open(quoted(path, **found)).text, found)
            found["from"] = found["to"] = str(day + datetime.timedelta(1))
            self.assertIn("No event matches", visitor.open(quoted(path, **found)).text, found)
        visitor.open(quoted(path, user=user, offset="x", **{"from": "2000-01-01"}))
        self.assertEqual(visitor.form("/audit").fields["offset"], "")
        page = visitor.open(quoted(path, user=user, to="2000-01-01"))
        self.assertIn(f"No event matches user {user}, to 2000-01-01.", page.text)
        self.assertIn("Remove filter", page.links)
        page = visitor.open(quoted(path, user="x", network="nothing"))
        self.assertEqual(len(page.errors), 2, page.text)
        page = visitor.open(quoted(path, user="nobody@example.com"))
        self.assertIn("No user has this address.", page.errors[0])

    def test_exports_have_no_formulas_and_a_limit(self):
        visitor = self.administrator("admin")
        email = self.own_email()
        self.expect(self.register(email, "correct horse battery", headers={"User-Agent": '=1+"1"'}), 201)
        user = self.site.dossier("user", "show", email)["id"]
        path = quoted("/console/default/audit", user=email)
        visitor.open(path)
        page = visitor.submit("/export", format="csv")
        self.assertEqual(page.headers["Content-Type"], "text/csv")
        self.assertIn("attachment", page.headers["Content-Disposition"])
        rows = list(csv.DictReader(io.StringIO(page.body.decode())))
        self.assertTrue(rows)
        self.assertEqual({row["user_id"] for row in rows}, {user})
        self.assertIn("'=1+\"1\"", {row["agent"] for row in rows})
        self.assertFalse([row for row in rows if any(cell[:1] in tuple("=+-@") for cell in row.values() if cell)])
        visitor.open(path)
        page = visitor.submit("/export", format="ndjson")
        lines = [json.loads(line) for line in page.body.decode().splitlines()]
        self.assertEqual({line["user_id"] for line in lines}, {user})
        [event, _] = self.site.dossier("audit", "--app", "default", "--action", "audit_export")
        self.assertEqual(event["detail"]["filter"], {"user": user})
        self.assertEqual(event["detail"]["count"], len(lines))
        for _ in range(8):
            visitor.open(path)
            self.assertEqual(visitor.submit("/export", format="csv").status, 200)
        visitor.open(path)
        self.assertEqual(visitor.submit("/export", format="csv").status, 429)

    def test_support_exports_nothing(self):
        support = self.administrator("support")
        page = support.open("/console/default/audit")
        self.assertFalse([form for form in page.forms if form.action.endswith("/export")])

    def test_what_changed(self):
        visitor = self.administrator("admin")
        self.site.create_app("changes")
        visitor.open("/console/changes/settings/limit")
        visitor.submit("/limit", sign_ins_per_user="77")
        visitor.submit("/apply")
        page = visitor.open("/console/changes/settings/limit")
        self.assertIn("What changed?", page.text)
        # The administrator and the setting have the names that people know.
        self.assertIn("Settings changed", page.text)
        self.assertIn(visitor.address, page.text)
        self.assertIn("Sign ins per user", page.text)
        self.assertIn("Before and after", page.body.decode())
        role = self.site.dossier("role", "create", "--app", "changes", "editor")
        other = self.site.dossier("role", "create", "--app", "changes", "reader")
        page = visitor.open(f"/console/changes/roles/{role['id']}")
        self.assertEqual(page.text.count("Role created"), 1)
        page = visitor.open(page.links["All events of this kind"])
        self.assertEqual(page.text.count("Role created"), 2, other)

    def test_events_name_their_actors_and_users(self):
        admin, email = self.administrator("admin"), self.own_email()
        user = self.user(email=email)
        admin.open(f"/console/default/users/{user}/block")
        admin.submit("/block")
        [event] = self.site.dossier(
            "audit", "--app", "default", "--action", "user_block", "--user", user)
        self.assertEqual((event["actor_name"], event["user_name"]), (admin.address, email))
        page = admin.open(f"/console/default/users/{user}/history")
        self.assertIn("User blocked", page.text)
        self.assertNotIn("user_block", page.text)
        self.assertIn(admin.address, page.text.partition("User blocked")[2])
        # Users learn no address of an administrator.
        [event] = [event for event in self.site.dossier("api", "GET", f"/v1/users/{user}/audit")
                   if event["action"] == "user_block"]
        self.assertNotIn("actor_name", event)
        # A deleted administrator keeps a part of the id.
        [record] = [record for record in self.site.dossier("administrator", "list")
                    if record["email"] == admin.address]
        self.site.dossier("administrator", "delete", record["id"], "--yes")
        page = self.administrator("viewer").open(f"/console/default/users/{user}/history")
        self.assertIn(f"Administrator {record['id'][5:13]} (deleted)", page.text)

    def test_reads_of_users_are_events(self):
        support = self.administrator("support")
        user = self.user()
        for _ in range(2):
            support.open(f"/console/default/users/{user}")
        support.open(f"/console/default/users/{user}/sessions")
        events = self.site.dossier("audit", "--app", "default", "--action", "user_view", "--user", user)
        # Events of one second have no order.
        self.assertCountEqual(
            [event["detail"]["part"] for event in events], ["sessions", "documents"])


class Kept(ConsoleCase):
    def age(self):
        self.site.sql("update sessions set authenticated_at = authenticated_at - interval '11 minutes'")

    def test_a_form_that_needs_a_confirmation_is_kept(self):
        visitor = self.administrator()
        email = self.own_email()
        user = self.user(email=email)
        visitor.open(f"/console/default/users/{user}/delete")
        self.age()
        page = self.shows(visitor.submit("/delete", confirmation=email), "Confirm that it is you", status=403)
        page = visitor.submit("/confirm", password="wrong", code="000000")
        self.assertEqual(page.status, 422)
        self.forget_steps()
        page = self.shows(visitor.submit("/confirm", password=PASSWORD, code=visitor.authenticator.code()),
                          f"Delete a user: {email}?")
        self.assertIn("Nothing was done yet", page.text)
        self.assertIn(f"Deleted {email}", visitor.submit("/delete").text)

    def test_a_long_document_is_kept_after_the_end_of_a_session(self):
        visitor = self.administrator()
        user = self.user()
        visitor.open(f"/console/default/users/{user}")
        self.site.sql("update sessions set ended_at = now()")
        text = json.dumps({"text": 'a"\\\n' * 9_000})
        page = self.shows(visitor.submit("/metadata", user_metadata=text), "Sign in", status=403)
        self.shows(self.sign_in(visitor), "Replace both metadata of a user?")
        self.assertIn("Saved.", visitor.submit("/metadata").text)
        stored = self.site.dossier("api", "GET", f"/v1/users/{user}/metadata")
        self.assertEqual(stored, json.loads(text))

    def test_a_forged_form_is_not_kept(self):
        visitor = self.administrator()
        visitor.submit("/sign-out")
        visitor.open("/console/-/sign-in")
        visitor.submit(email=visitor.address, password=PASSWORD, kept="bm90aGluZw")
        self.forget_steps()
        page = visitor.submit(code=visitor.authenticator.code())
        self.shows(page, "Overview")


class Administrators(ConsoleCase):
    def test_an_owner_makes_changes_and_deletes_one(self):
        owner = self.administrator()
        email = self.new_address()
        owner.open("/console/-/administrators/new")
        page = owner.submit("/new", email=email, role="support")
        self.assertIn(f"Created {email}", page.text)
        page = owner.submit("/link")
        link = re.search(r"https?://\S+/console/-/start#ds_admin_[\w-]+", page.text)[0]
        self.assertIn("works once", page.text)
        other = self.new_visitor()
        other.address = email
        other.open("/console/-/start")
        other.submit(link=link)
        other.authenticator = self.authenticator(other)
        self.forget_steps()
        other.submit(password=PASSWORD, code=other.authenticator.code())
        self.shows(other.open("/console/default"), "Overview")
        page = owner.open("/console/-/administrators")
        page = owner.open(page.links[email])
        self.assertIn("Administrator added", page.text)
        page = owner.submit(page.path, role="viewer", disabled="true")
        self.assertIn("The changes are saved.", page.text)
        self.shows(other.open("/console/default"), "Sign in")
        owner.open(f"{page.path.split('?')[0]}/delete")
        self.assertIn(f"Deleted {email}", owner.submit("/delete", confirmation=email).text)

    def test_the_last_owner_and_the_own_role_stay(self):
        self.site.sql("delete from administrators")
        owner = self.administrator()
        page = owner.open("/console/-/administrators")
        page = owner.open(page.links[owner.address])
        page = owner.submit(page.path, disabled="true")
        self.assertEqual(page.status, 422, page.text)
        self.assertIn("No owner of all apps would be left.", page.text)

    def test_only_owners_of_all_apps_see_them(self):
        for arguments in [("admin",), ("owner", "--app", "default")]:
            visitor = self.administrator(*arguments)
            page = visitor.open("/console/-/administrators")
            self.assertEqual(page.status, 403, page.text)
            self.assertNotIn("Administrators", visitor.open("/console/default").links)

    def test_the_own_account(self):
        visitor = self.administrator("viewer")
        page = self.shows(visitor.open("/console/-/me"), "Your account")
        self.assertIn("Recovery codes left", page.text)
        self.assertIn("This one", page.text)
        self.assertIn(b"data-keys", page.body)
        page = visitor.submit("/keys", keys=None)
        self.assertNotIn(b"data-keys", page.body)
        page = visitor.submit("/keys", keys="true")
        self.assertIn(b"data-keys", page.body)
        other = self.new_visitor()
        other.address, other.authenticator = visitor.address, visitor.authenticator
        other.headers["User-Agent"] = "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/130.0"
        other.open("/console")
        self.sign_in(other)
        page = visitor.open("/console/-/me")
        self.assertIn("Firefox, Linux", page.text)
        self.assertNotIn("Mozilla", page.text)
        self.assertIn("All other sessions have ended.", visitor.submit("/end").text)
        self.shows(other.open("/console/-/me"), "Sign in")
        self.shows(visitor.open("/console/-/me"), "Your account")


class Storage(ConsoleCase):
    def test_indexes_schemas_and_keys(self):
        visitor = self.administrator()
        self.site.create_app("store")
        visitor.open("/console/store/indexes")
        page = visitor.submit("/indexes", path="metadata.", kind="text")
        self.assertEqual(page.status, 422)
        self.assertTrue(page.errors)
        page = visitor.submit("/indexes", path="metadata.theme", kind="text")
        self.assertIn("The index is built in the background.", page.text)
        self.assertIn("metadata.theme", page.text)
        self.assertIn("being dropped", visitor.submit("/drop").text)
        self.shows(visitor.open("/console/store/schemas/metadata"), "Schema of user_metadata")
        page = visitor.submit("/metadata", schema='{"type": 7}')
        self.assertEqual(page.status, 422)
        page = visitor.submit("/metadata", schema='{\n "required": [,')
        self.assertIn("Line 2", page.errors[0])
        page = visitor.submit("/metadata", schema='{"required": ["theme"]}')
        self.assertIn("The schema is saved.", page.text)
        self.assertEqual(self.site.dossier("api", "GET", "/v1/schemas/metadata", "--app", "store"),
                         {"required": ["theme"]})
        self.assertIn("Has a schema", visitor.open("/console/store/schemas").text)
        visitor.open("/console/store/schemas/metadata")
        self.assertIn("The schema is removed.", visitor.submit("/remove").text)
        visitor.open("/console/store/keys")
        self.assertIn("New keys sign from now on.", visitor.submit("/rotate").text)
        viewer = self.administrator("viewer")
        for path in ["indexes", "schemas/metadata"]:
            page = viewer.open(f"/console/store/{path}")
            actions = [form.action for form in page.forms if "/store/" in form.action]
            self.assertEqual([action for action in actions if "search" not in action], [])
        self.assertEqual(viewer.open("/console/store/keys").status, 403)


if __name__ == "__main__":
    unittest.main()
