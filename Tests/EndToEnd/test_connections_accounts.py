"""Which user a person of an issuer is: addresses, links, refusals and the end of accounts."""

import unittest

from cases import in_parallel
from connections import (
    CLOSED, EXISTS, IDENTITIES, LINKING, NOT_ALLOWED, REFUSED, SIGN_IN, SIGN_IN_TO_LINK, TAKEN,
    ConnectionCase, browse)
from hosted import PASSWORD
from machine import wait_until
from openid import Party

THEIRS = "attacker's horse"
NOT_LINKED = "Account not linked"
LIMIT = "Your account has too many linked accounts. Unlink one first."
LINKED_ELSEWHERE = (
    "This account is linked to another user of Dossier. Sign in with it, and unlink it there first.")
RESTORE_FIRST = (
    "You removed your last email address less than 7 days ago. Restore it by the link in the "
    "email that we sent there, or add another one later.")


class AccountCase(ConnectionCase):
    """Connections that trust the addresses of an issuer always, when it verified them, and never."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.always = cls.connect("oidc", "always", email_trust="always")
        cls.trusted = cls.connect("oidc", "trusted", email_trust="verified")
        cls.never = cls.connect("oidc", "never", email_trust="never")
        cls.untold = cls.connect("oidc", "untold")

    def owned(self, email=None, password=PASSWORD):
        """Creates a user whose address is verified. Returns the address and the user."""
        email = email or self.own_email()
        return email, self.verified(email, password)["user_id"]

    def link_here(self, issuer):
        """Links the person of an issuer on the account page. Returns the page at the end."""
        answer = self.visitor.open(f"/account/connect/{issuer.name}", follow=False)
        self.assertEqual(answer.status, 302, answer.text)
        return self.come_back(browse(answer.location))

    def unlink_here(self, issuer):
        """Unlinks the only identity that has a form for it; a page of its own may ask first."""
        self.visitor.open("/account/identities")
        form = next(form for form in self.visitor.page.forms if "Unlink" in form.label)
        self.visitor.page.forms = [form]
        self.visitor.submit()
        if self.owner(issuer):
            self.visitor.submit()
        self.assertIsNone(self.owner(issuer))

    def told(self, email, *words):
        """Waits for a mail to an address that has these words."""
        wait_until(lambda: any(all(word in " ".join(mail.split()) for word in words)
                               for mail in self.site.mails(email)), what=f"a mail with {words}")


class Addresses(AccountCase):
    def test_an_address_is_taken_by_the_policy_of_the_connection(self):
        for issuer, verified, taken in [
                (self.always, True, True), (self.always, False, True), (self.trusted, True, True),
                (self.trusted, False, False), (self.never, True, False), (self.untold, True, False)]:
            with self.subTest(issuer.name, verified=verified):
                email = f"{issuer.name}-{verified}-{self.own_email()}".lower()
                issuer.is_new(email, verified=verified)
                told = self.signed_in_at(issuer, self.new_visitor())
                self.assertEqual(told.get("email"), email if taken else None)
                columns = self.stored(self.owner(issuer), "email, email_verified")
                self.assertEqual(columns, f"{email}|t" if taken else "|f")

    def test_a_known_identity_signs_in_whatever_its_address_is_now(self):
        self.trusted.is_new("first-" + self.own_email())
        first = self.signed_in_at(self.trusted)
        taken, _ = self.owned("taken-" + self.own_email())
        for email in ["second-" + self.own_email(), taken, None]:
            self.trusted.person.email = email
            told = self.signed_in_at(self.trusted, self.new_visitor())
            self.assertEqual((told["sub"], told["email"]), (first["sub"], first["email"]))
        # Only the identity shows the address of today.
        self.trusted.person.email = "third-" + self.own_email()
        self.signed_in_at(self.trusted, self.new_visitor())
        profile = self.site.sql("select profile from identities where subject = "
                                f"'{self.trusted.person.subject}'")
        self.assertIn("third-", profile)

    def test_an_address_that_is_not_trusted_tells_nothing(self):
        """With an account of the address and without one, the pages and the result are the same."""
        self.owned(known := "known-" + self.own_email())
        free = "free--" + self.own_email()
        for issuer, verified in [(self.never, True), (self.trusted, False), (self.untold, True)]:
            texts = []
            for email in [known, free]:
                issuer.is_new(email, verified=verified)
                visitor = self.new_visitor()
                page, party = self.go(issuer, visitor)
                told = self.identity(page, party)
                self.assertNotIn("email", told)
                texts.append([(one.status, one.heading) for one in visitor.trace])
            self.assertEqual(texts[0], texts[1])

    def test_an_address_that_is_not_trusted_reserves_nothing(self):
        """A stranger with an unverified address at an issuer does not keep its owner out."""
        email = self.own_email()
        self.trusted.is_new(email, verified=False)
        self.signed_in_at(self.trusted)
        self.expect(self.register(email), 201)

    def test_the_user_of_an_address_signs_in_to_link(self):
        email, user = self.owned()
        self.trusted.is_new(email)
        page, party = self.go(self.trusted)
        self.shows(page, EXISTS)
        self.assertIn(email, page.text)
        self.assertIsNone(self.owner(self.trusted))
        self.visitor.open(page.links[SIGN_IN_TO_LINK])
        self.assertIn(LINKING.format("trusted"), " ".join(self.visitor.page.text.split()))
        # A wrong password links nothing.
        self.enter_password(email, "wrong password")
        self.assertIsNone(self.owner(self.trusted))
        page = self.visitor.submit("/password", password=PASSWORD)
        told = self.identity(page, party)
        self.assertEqual((told["sub"], told["email"]), (user, email))
        self.assertEqual(self.owner(self.trusted), user)
        self.told(email, "can now be used to sign in")
        # From now on the button is enough.
        again = self.signed_in_at(self.trusted, self.new_visitor())
        self.assertEqual(again["sub"], told["sub"])

    def enter_password(self, email, password):
        """Signs in at the page that is shown, which may ask for the address first."""
        forms = [form.action.split("?")[0] for form in self.visitor.page.forms]
        if not any(action.endswith("/password") for action in forms):
            self.visitor.submit(email=email)
        return self.visitor.submit("/password", password=password)

    def test_a_link_that_is_not_finished_is_forgotten(self):
        email, _ = self.owned()
        self.trusted.is_new(email)
        page, party = self.go(self.trusted)
        self.shows(page, EXISTS)
        # Someone else signs in on this browser, at the same client, but not by this page.
        other, _ = self.user("other-" + email)
        self.signed_in(Party(self, self.spa, prompt="login"), other)
        self.assertIsNone(self.owner(self.trusted))

    def test_a_connection_links_by_itself_if_both_sides_verified_the_address(self):
        issuer = self.connect("oidc", "automatic", email_trust="verified", link="auto")
        email, user = self.owned()
        issuer.is_new(email)
        told = self.signed_in_at(issuer)
        self.assertEqual((told["email"], self.owner(issuer)), (email, user))
        self.told(email, "can now be used to sign in")
        # The issuer has not verified the address.
        second, _ = self.owned("second-" + email)
        issuer.is_new(second, verified=False)
        told = self.signed_in_at(issuer, self.new_visitor())
        self.assertNotIn("email", told)
        # The user here has not.
        third = "third-" + email
        attacker = self.expect(self.register(third, THEIRS), 201).json
        issuer.is_new(third)
        page, party = self.go(issuer, visitor := self.new_visitor())
        self.assertIsNone(self.owner(issuer), page.text)
        self.expect(self.me(attacker), 200)
        page = visitor.submit("/code", code=self.mailed_code(third))
        told = self.identity(page, party)
        self.assertEqual((told["sub"], told["email"], told["email_verified"]),
                         (attacker["user_id"], third, True))
        self.assertEqual(self.owner(issuer), attacker["user_id"])
        self.expect(self.me(attacker), 401, "session_ended")
        self.expect(self.login(third, THEIRS), 401, "wrong_credentials")

    def test_a_connection_that_never_links_refuses(self):
        issuer = self.connect("oidc", "separate", email_trust="verified", link="never")
        email, user = self.owned()
        issuer.is_new(email)
        page, _ = self.go(issuer)
        self.is_refused(page, REFUSED.format("separate"), issuer, words=TAKEN)
        self.assertEqual(self.site.sql(
            f"select count(*) from identities where user_id = '{user}'"), "1")
        # Nor does it take over the account of an address that is not verified.
        unverified = "unverified-" + email
        grant = self.expect(self.register(unverified), 201).json
        issuer.is_new(unverified)
        page, _ = self.go(issuer, visitor := self.new_visitor())
        self.is_refused(page, REFUSED.format("separate"), issuer, visitor, TAKEN)
        self.expect(self.me(grant), 200)
        answer = self.post("/v1/login/connection", {
            "connection": "separate", "id_token": issuer.native_token()})
        self.expect(answer, 409, "account_exists")
        self.assertNotIn("flow", answer.json)

    def test_an_address_that_is_always_trusted_follows_the_same_rules(self):
        """The operator runs the issuer, which states no verified addresses."""
        email, user = self.owned()
        self.always.is_new(email, verified=False)
        page, party = self.go(self.always)
        self.shows(page, EXISTS)
        self.visitor.open(page.links[SIGN_IN_TO_LINK])
        told = self.identity(self.enter_password(email, PASSWORD), party)
        self.assertEqual((told["sub"], self.owner(self.always)), (user, user))
        unverified = "unverified-" + email
        attacker = self.expect(self.register(unverified, THEIRS), 201).json
        self.always.is_new(unverified, verified=False)
        page, party = self.go(self.always, visitor := self.new_visitor())
        self.assertIsNone(self.owner(self.always))
        page = visitor.submit("/code", code=self.mailed_code(unverified))
        self.assertEqual(self.identity(page, party)["sub"], attacker["user_id"])
        self.expect(self.me(attacker), 401, "session_ended")

    def full(self):
        """Creates a user with ten accounts at issuers. Returns the address and the user."""
        email, user = self.owned()
        grant = self.expect(self.login(email, PASSWORD), 200).json
        for _ in range(10):
            self.never.is_new()
            self.expect(self.attach(grant, provider="jwt", token=self.never.native_token()), 200)
        return email, user

    def test_a_user_with_ten_accounts_signs_in_without_a_link(self):
        email, user = self.full()
        self.trusted.is_new(email)
        page, party = self.go(self.trusted)
        self.shows(page, EXISTS)
        self.visitor.open(page.links[SIGN_IN_TO_LINK])
        page = self.enter_password(email, PASSWORD)
        self.shows(page, NOT_LINKED, LIMIT)
        self.shows(self.visitor.open(page.path), NOT_LINKED, LIMIT)
        page = self.visitor.submit("/not-linked")
        self.assertEqual(self.identity(page, party)["sub"], user)
        self.assertIsNone(self.owner(self.trusted))
        automatic = self.connect("oidc", "full", email_trust="verified", link="auto")
        automatic.is_new(email)
        page, _ = self.go(automatic, self.new_visitor())
        self.shows(page, SIGN_IN, LIMIT)
        self.assertIsNone(self.owner(automatic))

    def test_an_account_that_was_linked_elsewhere_meanwhile_is_reported(self):
        email, user = self.owned()
        self.trusted.is_new(email)
        page, party = self.go(self.trusted)
        self.visitor.open(page.links[SIGN_IN_TO_LINK])
        other = self.expect(self.register("other-" + email), 201).json
        self.expect(self.attach(other, provider="jwt", token=self.trusted.native_token()), 200)
        page = self.enter_password(email, PASSWORD)
        # The name of the app is an element of its own in the error.
        self.shows(page, NOT_LINKED, *page.errors)
        self.assertIn(LINKED_ELSEWHERE, page.text)
        told = self.identity(self.visitor.submit("/not-linked"), party)
        self.assertEqual(told["sub"], user)
        self.assertNotEqual(self.owner(self.trusted), user)

    def test_another_account_is_signed_in_without_a_link(self):
        email, _ = self.owned()
        other, user = self.owned("other-" + email)
        self.trusted.is_new(email)
        page, party = self.go(self.trusted)
        self.visitor.open(page.links[SIGN_IN_TO_LINK])
        if "Change" in self.visitor.page.links:
            self.visitor.open(self.visitor.page.links["Change"])
        self.visitor.submit(email=other)
        told = self.identity(self.visitor.submit("/password", password=PASSWORD), party)
        self.assertEqual(told["sub"], user)
        self.assertIsNone(self.owner(self.trusted))

    def test_an_account_that_an_attacker_prepared_is_taken_over(self):
        """The attacker registered the address of the victim, and never verified it."""
        email = self.own_email()
        attacker = self.expect(self.register(email, THEIRS), 201).json
        self.trusted.is_new(email)
        page, party = self.go(self.trusted)
        # Without a code, nothing has happened.
        self.assertIsNone(self.owner(self.trusted))
        self.expect(self.me(attacker), 200)
        page = self.visitor.submit("/code", code=self.mailed_code(email))
        told = self.identity(page, party)
        self.assertEqual((told["email"], told["email_verified"]), (email, True))
        self.assertEqual(self.owner(self.trusted), attacker["user_id"])
        self.expect(self.me(attacker), 401, "session_ended")
        self.expect(self.refresh(attacker), 401, "refresh_token_invalid")
        self.expect(self.login(email, THEIRS), 401, "wrong_credentials")

    def test_an_attacker_at_the_issuer_gets_no_account_of_the_owner(self):
        """The address changed hands at the issuer: the same address with another subject."""
        email = self.own_email()
        self.trusted.is_new(email)
        owner = self.signed_in_at(self.trusted)
        self.trusted.is_new(email)
        page, _ = self.go(self.trusted, self.new_visitor())
        self.assertEqual(page.heading.strip(), EXISTS)
        self.assertIsNone(self.owner(self.trusted))
        self.assertTrue(owner["sub"])

    def test_spellings_of_an_address_are_one(self):
        email, _ = self.owned()
        for other in [email.upper(), email.replace("example.com", "EXAMPLE.com")]:
            self.trusted.is_new(other)
            page, _ = self.go(self.trusted, self.new_visitor())
            self.assertEqual(page.heading.strip(), EXISTS, other)

    def test_first_sign_ins_at_once_create_one_user(self):
        self.trusted.is_new(self.own_email())
        before = self.count_users()
        visitors = [self.new_visitor() for _ in range(6)]
        ways = [self.begin(self.trusted, visitor) for visitor in visitors]

        def finish(index):
            url, party = ways[index]
            return self.identity(self.come_back(browse(url), visitors[index]), party)["sub"]

        self.assertEqual(len(set(in_parallel(6, finish))), 1)
        self.assertEqual(self.count_users(), before + 1)

    def test_a_profile_is_taken_once_or_at_each_sign_in(self):
        fresh = self.connect("oidc", "fresh", refresh_profile=True)
        for issuer, name in [(self.trusted, "Ada Lovelace"), (fresh, "Augusta King")]:
            issuer.is_new()
            self.signed_in_at(issuer, self.new_visitor())
            issuer.person.name = "Augusta King"
            self.assertEqual(self.signed_in_at(issuer, self.new_visitor())["name"], name)

    def test_a_name_that_the_user_chose_is_kept(self):
        fresh = self.connect("oidc", "respectful", refresh_profile=True)
        fresh.is_new()
        self.signed_in_at(fresh)
        self.visitor.open("/account/profile")
        self.visitor.submit(name="My own name")
        fresh.person.name = "Augusta King"
        self.assertEqual(self.signed_in_at(fresh, self.new_visitor())["name"], "My own name")


class Refusals(AccountCase):
    def test_a_blocked_user(self):
        self.trusted.is_new(self.own_email())
        self.signed_in_at(self.trusted)
        self.site.dossier("user", "block", self.owner(self.trusted), "--yes")
        page, _ = self.go(self.trusted, visitor := self.new_visitor())
        self.assertGreaterEqual(page.status, 400)
        self.assertFalse(page.location)
        self.assertNotIn("Your account", visitor.open("/account").heading)

    def test_a_connection_that_creates_no_users(self):
        issuer = self.connect("oidc", "closed", sign_up=False)
        issuer.is_new(self.own_email())
        before = self.count_users()
        page, _ = self.go(issuer)
        self.is_refused(page, REFUSED.format("closed"), issuer, words=CLOSED)
        self.assertEqual(self.count_users(), before)

    def test_an_app_that_is_closed(self):
        self.trusted.is_new(known := self.own_email())
        self.signed_in_at(self.trusted)
        self.settings(sign_up="closed")
        # A person with an account signs in.
        self.assertEqual(self.signed_in_at(self.trusted, self.new_visitor())["email"], known)
        self.trusted.is_new("new-" + known)
        before = self.count_users()
        page, _ = self.go(self.trusted, visitor := self.new_visitor())
        self.is_refused(page, REFUSED.format("trusted"), self.trusted, visitor, CLOSED)
        self.assertEqual(self.count_users(), before)

    def test_domains_of_addresses(self):
        issuer = self.connect("oidc", "staff", email_trust="verified", domains=["example.com"])
        issuer.is_new(self.own_email())
        self.assertTrue(self.signed_in_at(issuer)["sub"])
        for email, verified in [("a@evil.com", True), ("a@example.com.evil.com", True),
                                ("a@sub.example.com", True), (None, True),
                                ("example.com@evil.com", True), ("b@example.com", False)]:
            with self.subTest(email, verified=verified):
                issuer.is_new(email, verified=verified)
                page, _ = self.go(issuer, visitor := self.new_visitor())
                self.is_refused(page, REFUSED.format("staff"), issuer, visitor, NOT_ALLOWED)

    def test_a_client_that_accepts_other_methods(self):
        strict = self.new_client("single_page", "callback_urls=https://app.example.com/callback")
        self.site.dossier("client", "set", strict["id"], 'connections=["password"]')
        party = Party(self, strict)
        page = self.visitor.open(party.path)
        self.assertFalse([path for path in page.links.values() if "/connect/" in path])
        identifier = page.path.split("/u/")[1].split("/")[0].split("?")[0]
        answer = self.visitor.open(f"/u/{identifier}/connect/trusted", follow=False)
        self.assertGreaterEqual(answer.status, 400)
        # A session by an issuer does not count for it.
        self.trusted.is_new(self.own_email())
        self.signed_in_at(self.trusted)
        silent = Party(self, strict, prompt="none")
        self.assertEqual(silent.answer(self.visitor.open(silent.path))["error"], "login_required")
        only = self.new_client("single_page", "callback_urls=https://app.example.com/callback")
        self.site.dossier("client", "set", only["id"], 'connections=["trusted"]')
        silent = Party(self, only, prompt="none")
        self.assertTrue(silent.code(self.visitor.open(silent.path)))


class Links(AccountCase):
    """Links and unlinks on the account page."""

    def test_a_user_links_and_unlinks(self):
        email = self.own_email()
        self.sign_up(email)
        # Notices go to verified addresses only.
        self.site.sql(f"update users set email_verified = true where email = '{email}'")
        self.trusted.is_new("another-" + email)
        page = self.visitor.open("/account/identities")
        self.shows(page, IDENTITIES)
        self.assertIn('"/account/connect/trusted"', page.body.decode())
        page = self.link_here(self.trusted)
        self.assertEqual(page.heading.strip(), IDENTITIES, page.text)
        self.assertIn("trusted", page.text)
        self.assertIn("another-" + email, page.text)
        self.told(email, "can now be used to sign in")
        # The address of the user stays.
        user = self.owner(self.trusted)
        self.assertTrue(self.stored(user).startswith(email + "|"))
        self.assertEqual(self.signed_in_at(self.trusted, self.new_visitor())["email"], email)
        self.unlink_here(self.trusted)
        self.told(email, "can no longer be used to sign in")

    def test_an_identity_of_another_user_is_not_taken(self):
        self.trusted.is_new("owner-" + self.own_email())
        owner = self.signed_in_at(self.trusted, self.new_visitor())
        user = self.owner(self.trusted)
        self.sign_up(self.own_email())
        page = self.link_here(self.trusted)
        self.assertTrue(page.errors, page.text)
        self.assertEqual(self.owner(self.trusted), user)
        self.assertTrue(owner["sub"])

    def test_the_only_method_stays(self):
        self.never.is_new()
        self.signed_in_at(self.never)
        page = self.visitor.open("/account/identities")
        self.assertIn("never", page.text)
        self.assertFalse([form for form in page.forms if "Unlink" in form.label])
        self.assertTrue(self.owner(self.never))

    def test_two_identities_at_one_issuer(self):
        self.sign_up(self.own_email())
        users = set()
        for _ in range(2):
            self.never.is_new()
            self.link_here(self.never)
            users.add(self.owner(self.never))
        self.assertEqual(len(users), 1)
        self.assertNotIn(None, users)

    def test_a_user_has_at_most_ten(self):
        self.sign_up(self.own_email())
        for index in range(11):
            self.never.is_new()
            page = self.link_here(self.never)
            self.assertEqual(bool(self.owner(self.never)), index < 10, page.text)
        self.assertTrue(page.errors)

    def test_a_person_who_cancels_stays_on_the_account_page(self):
        self.sign_up(self.own_email())
        self.trusted.lie(callback={"code": None, "error": "access_denied"})
        page = self.link_here(self.trusted)
        self.assertEqual((page.heading.strip(), page.status), (IDENTITIES, 200))

    def test_a_removed_connection_keeps_its_users(self):
        issuer = self.connect("oidc", "leaving", email_trust="verified")
        issuer.is_new(self.own_email())
        self.signed_in_at(issuer)
        user = self.owner(issuer)
        run = self.remove(issuer, check=False)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("1", run.stderr)
        self.remove(issuer, "--force")
        self.assertEqual(self.owner(issuer), user)
        self.create(issuer, email_trust="verified")
        self.assertEqual(self.signed_in_at(issuer, self.new_visitor())["sub"], user)


if __name__ == "__main__":
    unittest.main()
