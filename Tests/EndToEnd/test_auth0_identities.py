"""Users are linked and unlinked, as Auth0's SDKs do."""

import json

import issuers
import openid
from cases import in_parallel
from hosted import PASSWORD
from openid import CALLBACK, Party
from test_auth0 import START, Auth0Case

SETUP = START + """
primary, secondary, subject = site["primary"], site["secondary"], site["subject"]
"""

VERSION_4 = SETUP + """
from auth0.management import Users
from auth0.exceptions import Auth0Error
users = Users(domain, access, protocol="http")
linked = users.link_user_account(primary, {"provider": "auth0", "user_id": secondary.split("|")[1]})
assert [one["user_id"] for one in linked] == [primary.split("|")[1], subject], linked
assert linked[0]["connection"] == "Username-Password-Authentication", linked
assert linked[1]["provider"] == "partner" and linked[1]["profileData"]["name"] == "Second", linked
assert "profileData" not in linked[0], linked
assert users.get(primary)["identities"] == linked
try:
    users.get(secondary)
    raise AssertionError("found")
except Auth0Error as error:
    assert (error.status_code, error.error_code) == (404, "inexistent_user"), error
for provider, id in [("auth0", secondary.split("|")[1]), ("auth0", primary.split("|")[1])]:
    try:
        users.link_user_account(primary, {"provider": provider, "user_id": id})
        raise AssertionError("linked")
    except Auth0Error as error:
        assert (error.status_code, error.error_code) == (400, "identity_not_linkable"), error
left = users.unlink_user_account(primary, "partner", subject)
assert left == linked[:1], left
again = users.get(secondary)
assert again["name"] == "Second" and "user_metadata" not in again, again
try:
    users.unlink_user_account(primary, "auth0", primary.split("|")[1])
    raise AssertionError("unlinked")
except Auth0Error as error:
    assert (error.status_code, error.error_code) == (400, "identity_not_linkable"), error
print("done")
"""

VERSION_6 = SETUP + """
from auth0.management import Auth0
client = Auth0(base_url="http://%s/api/v2" % domain, token=access)
linked = client.users.identities.link(primary, provider="partner", user_id=subject)
assert [one.provider for one in linked] == ["auth0", "partner"], linked
left = client.users.identities.delete(primary, "auth0", secondary.split("|")[1])
assert [one.user_id for one in left] == [primary.split("|")[1]], left
assert client.users.get(secondary).user_id == secondary
print("done")
"""

class LinkCase(Auth0Case):
    """Tests with a second issuer and a second page."""

    SCOPE = "openid profile email read:current_user update:current_user_identities"
    SECRET = b"partner secret of thirty-two bytes."

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        path = cls.site.folder / "secret"
        path.write_bytes(cls.SECRET)
        cls.site.dossier(
            "issuer", "create", "partner", "issuer=https://partner.example", "audience=app",
            f"secret=@{path}")
        cls.other_page = cls.new_client("single_page", f"callback_urls={CALLBACK}")

    def partner_token(self, subject, **fields):
        payload = issuers.claims(subject, issuer="https://partner.example", **fields)
        return issuers.secret_token(payload, self.SECRET)

    def partner_sign_in(self, subject, **fields):
        token = self.partner_token(subject, **fields)
        return self.expect(self.post("/v1/login/jwt", {"token": token}), 200).json

    def partner_user(self, prefix=""):
        """Creates a user of the other issuer. Returns its id in the API and its subject."""
        subject = prefix + self._testMethodName
        return f"auth0|{self.partner_sign_in(subject, name='Second')['user_id']}", subject

    def wire_user(self, prefix=""):
        mail, user = self.user(prefix + self.own_email())
        return mail, f"auth0|{user}"

    def linked(self, primary, provider, id, token=None):
        body = {"provider": provider, "user_id": id}
        return self.management("POST", f"users/{primary}/identities", body,
                               token or self.back_end_token())

    def shown(self, user):
        return self.management("GET", f"users/{user}", token=self.back_end_token())

    def page_tokens(self, mail, client=None):
        party = Party(self, client or self.page, scope=self.SCOPE, audience=self.api)
        self.visitor = self.new_visitor()
        page = self.signed_in(party, mail)
        if "wants access" in page.heading:
            page = self.visitor.submit("/consent", button="allow")
        return self.expect(party.exchange(party.code(page)), 200).json


SECOND = "second horse battery"

VERSION_6_OF_ADDRESSES = SETUP + """
from auth0.management import Auth0
client = Auth0(base_url="http://%s/api/v2" % domain, token=access)
linked = client.users.identities.link(primary, provider="auth0", user_id=secondary)
assert [one.provider for one in linked] == ["auth0", "auth0"], linked
assert linked[1].connection == "Username-Password-Authentication", linked
assert linked[1].profile_data.email == site["second"], linked
shown = client.users.get(primary)
assert shown.email == site["email"] and shown.user_metadata == {"of": "primary"}, shown
left = client.users.identities.delete(primary, "auth0", secondary.split("|")[1])
assert [one.user_id for one in left] == [primary.split("|")[1]], left
assert client.users.get(secondary).email == site["second"]
print("done")
"""


class LinkedAddresses(LinkCase):
    """Two users with an address and a password each become one."""

    def two_users(self):
        mail, primary = self.wire_user()
        second = "second" + mail
        secondary = f"auth0|{self.verified(second, SECOND)['user_id']}"
        token = self.back_end_token()
        for user, name in [(primary, "primary"), (secondary, "secondary")]:
            self.expect(self.management(
                "PATCH", f"users/{user}", {"user_metadata": {"of": name}}, token), 200)
        return mail, primary, second, secondary

    def user_of(self, mail, password):
        return f"auth0|{self.expect(self.login(mail, password), 200).json['user_id']}"

    def unlink(self, primary, secondary):
        return self.management("DELETE", f"users/{primary}/identities/auth0/{secondary[6:]}",
                               token=self.back_end_token())

    def test_the_sdk(self):
        mail, primary, second, secondary = self.two_users()
        self.run_program("6.8.0", VERSION_6_OF_ADDRESSES, email=mail, primary=primary,
                         secondary=secondary, subject="", second=second)

    def test_each_address_signs_in_with_its_own_password(self):
        mail, primary, second, secondary = self.two_users()
        before = self.login(second, SECOND).json
        self.expect(self.linked(primary, "auth0", secondary), 201)
        self.expect(self.me(before), 401)
        self.expect(self.refresh(before), 401)
        self.refused(self.shown(secondary), 404, "inexistent_user")
        self.assertEqual(self.shown(primary).json["user_metadata"], {"of": "primary"})
        self.assertEqual(self.user_of(mail, PASSWORD), primary)
        self.assertEqual(self.user_of(second, SECOND), primary)
        self.expect(self.login(mail, SECOND), 401, "wrong_credentials")
        self.expect(self.login(second, PASSWORD), 401, "wrong_credentials")
        # The pages and the grant sign in by it too.
        party = Party(self, self.page, scope="openid")
        page = self.signed_in(party, second, SECOND, visitor=self.new_visitor())
        tokens = self.expect(party.exchange(party.code(page)), 200).json
        self.assertEqual(openid.claims(tokens["id_token"])["sub"], primary)
        own = self.login(second, SECOND).json
        self.expect(self.unlink(primary, secondary), 200)
        self.expect(self.me(own), 401, "session_ended")
        self.assertEqual(self.user_of(second, SECOND), secondary)
        self.assertEqual(self.user_of(mail, PASSWORD), primary)
        again = self.shown(secondary).json
        self.assertEqual((again["email"], again["email_verified"]), (second, True))
        self.assertNotIn("user_metadata", again)

    def test_a_linked_address_moves_on_with_its_user(self):
        mail, primary, second, secondary = self.two_users()
        self.expect(self.linked(primary, "auth0", secondary), 201)
        third = self.wire_user("third")[1]
        self.site.sql(f"update users set email_verified = true where user_id = '{primary[6:]}'")
        self.expect(self.linked(third, "auth0", primary), 201)
        for address, password in [(mail, PASSWORD), (second, SECOND)]:
            self.assertEqual(self.user_of(address, password), third)
        self.expect(self.unlink(third, secondary), 200)
        self.assertEqual(self.user_of(second, SECOND), secondary)

    def test_a_second_address_must_be_verified_and_have_a_password(self):
        _, primary = self.wire_user()
        _, unverified = self.wire_user("unverified")
        by_code = self.verified("code" + self.own_email(), PASSWORD)["user_id"]
        self.site.sql(f"delete from passwords where user_id = '{by_code}'")
        for user, words in [(unverified, "not verified"), (f"auth0|{by_code}", "no password")]:
            answer = self.linked(primary, "auth0", user)
            self.refused(answer, 400, "identity_not_linkable")
            self.assertIn(words, answer.json["message"])
            self.expect(self.shown(user), 200)

    def test_a_linked_address_belongs_to_its_user_alone(self):
        mail, primary, second, secondary = self.two_users()
        self.expect(self.linked(primary, "auth0", secondary), 201)
        self.expect(self.register(second, "a third password"), 409, "email_taken")
        stranger = self.verified("stranger" + mail, PASSWORD)
        for count, grant in enumerate([stranger, self.login(mail, PASSWORD).json], 1):
            own = {"token": grant["access_token"]}
            asked = self.expect(self.post("/v1/me/email", {"email": second}, **own), 202).json
            body = {"flow": asked["flow"], "code": self.mailed_code(second, count)}
            self.expect(self.post("/v1/me/email/verify", body, **own), 409, "email_taken")
        body = {"connection": "Username-Password-Authentication", "email": second,
                "password": PASSWORD}
        token = self.back_end_token()
        self.refused(self.management("POST", "users", body, token), 409, "auth0_idp_error")
        row = json.dumps({"email": second, "metadata": {"of": "thief"}}) + "\n"
        run = self.site.dossier("user", "import", "-", "--update-existing", given=row, check=False)
        self.assertNotEqual(run.returncode, 0)
        # No mail to it resets a password.
        for address in [second, mail]:
            self.expect(self.post("/v1/password/reset-request", {"email": address}), 202)
        self.site.mailed(mail, "ds_reset")
        self.assertEqual(self.site.tokens(second, "ds_reset"), [])
        self.assertEqual(self.user_of(second, SECOND), primary)
        self.assertEqual(self.user_of(mail, PASSWORD), primary)

    def test_the_addresses_of_a_deleted_user_are_free(self):
        _, primary, second, secondary = self.two_users()
        self.expect(self.linked(primary, "auth0", secondary), 201)
        self.expect(self.management("DELETE", f"users/{primary}", token=self.back_end_token()), 204)
        self.expect(self.login(second, SECOND), 401, "wrong_credentials")
        self.expect(self.register(second, SECOND), 201)

    def test_a_blocked_user_does_not_sign_in_by_a_linked_address(self):
        _, primary, second, secondary = self.two_users()
        self.expect(self.linked(primary, "auth0", secondary), 201)
        token = self.back_end_token()
        self.expect(self.management("PATCH", f"users/{primary}", {"blocked": True}, token), 200)
        self.expect(self.login(second, SECOND), 401, "wrong_credentials")

    def test_a_user_removes_a_linked_address(self):
        mail, primary, second, secondary = self.two_users()
        self.expect(self.linked(primary, "auth0", secondary), 201)
        thief, own = self.login(second, SECOND).json, self.login(mail, PASSWORD).json
        [linked] = [one for one in self.me(own, "/identities").json
                    if one["provider"] == "linked-password"]
        self.assertEqual(linked["subject"], second)
        self.expect(self.site.request("DELETE", f"/v1/me/identities/{linked['id']}",
                                      token=own["access_token"]), 204)
        self.expect(self.me(thief), 401, "session_ended")
        self.expect(self.login(second, SECOND), 401, "wrong_credentials")
        self.expect(self.register(second, "a third password"), 201)

    def test_links_at_once_leave_each_address_with_one_user(self):
        token = self.back_end_token()
        for round in range(3):
            users = []
            for name in "ab":
                mail = f"{name}{round}{self.own_email()}"
                users.append((mail, f"auth0|{self.verified(mail, PASSWORD)['user_id']}"))
            answers = in_parallel(2, lambda number: self.linked(
                users[number][1], "auth0", users[1 - number][1], token))
            self.assertEqual(sum(answer.status == 201 for answer in answers), 1)
            self.assertEqual(len({self.user_of(mail, PASSWORD) for mail, _ in users}), 1)

    def test_users_of_two_apps_are_not_linked(self):
        _, primary = self.wire_user()
        self.site.create_app("elsewhere")
        other = self.register("elsewhere" + self.own_email(), PASSWORD,
                              headers={"Dossier-App": "elsewhere"})
        foreign = self.expect(other, 201).json["user_id"]
        self.refused(self.linked(primary, "auth0", foreign), 400, "identity_not_linkable")
        self.refused(self.linked(f"auth0|{foreign}", "auth0", primary), 404, "inexistent_user")


class Links(LinkCase):
    def test_the_sdks(self):
        _, primary = self.wire_user()
        for version, program in [("4.13.0", VERSION_4), ("6.8.0", VERSION_6)]:
            secondary, subject = self.partner_user(version)
            self.run_program(
                version, program, primary=primary, secondary=secondary, subject=subject)

    def test_a_linked_identity_signs_in_as_the_primary_user(self):
        _, primary = self.wire_user()
        secondary, subject = self.partner_user()
        token = self.back_end_token()
        before = self.partner_sign_in(subject)
        self.expect(self.management(
            "PATCH", f"users/{secondary}", {"user_metadata": {"a": 1}}, token), 200)
        self.expect(self.linked(primary, "partner", subject), 201)
        self.expect(self.me(before), 401)
        self.expect(self.refresh(before), 401)
        self.refused(self.shown(secondary), 404, "inexistent_user")
        self.assertNotIn("user_metadata", self.shown(primary).json)
        self.assertEqual(f"auth0|{self.partner_sign_in(subject)['user_id']}", primary)
        path = f"users/{primary}/identities/partner/{subject}"
        self.expect(self.management("DELETE", path, token=token), 200)
        self.assertEqual(f"auth0|{self.partner_sign_in(subject)['user_id']}", secondary)
        self.refused(self.management("DELETE", path, token=token), 404, "inexistent_resource")
        actions = self.site.sql("select string_agg(action, ' ' order by event_id) from audit where "
                                f"user_id = '{secondary[6:]}' and action like 'user_%'")
        self.assertEqual(actions, "user_delete user_create")

    def test_an_unlinked_address_counts_as_chosen_by_its_user(self):
        subject = self._testMethodName
        thief, mail = self.partner_sign_in(subject), self.own_email()
        link = {"provider": "password", "email": mail, "password": PASSWORD}
        answer = self.post("/v1/me/identities", link, token=thief["access_token"])
        self.expect(answer, 200)
        token, user = self.back_end_token(), f"auth0|{thief['user_id']}"
        [own] = [one for one in self.shown(user).json["identities"] if one["provider"] == "auth0"]
        path = f"users/{user}/identities/auth0/{own['user_id']}"
        self.expect(self.management("DELETE", path, token=token), 200)
        row = json.dumps({"email": mail, "metadata": {"secret": 1}}) + "\n"
        run = self.site.dossier("user", "import", "-", "--update-existing", given=row, check=False)
        self.assertIn("/email: Another user has this address.", run.stderr)

    def test_a_user_whose_address_can_be_restored_is_not_linked(self):
        primary, _ = self.partner_user()
        mail = self.own_email()
        thief = self.verified(mail, PASSWORD)
        self.change_email(thief, f"thief-{mail}")
        restore = {"token": self.site.mailed(mail, "ds_restore"), "password": "owners password"}
        refused = self.linked(primary, "auth0", thief["user_id"])
        self.refused(refused, 409, "email_restore_pending")
        owner = self.expect(self.post("/v1/email/restore", restore), 200).json
        self.assertEqual(owner["user_id"], thief["user_id"])

    def test_an_unlinked_identity_ends_the_sessions_that_it_opened(self):
        _, primary = self.wire_user()
        _, subject = self.partner_user()
        self.expect(self.linked(primary, "partner", subject), 201)
        thief, own = self.partner_sign_in(subject), self.login(self.own_email(), PASSWORD).json
        path = f"users/{primary}/identities/partner/{subject}"
        self.expect(self.management("DELETE", path, token=self.back_end_token()), 200)
        self.expect(self.me(thief), 401, "session_ended")
        self.expect(self.me(own), 200)

    def test_an_address_moves_with_its_password(self):
        primary, subject = self.partner_user()
        mail, secondary = self.wire_user()
        self.expect(self.linked(primary, "auth0", secondary[6:]), 201)
        self.assertEqual(self.shown(primary).json["email"], mail)
        self.assertEqual(f"auth0|{self.expect(self.login(mail, PASSWORD), 200).json['user_id']}", primary)
        answer = self.management("DELETE", f"users/{primary}/identities/auth0/{secondary[6:]}",
                                 token=self.back_end_token())
        [left] = self.expect(answer, 200).json
        self.assertEqual((f"{left['provider']}|{left['user_id']}", left["connection"],
                          left["profileData"]), (primary, "partner", {"sub": subject}))
        self.assertNotIn("email", self.shown(primary).json)
        self.assertEqual(self.shown(secondary).json["email"], mail)
        self.assertEqual(
            f"auth0|{self.expect(self.login(mail, PASSWORD), 200).json['user_id']}", secondary)
        self.assertEqual(f"auth0|{self.partner_sign_in(subject)['user_id']}", primary)

    def test_a_user_keeps_its_foreign_id(self):
        primary, _ = self.partner_user()
        body = {"connection": "Username-Password-Authentication", "email": self.own_email(),
                "password": PASSWORD, "user_id": "own-2"}
        token = self.back_end_token()
        self.expect(self.management("POST", "users", body, token), 201)
        linked = self.expect(self.linked(primary, "auth0", "auth0|own-2"), 201).json
        self.assertEqual((linked[1]["provider"], linked[1]["user_id"]), ("auth0", "own-2"))
        self.refused(self.shown("auth0|own-2"), 404, "inexistent_user")
        self.expect(self.management(
            "DELETE", f"users/{primary}/identities/auth0/own-2", token=token), 200)
        self.assertEqual(self.shown("auth0|own-2").json["email"], self.own_email())

    def test_blocked_users_and_guests_are_not_linked(self):
        _, primary = self.wire_user()
        secondary, subject = self.partner_user()
        token = self.back_end_token()
        self.expect(self.management("PATCH", f"users/{secondary}", {"blocked": True}, token), 200)
        guest = self.expect(self.post("/v1/login/anonymous", {}), 200).json["user_id"]
        for id in [secondary, f"auth0|{guest}"]:
            self.refused(self.linked(primary, "auth0", id), 400, "identity_not_linkable")
            self.expect(self.shown(id), 200)
        self.refused(self.linked(f"auth0|{guest}", "auth0", primary), 400, "identity_not_linkable")

    def test_one_of_concurrent_links_succeeds(self):
        token = self.back_end_token()
        for round in range(3):
            users = [self.wire_user(f"{round}-{number}-")[1] for number in range(4)]
            secondary, subject = self.partner_user(str(round))
            answers = in_parallel(4, lambda number: self.linked(users[number], "auth0", secondary, token))
            self.assertEqual(sorted(answer.status for answer in answers), [201, 400, 400, 400])
            winner = users[[answer.status for answer in answers].index(201)]
            self.assertEqual(f"auth0|{self.partner_sign_in(subject)['user_id']}", winner)
            # Each user is the secondary user of the other request.
            both = [self.partner_user(f"{round}{name}")[0] for name in "ab"]
            answers = in_parallel(2, lambda number: self.linked(
                both[number], "auth0", both[1 - number], token))
            self.assertEqual(sum(answer.status == 201 for answer in answers), 1)
            found = sorted(self.shown(user).status for user in both)
            self.assertEqual(found, [200, 404])

    def test_invalid_bodies(self):
        _, primary = self.wire_user()
        token = self.back_end_token()
        for body in [{}, {"provider": "auth0"}, {"user_id": "x"}, {"link_with": 1}, {"x": "y"},
                     {"link_with": "x", "provider": "auth0", "user_id": "x"}]:
            answer = self.management("POST", f"users/{primary}/identities", body, token)
            self.refused(answer, 400, "invalid_body")
        for pair in [("auth0", "0" * 24), ("nobody", "x"), ("", ""), ("partner", "x" * 4_000),
                     ("auth0", "\u00e9"), ("partner", "x|y|z")]:
            self.refused(self.linked(primary, *pair), 400, "identity_not_linkable")
