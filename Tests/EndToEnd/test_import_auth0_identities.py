"""The identities of users who move from Auth0, as its SDKs see them."""

from moving import MovedCase
from test_auth0 import Auth0Case
from test_import import HASHES

GOOGLE = "https://accounts.google.com"
DATABASE = {"connection": "Username-Password-Authentication", "provider": "auth0",
            "user_id": "own", "isSocial": False}
SOCIAL = {"connection": "google-oauth2", "provider": "google-oauth2", "user_id": "108",
          "isSocial": True}


class Identities(MovedCase, Auth0Case):
    """Users are imported into the default app, whose host the SDKs use."""

    def setUp(self):
        Auth0Case.setUp(self)
        self.app, self.headers = "default", {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.dossier(
            "issuer", "create", "google-oauth2", "--app", "default", f"issuer={GOOGLE}",
            "audience=app", "jwks_url=https://www.googleapis.com/oauth2/v3/certs")

    def read(self, user):
        return self.expect(
            self.management("GET", f"users/{user}", token=self.back_end_token()), 200).json

    def test_the_order_of_identities_is_kept(self):
        email = self.own_email()
        picture = "https://pictures.example.com/ada.png"
        [result] = self.load([{
            "user_id": "google-oauth2|108", "email": email, "email_verified": True,
            "picture": picture,
            "identities": [SOCIAL, {**DATABASE, "profileData": {
                "email": email, "email_verified": True, "name": "Ada"}}]}],
            [{"_id": "own", "passwordHash": HASHES["2b"]}])
        self.assertNotIn("left_out", result)
        user = self.read("google-oauth2|108")
        self.assertEqual(user["picture"], picture)
        first, second = user["identities"]
        self.assertEqual(first, SOCIAL)
        self.assertEqual(second.pop("profileData")["name"], "Ada")
        self.assertEqual(second, DATABASE)
        self.expect(self.sign_in(email), 200)
        token = self.back_end_token()
        for q in ['identities.user_id:"108"', 'identities.user_id:108',
                  'identities.connection:"google-oauth2"',
                  f'identities.provider:auth0 AND email:"{email}"']:
            found = self.management("GET", "users?q=" + q.replace(" ", "%20"), token=token)
            self.assertIn("google-oauth2|108",
                          [user["user_id"] for user in self.expect(found, 200).json], q)
        path = "users/google-oauth2|108/identities/"
        self.refused(self.management("DELETE", path + "google-oauth2/108", token=token),
                     400, "identity_not_linkable")
        left = self.expect(self.management("DELETE", path + "auth0/own", token=token), 200).json
        self.assertEqual(left, [SOCIAL])
        unlinked = self.read("auth0|own")
        self.assertEqual((unlinked["name"], unlinked["email"]), ("Ada", email))
        self.assertEqual(unlinked["identities"], [DATABASE])
        self.expect(self.sign_in(email), 200)

    def test_a_linked_account_of_an_issuer_gets_its_id_back(self):
        email = self.own_email()
        self.load([{"user_id": "auth0|lin", "email": email, "password_hash": HASHES["2b"],
                    "identities": [{**DATABASE, "user_id": "lin"},
                                   {**SOCIAL, "user_id": "109", "profileData": {"name": "Lin"}}]}],
                  [])
        first, second = self.read("auth0|lin")["identities"]
        self.assertEqual(first["provider"], "auth0")
        self.assertEqual((second["user_id"], second["profileData"]), ("109", {"name": "Lin"}))
        path = "users/auth0|lin/identities/google-oauth2/109"
        self.expect(self.management("DELETE", path, token=self.back_end_token()), 200)
        self.assertEqual(self.read("google-oauth2|109")["name"], "Lin")

    def test_the_oldest_entry_of_an_issuer_names_its_identities(self):
        """An issuer whose tokens have several audiences has an entry for each."""
        self.site.dossier(
            "issuer", "create", "apps", "--app", "default", f"issuer={GOOGLE}", "audience=ios",
            "jwks_url=https://www.googleapis.com/oauth2/v3/certs")
        self.addCleanup(self.site.dossier, "issuer", "delete", "apps", "--app", "default", "--yes")
        social = {**SOCIAL, "user_id": "110"}
        [result] = self.load([{"user_id": "google-oauth2|110", "identities": [social]}], [])
        self.assertNotIn("left_out", result)
        self.assertEqual(self.read("google-oauth2|110")["identities"], [social])
        found = self.management("GET", "users?q=identities.user_id:110", token=self.back_end_token())
        self.assertEqual([user["user_id"] for user in self.expect(found, 200).json],
                         ["google-oauth2|110"])

    def test_a_passwordless_user_has_the_provider_email(self):
        email = self.own_email()
        [result] = self.load([{"user_id": "email|p1", "email": email, "email_verified": True}], [])
        self.assertNotIn("left_out", result)
        self.assertEqual(self.read("email|p1")["identities"], [
            {"connection": "email", "provider": "email", "user_id": "p1", "isSocial": False}])
        self.expect(self.sign_in(email), 401)
