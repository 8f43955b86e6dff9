"""Applications and APIs at the Management API, as the dashboard's steps have them."""

import unittest
import urllib.parse

from openid import CALLBACK, Party, claims
from test_auth0 import Auth0Case

BUNDLE = "com.Example.my-App"
CALLBACKS = [f"{BUNDLE}://id.example.com/ios/{BUNDLE}/callback", "https://app.example.com/cb"]

START = """
import json, sys
site = json.loads(sys.argv[1])
domain = "127.0.0.1:%d" % site["port"]
token, callbacks = site["token"], site["callbacks"]
"""

VERSION_4 = START + """
from auth0.authentication import GetToken
from auth0.exceptions import Auth0Error
from auth0.management import ClientGrants, Clients, ResourceServers

def refused(call, *arguments):
    try:
        raise AssertionError(call(*arguments))
    except Auth0Error as error:
        return error.status_code, error.error_code

clients = Clients(domain, token, protocol="http")
made = clients.create({"name": "iOS", "app_type": "native", "callbacks": callbacks,
                       "allowed_logout_urls": callbacks[:1], "web_origins": [],
                       "grant_types": ["authorization_code", "refresh_token"]})
assert "client_secret" not in made and made["token_endpoint_auth_method"] == "none", made
assert made["callbacks"] == callbacks and made["is_first_party"] is True, made
id = made["client_id"]
assert clients.get(id) == made
assert clients.get(id, fields=["name", "app_type"]) == {"name": "iOS", "app_type": "native"}
changed = clients.update(id, {"name": "iOS 2", "callbacks": callbacks[1:], "grant_types": [
    "authorization_code", "refresh_token", "http://auth0.com/oauth/grant-type/password-realm"]})
assert (changed["name"], changed["callbacks"]) == ("iOS 2", callbacks[1:]), changed
assert changed["allowed_logout_urls"] == callbacks[:1], changed
assert "http://auth0.com/oauth/grant-type/password-realm" in changed["grant_types"], changed
changed = clients.update(id, {"grant_types": ["authorization_code", "refresh_token"]})
assert changed["grant_types"] == ["authorization_code", "refresh_token"], changed
clients.update(id, {"jwt_configuration": changed["jwt_configuration"]})
assert refused(clients.update, id, {"jwt_configuration": {"alg": "HS256"}}) == (400, "invalid_body")
for body in [{"name": "x", "callbacks": ["javascript:alert(1)"]}, {"callbacks": []}, {"name": 1},
             {"name": "x", "app_type": "spa2"}, {"name": "x", "oidc_logout": 1},
             {"name": "x", "app_type": "native", "token_endpoint_auth_method": "client_secret_post"},
             {"name": "x", "organization_usage": "require"}, {"name": "x", "web_origins": ["*"]},
             {"name": "x", "require_pushed_authorization_requests": True},
             {"name": "x", "client_authentication_methods": {"private_key_jwt": {}}}]:
    assert refused(clients.create, body) == (400, "invalid_body"), body
assert refused(clients.update, id, {"app_type": "spa"}) == (400, "invalid_body")
# Each type has its grants.
changed = clients.update(id, {"grant_types": ["authorization_code"]})
assert changed["ignored_members"] == ["grant_types (refresh_token stays)"], changed
assert changed["grant_types"] == ["authorization_code", "refresh_token"], changed
assert id in [client["client_id"] for client in clients.all()]
assert id in [client["client_id"] for client in clients.all(extra_params={"app_type": "native,spa"})]
assert id not in [client["client_id"] for client in clients.all(extra_params={"app_type": "spa"})]
page = clients.all(page=0, per_page=1, extra_params={"include_totals": "true"})
assert page["total"] > 1 and len(page["clients"]) == 1 and page["limit"] == 1, page
assert refused(clients.rotate_secret, id)[0] == 409
clients.delete(id)
assert refused(clients.get, id) == (404, "inexistent_client")
assert refused(clients.get, "x") == (404, "inexistent_client")

servers = ResourceServers(domain, token, protocol="http")
made = servers.create({"identifier": "https://four.example.com/", "name": "Four",
                       "scopes": [{"value": "read:a", "description": "Read"}, {"value": "write:a"}],
                       "token_lifetime": 600, "allow_offline_access": True, "signing_alg": "RS256"})
assert made["scopes"] == [{"value": "read:a", "description": "Read"},
                          {"value": "write:a", "description": ""}], made
assert servers.get(made["id"]) == made and made["token_lifetime"] == 600, made
lifetimes = {name: made[name] for name in ["token_lifetime", "token_lifetime_for_web"]}
changed = servers.update(made["id"], {**lifetimes, "name": "4", "scopes": [{"value": "read:b"}]})
assert [scope["value"] for scope in changed["scopes"]] == ["read:b"] and changed["name"] == "4"
assert made["id"] in [server["id"] for server in servers.get_all()]
page = servers.get_all(page=0, per_page=100, include_totals=True)
assert page["total"] == len(page["resource_servers"]), page
system = next(server for server in servers.get_all() if server["is_system"])
assert system["identifier"] == site["api"], system
for call in [lambda: servers.delete(system["id"]),
             lambda: servers.update(system["id"], {"token_lifetime": 60})]:
    assert refused(call) == (403, "operation_not_supported")
for body in [{"name": "x"}, {"identifier": "a b"}, {"identifier": "https://x/", "scopes": [{}]},
             {"identifier": "https://x/", "token_lifetime": 1},
             {"identifier": "https://x/", "signing_alg": "HS256"},
             {"identifier": "https://x/", "scopes": [1]}]:
    assert refused(servers.create, body) == (400, "invalid_body"), body
assert refused(servers.create, {"identifier": "https://four.example.com/"})[0] == 409
assert refused(servers.create, {"identifier": site["api"]})[0] == 409
machine = clients.create({"name": "M", "app_type": "non_interactive"})
grants = ClientGrants(domain, token, protocol="http")
body = {"client_id": machine["client_id"], "audience": "https://four.example.com/",
        "scope": ["read:b"]}
granted = grants.create(body)
assert {name: granted[name] for name in body} == body and granted["id"].startswith("cgr_"), granted
assert refused(grants.create, body)[0] == 409
for filters in [{}, {"client_id": machine["client_id"]}, {"audience": body["audience"]}]:
    assert granted in grants.all(**filters), filters
assert grants.all(client_id="x") == [] == grants.all(audience="https://none.example.com/")
own = GetToken(domain, machine["client_id"], client_secret=machine["client_secret"],
               protocol="http")
assert own.client_credentials(body["audience"])["scope"] == "read:b"
assert grants.update(granted["id"], {"scope": []})["scope"] == []
for wrong in [{"scope": ["read:c"]}, {"scope": "read:b"}, {"audience": "x", "scope": []}]:
    assert refused(grants.update, granted["id"], wrong) == (400, "invalid_body"), wrong
grants.delete(granted["id"])
for id in [granted["id"], "cgr_x", "x"]:
    assert refused(grants.delete, id) == (404, "inexistent_client_grant"), id
for wrong, code in [({"client_id": "x"}, "inexistent_client"),
                    ({"audience": "https://none.example.com/"}, "inexistent_resource_server")]:
    assert refused(grants.create, {**body, **wrong}) == (404, code), wrong
clients.delete(machine["client_id"])
servers.delete(made["id"])
assert refused(servers.get, made["id"]) == (404, "inexistent_resource_server")
print("done")
"""

VERSION_6 = START + """
from auth0.management import Auth0
from auth0.management.core.api_error import ApiError
from auth0.management.types import ResourceServerScope

def status(call):
    try:
        raise AssertionError(call())
    except ApiError as error:
        return error.status_code, error.body["errorCode"]

management = Auth0(base_url="http://%s/api/v2" % domain, token=token)
web = management.clients.create(name="Web", app_type="regular_web", callbacks=callbacks[1:])
assert len(web.client_secret) == 64 and web.grant_types[0] == "authorization_code", web
assert management.clients.get(web.client_id).client_secret is None
new = management.clients.rotate_secret(web.client_id).client_secret
assert new != web.client_secret and len(new) == 64
changed = management.clients.update(web.client_id, logo_uri="https://app.example.com/logo.png",
                                    is_first_party=False)
assert changed.logo_uri.endswith("logo.png") and changed.is_first_party is False, changed
found = [client.client_id for client in management.clients.list(is_first_party=False)]
assert found == [web.client_id], found
machine = management.clients.create(name="M", app_type="non_interactive")
api = management.resource_servers.create(
    identifier="https://six.example.com/", name="Six",
    scopes=[ResourceServerScope(value="read:a", description="Read")],
    skip_consent_for_verifiable_first_party_clients=False)
assert api.token_lifetime == 86400 and api.is_system is False, api
assert management.resource_servers.get("https://six.example.com/").id == api.id
assert api.id in [server.id for server in management.resource_servers.list()]
changed = management.resource_servers.update(api.id, token_lifetime=3600)
switched = management.resource_servers.update(
    api.id, enforce_policies=True, token_dialect="access_token_authz")
assert (switched.enforce_policies, switched.token_dialect) == (True, "access_token_authz"), switched
assert changed.token_lifetime == 3600 and changed.scopes[0].value == "read:a", changed
granted = management.client_grants.create(
    client_id=machine.client_id, audience=api.identifier, scope=["read:a"])
assert management.client_grants.get(granted.id).scope == ["read:a"], granted
assert [grant.id for grant in management.client_grants.list(client_id=machine.client_id)] == [
    granted.id]
assert management.client_grants.update(granted.id, scope=[]).scope == []
management.client_grants.delete(granted.id)
assert status(lambda: management.client_grants.get(granted.id)) == (404, "inexistent_client_grant")
management.clients.delete(machine.client_id)
management.clients.delete(web.client_id)
management.resource_servers.delete(api.id)
assert status(lambda: management.clients.get(web.client_id)) == (404, "inexistent_client")
print("done")
"""


class Registry(Auth0Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        servers = cls.site.dossier("resource-server", "list")
        own = next(server for server in servers if server["identifier"] == "api/v2/")
        scopes = [f"{verb}:{kind}" for kind in ["clients", "resource_servers", "client_grants"]
                  for verb in ["read", "create", "update", "delete"]]
        scopes += ["read:client_keys", "update:client_keys", "read:connections"]
        cls.site.dossier("client", "grant", cls.back_end["id"], own["id"],
                         *[word for scope in scopes for word in ["--scope", scope]])

    def run_registry(self, version, program):
        self.run_program(version, program, token=self.back_end_token(), callbacks=CALLBACKS)

    def test_version_4(self):
        self.run_registry("4.13.0", VERSION_4)

    def test_version_6(self):
        self.run_registry("6.8.0", VERSION_6)

    def test_members_that_the_server_lacks_are_reported(self):
        token = self.back_end_token()
        logout = {"backchannel_logout_urls": ["https://app.example.com/logout"]}
        body = {"name": "Configured", "app_type": "regular_web", "description": "Made by a tool",
                "oidc_logout": {**logout, "backchannel_logout_initiators": {"mode": "all"}},
                "jwt_configuration": {"alg": "RS256", "lifetime_in_seconds": 36000},
                "client_metadata": {"a": "b"}, "sso": False, "x\r\ny": 1}
        made = self.expect(self.management("POST", "clients", body, token), 201).json
        self.assertEqual(sorted(made["ignored_members"]), [
            "client_metadata", "jwt_configuration.lifetime_in_seconds",
            "oidc_logout.backchannel_logout_initiators", "sso", "x\r\ny"])
        path = f"clients/{made['client_id']}"
        read = self.expect(self.management("GET", path, token=token), 200).json
        self.assertEqual((read["description"], read["oidc_logout"]), ("Made by a tool", logout))
        self.assertNotIn("ignored_members", read)
        # A tool sends what it has read.
        again = self.expect(self.management("PATCH", path, read, token), 200).json
        self.assertEqual(again, read)
        removed = {"oidc_logout": None, "description": None}
        again = self.expect(self.management("PATCH", path, removed, token), 200).json
        self.assertLessEqual({"oidc_logout", "description"}, set(read) - set(again))
        for wrong in [{"oidc_logout": {"backchannel_logout_urls": ["https://a/", "https://b/"]}},
                      {"oidc_logout": {"backchannel_logout_urls": ["javascript:x"]}},
                      {"description": "x" * 141}, {"jwt_configuration": {"alg": "HS256"}}]:
            self.refused(self.management("PATCH", path, wrong, token), 400, "invalid_body")
        api = {"identifier": "https://configured.example.com/", "name": "C", "consent_policy": None}
        made = self.expect(self.management("POST", "resource-servers", api, token), 201).json
        self.assertEqual(made["ignored_members"], ["consent_policy"])
        # Grants that the server lacks allow nothing; Auth0 gives them to each application.
        made = self.expect(self.management("POST", "clients", {
            "name": "Page", "app_type": "spa", "token_endpoint_auth_method": None,
            "grant_types": ["authorization_code", "implicit", "refresh_token"]}, token), 201).json
        self.assertEqual((made["ignored_members"], made["grant_types"]),
                         (["grant_types.implicit"], ["authorization_code", "refresh_token"]))
        web = {"token_lifetime": 600, "token_lifetime_for_web": 60}
        api = {"identifier": "https://web.example.com/", "scopes": [{"value": "a"}], **web}
        made = self.expect(self.management("POST", "resource-servers", api, token), 201).json
        self.assertEqual((made["ignored_members"], made["token_lifetime_for_web"]),
                         (["token_lifetime_for_web"], 600))
        machine = self.expect(self.management("POST", "clients", {
            "name": "M", "app_type": "non_interactive"}, token), 201).json["client_id"]
        body = {"client_id": machine, "audience": api["identifier"], "scope": ["a"]}
        for wrong in [{"subject_type": "user"}, {"organization_usage": "require"}]:
            self.refused(self.management("POST", "client-grants", {**body, **wrong}, token),
                         400, "invalid_body")
        more = {"subject_type": "client", "allow_any_organization": False}
        made = self.expect(self.management("POST", "client-grants", {**body, **more}, token), 201).json
        self.assertEqual(made["ignored_members"], ["allow_any_organization"])
        path = f"client-grants/{made['id']}"
        again = self.expect(self.management("PATCH", path, {**made, "scope": []}, token), 200).json
        self.assertEqual((again["scope"], "ignored_members" in again), ([], False))

    def test_a_native_app_is_a_member_of_objects(self):
        token = self.back_end_token()
        print_ = ":".join(["0A"] * 32)
        mobile = {"ios": {"team_id": "A1B2C3D4E5", "app_bundle_identifier": "com.example.app"},
                  "android": {"app_package_name": "com.example.app",
                              "sha256_cert_fingerprints": [print_]}}
        body = {"name": "Phone", "app_type": "native", "mobile": mobile}
        made = self.expect(self.management("POST", "clients", body, token), 201).json
        self.assertEqual((made["mobile"], made.get("ignored_members")), (mobile, None))
        path = f"clients/{made['client_id']}"
        read = self.expect(self.management("GET", path, token=token), 200).json
        self.assertEqual(self.expect(self.management("PATCH", path, read, token), 200).json, read)
        stored = self.site.dossier("client", "show", made["client_id"])
        self.assertEqual([stored[name] for name in [
            "apple_team_id", "apple_bundle_id", "android_package", "android_certificates"]],
            ["A1B2C3D4E5", "com.example.app", "com.example.app", [print_]])
        change = {"mobile": {"android": {"sha256_cert_fingerprints": ["0b" * 32, "0A" * 32], "x": 1},
                             "web": {}}}
        again = self.expect(self.management("PATCH", path, change, token), 200).json
        self.assertEqual(again["mobile"]["ios"], mobile["ios"])
        self.assertEqual(again["mobile"]["android"]["sha256_cert_fingerprints"],
                         [":".join(["0B"] * 32), print_])
        self.assertEqual(sorted(again["ignored_members"]), ["mobile.android.x", "mobile.web"])
        for wrong, place in [
                ({"ios": {"team_id": "x"}}, "mobile.ios.team_id"),
                ({"ios": {"team_id": None}}, "mobile.ios.team_id"),
                ({"ios": []}, "mobile.ios"), ("x", "mobile"),
                ({"android": {"sha256_cert_fingerprints": [print_, "00"]}},
                 "mobile.android.sha256_cert_fingerprints.1")]:
            answer = self.management("PATCH", path, {"mobile": wrong}, token)
            self.refused(answer, 400, "invalid_body")
            self.assertIn(f"on property {place}.", answer.json["message"])
        again = self.expect(self.management("PATCH", path, {"mobile/ios/team_id": "x"}, token), 200).json
        self.assertEqual(again["ignored_members"], ["mobile/ios/team_id"])
        again = self.expect(self.management("PATCH", path, {"mobile": {"android": None}}, token), 200).json
        self.assertEqual(again["mobile"], {"ios": mobile["ios"]})
        again = self.expect(self.management("PATCH", path, {"mobile": None}, token), 200).json
        self.assertNotIn("mobile", again)

    def test_an_application_keeps_its_id_and_its_secret(self):
        token = self.back_end_token()
        secret = "Yz8_-" * 12 + "abcd"
        id = "Qm3xT7pWn5Rk2Vb8Zc4Ld6Hf9Jg1Ys0A"
        body = {"name": "Moved", "app_type": "regular_web", "callbacks": [CALLBACK],
                "client_id": id, "client_secret": secret}
        made = self.expect(self.management("POST", "clients", body, token), 201).json
        self.assertEqual((made["client_id"], made["client_secret"]), (id, secret))
        self.refused(self.management("POST", "clients", body, token), 409, "client_exists")
        email, user = self.user()
        party = Party(self, {"id": id, "secret": secret}, code_challenge=None,
                      code_challenge_method=None)
        code = party.code(self.signed_in(party, email))
        tokens = self.expect(party.exchange(code, code_verifier=None), 200).json
        self.assertEqual(claims(tokens["id_token"])["aud"], id)
        read = self.expect(self.management("GET", f"clients/{id}", token=token), 200).json
        self.assertNotIn("client_secret", read)
        self.expect(self.management("PATCH", f"clients/{id}", read, token), 200)
        for wrong in [{"client_id": "other"}, {"client_secret": secret}]:
            self.refused(self.management("PATCH", f"clients/{id}", wrong, token), 400, "invalid_body")
        for wrong in [{"client_id": "a b"}, {"client_id": 1}, {"client_secret": "short"},
                      {"client_secret": secret, "client_secret_sha256": "0" * 64}]:
            self.refused(self.management("POST", "clients", {"name": "x", **wrong}, token),
                         400, "invalid_body")
        # Auth0 gives public applications a secret too, which they do not use.
        made = self.expect(self.management("POST", "clients", {
            "name": "Page", "app_type": "spa", "client_secret": secret}, token), 201).json
        self.assertEqual(made["ignored_members"], ["client_secret"])
        self.assertNotIn("client_secret", made)
        api = {"identifier": "https://of-moved.example.com/", "scopes": [{"value": "read:a"}]}
        self.expect(self.management("POST", "resource-servers", api, token), 201)
        grant = self.expect(self.management("POST", "client-grants", {
            "client_id": id, "audience": api["identifier"], "scope": ["read:a"]}, token), 201).json
        path = f"client-grants/{grant['id']}"
        self.assertEqual(self.expect(self.management("GET", path, token=token), 200).json, grant)
        self.expect(self.management("DELETE", path, token=token), 204)
        self.expect(self.management("DELETE", f"clients/{id}", token=token), 204)

    def test_tools_read_the_app(self):
        token = self.back_end_token()
        settings = self.expect(self.management("GET", "tenants/settings", token=token), 200).json
        self.assertEqual(settings["friendly_name"], "default")
        found = self.expect(self.management("GET", "connections", token=token), 200).json
        by_strategy = {one["strategy"]: one for one in found}
        self.assertIn(self.page["id"], by_strategy["auth0"]["enabled_clients"])
        self.assertNotIn(self.back_end["id"], by_strategy["auth0"]["enabled_clients"])
        path = "connections?strategy=auth0&name=Username-Password-Authentication&include_totals=true"
        page = self.expect(self.management("GET", path, token=token), 200).json
        self.assertEqual((page["total"], page["connections"]), (1, [by_strategy["auth0"]]))
        path = f"connections/{by_strategy['email']['id']}"
        self.assertEqual(self.management("GET", path, token=token).json, by_strategy["email"])
        self.refused(self.management("GET", "connections/con_x", token=token), 404,
                     "inexistent_resource")

    def test_a_client_of_the_api_signs_users_in(self):
        token = self.back_end_token()
        made = self.expect(self.management("POST", "clients", {
            "name": "Web", "app_type": "regular_web", "callbacks": [CALLBACK]}, token), 201).json
        client = {"id": made["client_id"], "secret": made["client_secret"]}
        email, user = self.user()
        # SDKs of such applications send no challenge.
        party = Party(self, client, code_challenge=None, code_challenge_method=None)
        code = party.code(self.signed_in(party, email))
        tokens = self.expect(party.exchange(code, code_verifier=None), 200).json
        self.assertEqual(claims(tokens["id_token"])["sub"], f"auth0|{user}")

    def test_other_apps_are_out_of_reach(self):
        self.site.create_app("elsewhere")
        foreign = self.new_client("native", app="elsewhere")
        api = self.site.dossier(
            "resource-server", "create", "https://elsewhere.example.com/", "--app", "elsewhere",
            "name=Elsewhere")
        operator = self.site.client("--operator")
        token = self.back_end_token()
        for path in [f"clients/{foreign['id']}", f"clients/{operator['id']}",
                     f"resource-servers/{api['id']}",
                     "resource-servers/" + urllib.parse.quote(api["identifier"], safe="")]:
            for method, body in [("GET", None), ("PATCH", {"name": "x"}), ("DELETE", None)]:
                self.expect(self.management(method, path, body, token), 404)
        self.expect(self.management("POST", f"clients/{operator['id']}/rotate-secret", {}, token), 404)
        shown = [self.management("GET", path, token=token).body.decode()
                 for path in ["clients?per_page=100", "resource-servers?per_page=100"]]
        for id in [foreign["id"], operator["id"], api["id"]]:
            self.assertNotIn(id, "".join(shown))


if __name__ == "__main__":
    unittest.main()
