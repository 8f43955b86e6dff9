"""Metadata fields of tokens, and sensitive changes in old sessions of App Services."""

import unittest

from app_services import PASSWORD, PREFIX
from asking import JSON
from issuers import claims as issued
from issuers import secret_token
from test_app_services_tokens import SECRET, TokenCase


class Metadata(TokenCase):
    """Claims of tokens as metadata of the identity."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.dossier(
            "issuer", "create", "rich", "--app", cls.name, "issuer=https://rich.example.com",
            "audience=app", f'secret=@{cls.site.folder / "secret"}',
            *[f"claims.{claim}" for claim in [
                             "color=prefs.color", "role=https://example.com/role", "age=age",
                             "picture=picture", "plan=prefs", "name=user.full",
                             r"site=https://example\.com/site.home\.page"]])

    def log_in(self, subject, **others):
        token = self.token(subject, "https://rich.example.com", **others)
        return self.app.log_in("custom-token", token=token)

    def test_each_sign_in_reads_the_claims(self):
        user = self.log_in("ada", prefs={"color": "green"}, age=36, user={"full": "Ada"},
                           given_name="A", picture="https://example.com/a.png", unknown="x",
                           **{"https://example.com/role": "admin",
                              "https://example.com/site": {"home.page": "blue"}})
        data = {"color": "green", "site": "blue", "role": "admin", "age": "36", "name": "Ada", "first_name": "A",
                "picture": "https://example.com/a.png", "picture_url": "https://example.com/a.png"}
        self.assertEqual(user.profile["data"], data)
        again = self.log_in("ada", prefs={"color": "x" * 2_000}, user={"full": "Ada L"}, age=True)
        self.assertEqual((again.id, again.profile["data"]), (user.id, {
            "name": "Ada L", "age": "true", "first_name": "A"}))
        # The profile of the user remains, which the first login filled.
        self.assertEqual(self.log_in("ada").profile["data"], {"name": "Ada", "first_name": "A"})

    def test_a_link_reads_the_claims(self):
        user = self.anonymous()
        self.assertEqual(user.profile["data"], {})
        for color in ["red", "blue"]:
            user.link("custom-token", token=self.token(
                "linked-rich", "https://rich.example.com", prefs={"color": color}, email="l@example.test"))
            self.assertEqual(user.profile["data"], {"color": color, "email": "l@example.test"})

    def test_hostile_claims(self):
        claims = {f"c{number}": "x" * 1_000 for number in range(5)}
        user = self.log_in("big", name="ignored", nickname="n" * 1_000, email="e" * 1_000,
                           prefs={"color": "c" * 1_000}, age=[1], picture=None, **claims)
        size = self.site.sql("select length((profile -> 'claims')::text) from identities "
                             f"where user_id = '{user.id}'")
        self.assertLessEqual(int(size), 2_010)
        # Names of the identity's own profile cannot be claimed.
        run = self.site.dossier(
            "issuer", "create", "bad", "--app", self.name, "claims.a.b=c", "issuer=https://b",
            "audience=app", f'secret=@{self.site.folder / "secret"}', check=False)
        self.assertEqual(run.returncode, 12, run.stderr)


class OldSessions(TokenCase):
    """The SDKs cannot reauthenticate, so a session proves its user as long as it lives."""

    def changes_credentials(self, user, name):
        key = self.app.send("POST", f"{PREFIX}/auth/api_keys", {"name": name}, bearer=user.refresh)
        for action in ["disable", "enable"]:
            self.app.send("PUT", f"{PREFIX}/auth/api_keys/{key['_id']}/{action}",
                          bearer=user.refresh)
        user.link("custom-token", token=self.token(f"linked-{name}"))

    def backdate(self, user):
        self.site.sql("update sessions set authenticated_at = now() - interval '1 day' "
                      f"where user_id = '{user.id}'")

    def test_an_old_sign_in(self):
        self.app.email("register", email="old@example.test", password=PASSWORD)
        user = self.app.log_in("local-userpass", username="old@example.test", password=PASSWORD)
        self.backdate(user)
        self.changes_credentials(user, "old")
        user.delete()
        self.refused(401, "unauthorized", "InvalidPassword", self.app.log_in, "local-userpass",
                     username="old@example.test", password=PASSWORD)

    def test_the_session_of_a_link(self):
        user = self.anonymous()
        user.link("custom-token", token=self.token("first"))
        self.backdate(user)
        self.changes_credentials(user, "second")
        user.delete()

    def test_a_token_without_times(self):
        payload = issued("timeless")
        del payload["iat"]
        user = self.app.log_in("custom-token", token=secret_token(payload, SECRET))
        self.backdate(user)
        self.changes_credentials(user, "timeless")
        user.delete()

    def test_a_session_of_another_api_is_not_exempt(self):
        grant = self.expect(self.site.request(
            "POST", "/v1/register", {"email": "other@example.test", "password": PASSWORD},
            {**JSON, "Dossier-App": self.name}), 201).json
        self.refused(403, "", "AuthError", self.app.send, "DELETE", f"{PREFIX}/auth/delete",
                     bearer=grant["access_token"])


if __name__ == "__main__":
    unittest.main()
