"""Sign-in at issuers by the client API of App Services: the redirect of realm-web, and its payloads."""

import base64
import json
import unittest
import urllib.parse

from asking import JSON
from app_services import COLLECTION, NO_DEVICE, PREFIX, App, ServiceError, claims
from connections import ConnectionCase, browse
from openid import target

REDIRECT = "https://shop.example.com/handled.html"
STATE = "abcdefghijkl"
# Texts of the pages.
LINK_AN_ACCOUNT = "Link an account"
HAND_OVER = "One moment"


def result(url):
    """Returns the members of a redirect, read as realm-web does: it splits each pair at every `=`."""
    before, _, fragment = url.partition("#")
    assert before == REDIRECT, url
    found = {}
    for pair in fragment.split("&"):
        name, value, *more = pair.split("=")
        assert not more, pair
        found[urllib.parse.unquote(name)] = urllib.parse.unquote(value)
    return found


class RealmCase(ConnectionCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(app_services_collection=COLLECTION)
        for preset in ["google", "facebook", "apple"]:
            trust = {} if preset == "facebook" else {"email_trust": "verified"}
            issuer = cls.connect(preset, app_services_redirects=[REDIRECT], **trust)
            setattr(cls, preset, issuer)

    def setUp(self):
        super().setUp()
        self.app = App(self.site, "default")
        self.google.is_new(f"{self._testMethodName}@gmail.com")
        self.facebook.is_new(self.own_email())
        self.apple.is_new("apple-" + self.own_email())

    def path(self, provider="google", **changes):
        device = {"sdkVersion": "2.0.1", "platform": "web", "platformVersion": "1.0"}
        query = {"state": STATE, "redirect": REDIRECT,
                 "device": base64.b64encode(json.dumps(device).encode()).decode(), **changes}
        query = {name: value for name, value in query.items() if value is not None}
        return (f"{PREFIX}/app/default/auth/providers/oauth2-{provider}/login?"
                + urllib.parse.urlencode(query))

    def start(self, issuer, visitor=None, **changes):
        answer = (visitor or self.visitor).open(self.path(issuer.preset, **changes), follow=False)
        self.assertIn(answer.status, [302, 303], answer.text)
        self.assertTrue(answer.location.startswith(issuer.base + "/authorize?"), answer.location)
        self.assertNotIn("Cross-Origin-Opener-Policy", answer.headers)
        return answer.location

    def went(self, issuer, visitor=None, **changes):
        """Goes through an issuer. Returns what realm-web reads at the end."""
        page = self.come_back(browse(self.start(issuer, visitor, **changes)), visitor)
        for one in (visitor or self.visitor).trace:
            self.assertNotIn("Cross-Origin-Opener-Policy", one.headers)
        return result(target(page))

    def taken(self, found):
        """Returns the user of a result, as realm-web takes it."""
        self.assertEqual(found["_baas_state"], STATE)
        self.assertNotIn("_baas_error", found)
        self.assertEqual(found["_baas_client_app_id"], "default")
        access, refresh, user, device = found["_baas_ua"].split("$")
        self.assertEqual(claims(access)["sub"], user)
        claims(refresh)
        self.assertRegex(device, "^[0-9a-f]{24}$")
        return access, refresh, user, device


class Redirects(RealmCase):
    def test_each_provider_signs_in(self):
        for issuer in [self.google, self.facebook, self.apple]:
            with self.subTest(issuer.name):
                access, _, user, device = self.taken(self.went(issuer, self.new_visitor()))
                self.assertEqual(self.owner(issuer), user)
                self.assertNotEqual(device, NO_DEVICE)
                profile = self.site.request("GET", f"{PREFIX}/auth/profile", token=access).json
                [identity] = profile["identities"]
                self.assertEqual(identity["provider_type"], f"oauth2-{issuer.preset}")
                again = self.taken(self.went(issuer, self.new_visitor()))
                self.assertEqual(again[2], user)

    def test_the_device_of_the_page_is_kept(self):
        device = self.taken(self.went(self.google))[3]
        known = base64.b64encode(json.dumps({"deviceId": device, "platform": "web"}).encode()).decode()
        self.assertEqual(self.taken(self.went(self.google, device=known))[3], device)

    def test_a_redirect_that_is_not_listed_gets_nothing(self):
        self.start(self.google)
        for redirect in ["https://evil.example.com/", REDIRECT + "/", REDIRECT + "?a=b", REDIRECT + "#",
                         REDIRECT.upper(), "javascript:alert(1)", "//shop.example.com/handled.html",
                         None, "", REDIRECT.replace("https", "http")]:
            with self.subTest(redirect):
                answer = self.visitor.open(self.path(redirect=redirect), follow=False)
                self.assertGreaterEqual(answer.status, 400, answer.location)
                self.assertFalse(answer.location)

    def test_other_parameters_that_are_wrong(self):
        # Older versions of the SDK send no device.
        self.start(self.google, device=None)
        for changes in [{"state": None}, {"state": "s" * 5000}, {"device": "x" * 5000},
                        {"device": "no base64!"}]:
            answer = self.visitor.open(self.path(**changes), follow=False)
            self.assertLess(answer.status, 500)
        for provider in ["github", "unknown", "", "google%00"]:
            answer = self.visitor.open(self.path().replace("oauth2-google", f"oauth2-{provider}"),
                                       follow=False)
            self.assertIn(answer.status, [400, 404])

    def test_an_error_is_told_with_the_state(self):
        """Without it, the page that opened the window waits for ever."""
        for lie in [{"callback": {"code": None, "error": "access_denied"}},
                    {"claims": {"nonce": "x"}}, {"claims": {"aud": "another"}}]:
            with self.subTest(lie):
                self.google.lie(**lie)
                found = self.went(self.google, self.new_visitor())
                self.assertEqual(found["_baas_state"], STATE)
                self.assertTrue(found["_baas_error"])
                self.assertNotIn("_baas_ua", found)
        self.assertIsNone(self.owner(self.google))

    def test_the_address_of_another_account(self):
        email = self.google.person.email
        self.verified(email)
        found = self.went(self.google)
        self.assertTrue(found["_baas_error"])
        self.assertNotIn("_baas_ua", found)
        self.assertIsNone(self.owner(self.google))

    def test_a_way_back_belongs_to_its_browser_and_works_once(self):
        back = browse(self.start(self.google))
        page = self.come_back(back, self.new_visitor())
        self.assertNotIn("_baas_ua", page.location or "")
        self.assertIsNone(self.owner(self.google))
        self.taken(result(target(self.come_back(back))))
        asked = len(self.google.asked("token"))
        page = self.come_back(back)
        self.assertEqual(len(self.google.asked("token")), asked)
        self.assertNotIn("_baas_ua", page.location or "")

    def test_a_page_of_a_client_and_a_redirect_do_not_mix(self):
        """The state of one flow ends no other."""
        url, party = self.begin(self.google)
        other = browse(self.start(self.google))
        self.assertTrue(party.code(self.come_back(browse(url))))
        self.taken(result(target(self.come_back(other))))

    def ticket(self, user, issuer=None):
        """Asks for a link as realm-web does. Returns the path of the page that it opens."""
        answer = self.site.request(
            "GET", self.path((issuer or self.google).preset, link="true", providerRedirectHeader="true"),
            headers={"Origin": "https://shop.example.com"}, token=user.access)
        self.assertEqual(answer.status, 200, answer.body)
        location = answer.headers["X-Baas-Location"]
        self.assertTrue(location.startswith(f"http://127.0.0.1:{self.site.port}/"), location)
        self.assertNotIn(user.access, location)
        return location.removeprefix(f"http://127.0.0.1:{self.site.port}")

    def confirm(self, page, visitor=None, **options):
        """Presses the button of the page. Returns the URL at the issuer."""
        self.shows(page, LINK_AN_ACCOUNT)
        answer = (visitor or self.visitor).submit("/link", **options)
        self.shows(answer, HAND_OVER)
        return answer.links["Continue"]

    def test_a_guest_links(self):
        guest = self.app.log_in("anon-user")
        path = self.ticket(guest)
        page = self.visitor.open(path, follow=False)
        self.assertNotIn("Cross-Origin-Opener-Policy", page.headers)
        found = result(target(self.come_back(browse(self.confirm(page)))))
        self.assertEqual(self.taken(found)[2], guest.id)
        self.assertEqual(self.owner(self.google), guest.id)
        # The ticket is used up.
        visitor = self.new_visitor()
        visitor.open(path, follow=False)
        answer = visitor.submit("/link")
        self.assertEqual((answer.status, answer.location), (400, None))
        self.assertNotIn(self.google.base, answer.body.decode())
        self.assertEqual(self.taken(self.went(self.google, self.new_visitor()))[2], guest.id)

    def test_a_link_needs_a_click_of_the_person_at_the_browser(self):
        """An attacker sends the URL of an own link, so that the account of the victim is linked to it."""
        email = self.own_email()
        self.expect(self.register(email), 201)
        attacker = self.app.log_in("local-userpass", username=email, password="correct horse")
        path = self.ticket(attacker)
        before = len(self.google.requests)
        page = self.visitor.open(path, follow=False)
        self.shows(page, LINK_AN_ACCOUNT)
        # The page names both accounts, and nothing has begun.
        self.assertIn(email, page.text)
        self.assertIn("Google", page.text)
        self.assertIsNone(page.location)
        self.assertNotIn(self.google.base, page.body.decode())
        # Neither another site nor another browser presses the button.
        form = self.visitor.form("/link")
        for visitor, origin in [(self.visitor, "https://evil.example.com"),
                                (self.new_visitor(), True), (self.opened(path), True)]:
            visitor.page = visitor.page or page
            form.fields = dict(page.forms[0].fields)
            body = self.visitor.body(form)
            answer = visitor.send(
                "POST", form.action, body, follow=False,
                Origin=visitor.origin if origin is True else origin,
                **{"Content-Type": "application/x-www-form-urlencoded"})
            self.assertEqual((answer.status, answer.location), (400, None), answer.text)
            self.assertNotIn(self.google.base, answer.body.decode())
        self.assertEqual(len(self.google.requests), before)
        self.visitor.page = page
        self.confirm(page)

    def opened(self, path):
        """Returns another browser that has opened a page."""
        visitor = self.new_visitor()
        visitor.open(path, follow=False)
        return visitor

    def test_a_link_of_a_session_that_has_ended(self):
        guest = self.app.log_in("anon-user")
        path = self.ticket(guest)
        self.site.dossier("user", "logout", guest.id, "--yes")
        page = self.visitor.open(path, follow=False)
        self.assertEqual((page.status, page.location, page.forms), (400, None, []))

    def test_a_link_of_the_identity_of_another_user(self):
        owner = self.taken(self.went(self.google))[2]
        guest = self.app.log_in("anon-user")
        self.visitor = self.new_visitor()
        page = self.visitor.open(self.ticket(guest), follow=False)
        found = result(target(self.come_back(browse(self.confirm(page)))))
        self.assertEqual(found, {
            "_baas_state": STATE,
            "_baas_error": "invalid user link request: the identity belongs to another user"})
        self.assertEqual(self.owner(self.google), owner)

    def test_a_result_that_is_longer_than_a_header_field(self):
        """The access token has the custom data of the user."""
        access = self.taken(self.went(self.google))[0]
        text = "x" * 10_000
        answer = self.site.request("PUT", "/v1/me/custom-data", {"text": text}, JSON, access)
        self.expect(answer, 200)
        access = self.taken(self.went(self.google, self.new_visitor()))[0]
        self.assertEqual(claims(access)["user_data"]["text"], text)

    def test_two_windows_of_one_browser(self):
        first, second = (browse(self.start(self.google)) for _ in range(2))
        for back in [first, second]:
            self.taken(result(target(self.come_back(back))))

    def test_an_app_without_a_host_of_its_own(self):
        """The redirect URI would lead to another app."""
        self.site.add_app("hostless", app_services_collection=COLLECTION)
        self.create(self.google, app="hostless", app_services_redirects=[REDIRECT])
        path = self.path().replace("/app/default/", "/app/hostless/")
        answer = self.visitor.open(path, follow=False)
        self.assertEqual((answer.status, answer.location), (400, None))
        self.assertIn("add a host to the app", answer.body.decode())
        self.site.dossier("app", "host", "add", "--app", "hostless", "hostless.example.com")
        visitor = self.new_visitor(host="hostless.example.com")
        answer = visitor.open(path, follow=False)
        self.assertEqual(answer.status, 302, answer.body)

    def test_a_link_needs_a_user(self):
        for token in [None, "x.y.z"]:
            answer = self.site.request(
                "GET", self.path(link="true", providerRedirectHeader="true"), token=token)
            self.assertGreaterEqual(answer.status, 400)
            self.assertNotIn("X-Baas-Location", answer.headers)

    def test_pages_of_other_origins_do_not_read_the_header(self):
        guest = self.app.log_in("anon-user")
        self.site.set_app(allowed_origins=["https://shop.example.com"])
        path = self.path(link="true", providerRedirectHeader="true")
        for origin, allowed in [
                ("https://shop.example.com", True), ("https://evil.example.com", False)]:
            answer = self.site.request("GET", path, headers={"Origin": origin}, token=guest.access)
            self.assertEqual(answer.headers.get("Access-Control-Allow-Origin") == origin, allowed)
            if allowed:
                self.assertIn("x-baas-location",
                              answer.headers["Access-Control-Expose-Headers"].lower())


class Payloads(RealmCase):
    def refused(self, provider, **payload):
        with self.assertRaises(ServiceError) as caught:
            self.app.log_in(f"oauth2-{provider}", **payload)
        self.assertIn(caught.exception.status, [400, 401], caught.exception)

    def test_id_tokens(self):
        for issuer in [self.google, self.apple]:
            with self.subTest(issuer.name):
                user = self.app.log_in(f"oauth2-{issuer.preset}", id_token=issuer.native_token())
                self.assertEqual(self.owner(issuer), user.id)
                self.assertEqual(user.identities, [f"oauth2-{issuer.preset}"])
                issuer.is_new()
                self.refused(issuer.preset, id_token=issuer.native_token(aud="another"))
                self.refused(issuer.preset, id_token="x.y.z")
        self.refused("google", id_token=self.apple.native_token())

    def test_codes(self):
        self.google.is_new("codes@gmail.com")
        code = self.google.native_code(redirect_uri="postmessage")
        user = self.app.log_in("oauth2-google", authCode=code)
        self.assertEqual(self.owner(self.google), user.id)
        self.refused("google", authCode=code)
        self.refused("google", authCode="forged")
        # Mobile apps get their codes without a redirect URI.
        for platform, parameters in [("iOS", {}), ("Android", {}),
                                     ("web", {"redirect_uri": "postmessage"})]:
            answer = self.site.request(
                "POST", f"{PREFIX}/app/default/auth/providers/oauth2-google/login",
                {"authCode": self.google.native_code(**parameters),
                 "options": {"device": {"platform": platform}}}, JSON)
            self.assertEqual(answer.json["user_id"], user.id, platform)
        for payload in [{}, {"authCode": 7}, {"authCode": ""}, {"authCode": "c" * 5000}]:
            self.refused("google", **payload)

    def test_access_tokens_of_facebook(self):
        user = self.app.log_in("oauth2-facebook", accessToken=self.facebook.native_access_token())
        self.assertEqual(self.owner(self.facebook), user.id)
        self.facebook.is_new()
        # Any other app of Facebook has access tokens of its users.
        self.refused("facebook", accessToken=self.facebook.native_access_token("another-app"))
        self.refused("facebook", accessToken="forged")
        self.assertIsNone(self.owner(self.facebook))

    def test_a_guest_links(self):
        guest = self.app.log_in("anon-user")
        guest.link("oauth2-google", id_token=self.google.native_token())
        self.assertEqual(self.owner(self.google), guest.id)
        other = App(self.site, "default").log_in("anon-user")
        with self.assertRaises(ServiceError):
            other.link("oauth2-google", id_token=self.google.native_token())
        self.assertEqual(self.owner(self.google), guest.id)

    def test_an_unknown_connection(self):
        self.site.add_app("without", app_services_collection=COLLECTION)
        with self.assertRaises(ServiceError) as caught:
            App(self.site, "without").log_in("oauth2-google", id_token=self.google.native_token())
        self.assertEqual(caught.exception.code, "AuthProviderNotFound")
        self.app.log_in("oauth2-google", id_token=self.google.native_token())


if __name__ == "__main__":
    unittest.main()
