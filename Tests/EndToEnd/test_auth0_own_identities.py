"""A user links another user to itself by an ID token."""

from hosted import PASSWORD
from openid import claims
from test_auth0_identities import LinkCase


class OwnLinks(LinkCase):
    def user_without_address(self):
        """Returns tokens of a user whose only identity is now that of the other issuer."""
        mail, _ = self.wire_user()
        tokens = self.page_tokens(mail)
        grant = self.expect(self.login(mail, PASSWORD), 200).json
        token = self.partner_token(self._testMethodName)
        grant = self.expect(
            self.post("/v1/me/identities", {"provider": "jwt", "token": token},
                      token=grant["access_token"]), 200).json
        # As if the user had signed in by the issuer: the sessions of the address end with it.
        self.site.sql("update sessions set provider = 'jwt:https://partner.example' "
                      f"where user_id = '{grant['user_id']}'")
        address = next(one for one in self.me(grant, "/identities").json
                       if one["provider"] == "password")
        self.expect(self.site.request(
            "DELETE", f"/v1/me/identities/{address['id']}", token=grant["access_token"]), 204)
        self.site.sql("delete from mail_tokens where purpose = 'restore'")
        return tokens

    def test_a_user_links_by_an_id_token(self):
        tokens = self.user_without_address()
        primary = claims(tokens["id_token"])["sub"]
        other, secondary = self.wire_user("other")
        shown = self.page_tokens(other)
        path, own = f"users/{primary}/identities", tokens["access_token"]
        pair = {"provider": "auth0", "user_id": secondary}
        self.refused(self.management("POST", path, pair, own), 403, "insufficient_scope")
        self.refused(self.management(
            "POST", f"users/{secondary}/identities", {"link_with": shown["id_token"]}, own),
            403, "unowned_resource")
        foreign = self.page_tokens(other, self.other_page)["id_token"]
        stale = self.page_tokens(other)["id_token"]
        self.site.sql("update sessions set authenticated_at = now() - interval '1 hour' where "
                      f"session_id = '{claims(stale)['sid']}'")
        ended = self.page_tokens(other)["id_token"]
        self.site.sql(
            f"update sessions set ended_at = now() where session_id = '{claims(ended)['sid']}'")
        for token in [foreign, stale, ended, shown["access_token"], shown["id_token"] + "x", "x.y.z",
                      tokens["id_token"]]:
            answer = self.management("POST", path, {"link_with": token}, own)
            self.refused(answer, 400, "identity_not_linkable")
        # A back end has no ID tokens.
        body = {"link_with": shown["id_token"]}
        answer = self.management("POST", path, body, self.back_end_token())
        self.refused(answer, 400, "identity_not_linkable")
        answer = self.expect(self.management("POST", path, body, own), 201)
        self.assertEqual(len(answer.json), 2)
        self.assertEqual(f"auth0|{self.expect(self.login(other, PASSWORD), 200).json['user_id']}",
                         primary)
        self.refused(self.management("GET", f"users/{secondary}", token=shown["access_token"]), 401, None)
        unlink = f"{path}/auth0/{secondary[6:]}"
        self.expect(self.management("DELETE", unlink, token=own), 200)

    def test_a_link_requires_a_recent_authentication(self):
        tokens = self.user_without_address()
        primary = claims(tokens["id_token"])["sub"]
        self.site.sql("update sessions set authenticated_at = now() - interval '1 hour' where "
                      f"user_id = '{primary[6:]}'")
        answer = self.management("POST", f"users/{primary}/identities", {"link_with": "x"},
                                 tokens["access_token"])
        self.refused(answer, 401, "reauthentication_required")

    def test_a_user_links_its_second_address(self):
        mail, primary = self.wire_user()
        second = "second" + mail
        secondary = self.verified(second, PASSWORD)["user_id"]
        own, shown = self.page_tokens(mail), self.page_tokens(second)
        path = f"users/{primary}/identities"
        answer = self.management("POST", path, {"link_with": shown["id_token"]}, own["access_token"])
        self.assertEqual([one["user_id"] for one in self.expect(answer, 201).json],
                         [primary[6:], secondary])
        for address in [mail, second]:
            self.assertEqual(self.expect(self.login(address, PASSWORD), 200).json["user_id"],
                             primary[6:])
        self.refused(self.management("GET", f"users/auth0|{secondary}", token=shown["access_token"]),
                     401, None)
