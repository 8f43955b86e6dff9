"""Grants of users and jobs at the Management API."""

import json
import unittest

from openid import CALLBACK, Party
from test_auth0 import START, Auth0Case

VERSION_4 = START + """
from auth0.exceptions import Auth0Error
from auth0.management import Grants, Jobs

def refused(call, *arguments):
    try:
        raise AssertionError(call(*arguments))
    except Auth0Error as error:
        return error.status_code, error.error_code

jobs = Jobs(domain, access, protocol="http")
made = jobs.send_verification_email({"user_id": site["user"], "client_id": site["page"]})
assert (made["type"], made["status"]) == ("verification_email", "pending"), made
assert jobs.get(made["id"]) == {**made, "status": "completed"}
assert not jobs.get_failed_job(made["id"])
for id in ["job_x", "x", made["id"][:-1], made["id"].upper()]:
    assert refused(jobs.get, id) == (404, "inexistent_resource"), id
    assert refused(jobs.get_failed_job, id) == (404, "inexistent_resource"), id
assert refused(jobs.export_users, {"format": "json"}) == (404, "inexistent_resource")
grants = Grants(domain, access, protocol="http")
listed = grants.all(extra_params={"user_id": site["user"]})
assert [grant["clientID"] for grant in listed] == [site["third"]], listed
grants.delete(listed[0]["id"])
assert grants.all(extra_params={"user_id": site["user"]}) == []
print("done")
"""

VERSION_6 = START + """
from auth0.management import Auth0
client = Auth0(base_url="http://%s/api/v2" % domain, token=access)
made = client.jobs.verification_email.create(user_id=site["user"])
assert client.jobs.get(made.id).status == "completed"
listed = list(client.user_grants.list(user_id=site["user"]))
assert [grant.client_id for grant in listed] == [site["third"]], listed
client.user_grants.delete_by_user_id(user_id=site["user"])
assert list(client.user_grants.list(user_id=site["user"])) == []
print("done")
"""


class Jobs(Auth0Case):
    def setUp(self):
        super().setUp()
        self.third = self.new_client("single_page", f"callback_urls={CALLBACK}")
        self.site.dossier("client", "set", self.third["id"], "first_party=false")
        self.email, self.id = self.user()
        self.user_id = f"auth0|{self.id}"

    def agree(self):
        """Lets the user allow the third party, and returns the tokens of its client."""
        party = Party(self, self.third)
        self.signed_in(party, self.email)
        page = self.visitor.submit("/consent", button="allow")
        return self.expect(party.exchange(party.code(page)), 200).json

    def test_version_4(self):
        self.agree()
        self.run_program("4.13.0", VERSION_4, user=self.user_id, third=self.third["id"])
        self.site.mailed(self.email, "ds_verify")

    def test_version_6(self):
        self.agree()
        self.run_program("6.8.0", VERSION_6, user=self.user_id, third=self.third["id"])

    def test_a_deleted_grant_ends_the_sessions_of_its_client(self):
        tokens = self.agree()
        token = self.back_end_token()
        path = f"grants?user_id={self.user_id}"
        page = self.expect(self.management("GET", f"{path}&include_totals=true", token=token), 200)
        grant, = page.json["grants"]
        self.assertEqual((page.json["total"], grant["user_id"], grant["audience"]),
                         (1, self.user_id, self.issuer))
        self.assertIn("openid", grant["scope"])
        for query in ["client_id=x", f"client_id={self.page['id']}", "audience=x"]:
            self.assertEqual(self.management("GET", f"{path}&{query}", token=token).json, [])
        headers = {"Authorization": f"Bearer {tokens['access_token']}"}
        self.expect(self.site.request("GET", "/userinfo", None, headers), 200)
        for id in ["grt_x", "x", grant["id"][:-1] + "g", "grt_" + "0" * 48,
                   "grt_" + "0" * 24 + grant["id"][28:], grant["id"][:28] + "0" * 24]:
            self.refused(self.management("DELETE", f"grants/{id}", token=token),
                         404, "inexistent_resource")
        self.expect(self.management("DELETE", f"grants/{grant['id']}", token=token), 204)
        self.assertEqual(self.management("GET", path, token=token).json, [])
        self.assertEqual(self.site.request("GET", "/userinfo", None, headers).status, 401)
        self.refused(self.management("DELETE", f"grants/{grant['id']}", token=token),
                     404, "inexistent_resource")

    def test_invalid_requests(self):
        token = self.back_end_token()
        for method in ["GET", "DELETE"]:
            self.refused(self.management(method, "grants", token=token), 400, "invalid_query_string")
            self.refused(self.management(method, "grants?user_id=auth0|" + "0" * 24, token=token),
                         404, "inexistent_user")
        for status, code, body in [
                (400, "invalid_body", {}), (400, "invalid_body", {"user_id": 1}),
                (400, "invalid_body", {"user_id": self.user_id, "organization_id": "org_1"}),
                (404, "inexistent_user", {"user_id": "auth0|" + "0" * 24})]:
            self.refused(self.management("POST", "jobs/verification-email", body, token), status, code)
        body = {"user_id": self.user_id, "other": 1}
        made = self.management("POST", "jobs/verification-email", body, token)
        self.assertEqual(self.expect(made, 201).json["ignored_members"], ["other"])

    def test_grants_and_jobs_of_another_app_do_not_exist(self):
        self.agree()
        token = self.back_end_token()
        grant, = self.management("GET", f"grants?user_id={self.user_id}", token=token).json
        job = self.management("POST", "jobs/verification-email", {"user_id": self.user_id}, token)
        job = self.expect(job, 201).json["id"]
        self.site.create_app("elsewhere")
        host = f"elsewhere.example:{self.site.port}"
        self.site.dossier("app", "host", "set", "--app", "elsewhere", "elsewhere.example")
        servers = self.site.dossier("resource-server", "list", "--app", "elsewhere")
        server = next(server for server in servers if server["identifier"] == "api/v2/")
        foreign = self.new_client("machine", app="elsewhere")
        self.site.dossier("client", "grant", foreign["id"], server["id"],
                          *[word for scope in self.SCOPES for word in ["--scope", scope]])
        body = {"grant_type": "client_credentials", "client_id": foreign["id"],
                "client_secret": foreign["secret"], "audience": f"http://{host}/api/v2/"}
        answer = self.site.request("POST", "/oauth/token", json.dumps(body), {
            "Content-Type": "application/json", "Host": host})
        other = self.expect(answer, 200).json["access_token"]
        for method, path, code in [
                ("DELETE", f"grants/{grant['id']}", "inexistent_resource"),
                ("GET", f"grants?user_id={self.user_id}", "inexistent_user"),
                ("DELETE", f"grants?user_id={self.user_id}", "inexistent_user"),
                ("GET", f"jobs/{job}", "inexistent_resource"),
                ("GET", f"jobs/{job}/errors", "inexistent_resource")]:
            self.refused(self.management(method, path, token=other, host=host), 404, code)
        self.assertEqual(
            self.management("GET", f"grants?user_id={self.user_id}", token=token).json, [grant])


if __name__ == "__main__":
    unittest.main()
