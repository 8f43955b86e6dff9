"""Back ends read the logs of users, as Auth0's SDKs do."""

from test_auth0 import START, Auth0Case

VERSION_4 = START + """
from auth0.management import Logs, Users
users = Users(domain, access, protocol="http")
logs = users.get_log_events(site["user"], include_totals=True)
assert logs["start"] == 0 and logs["limit"] == 50 and logs["length"] == logs["total"], logs
types = [log["type"] for log in logs["logs"]]
assert types[0] == "slo" and "fp" in types and "s" in types, types
assert isinstance(users.get_log_events(site["user"], include_totals=False), list)
oldest = users.get_log_events(site["user"], sort="date:1")
assert oldest == logs["logs"][::-1], oldest
found = Logs(domain, access, protocol="http").search(q='user_id:"%s"' % site["user"])
assert found["logs"] == logs["logs"], found
assert Logs(domain, access, protocol="http").search()["total"] >= logs["total"]
print("done")
"""

VERSION_6 = START + """
from auth0.management import Auth0
client = Auth0(base_url="http://%s/api/v2" % domain, token=access)
logs = list(client.users.logs.list(site["user"], per_page=2))
assert len(logs) > 2 and len({log.log_id for log in logs}) == len(logs), logs
login = next(log for log in logs if log.type == "s")
assert login.user_id == site["user"] and login.ip == "127.0.0.1", login
assert login.user_name == site["mail"] and login.connection == "Username-Password-Authentication", login
print("done")
"""


class Logs(Auth0Case):
    SCOPES = Auth0Case.SCOPES + ["read:logs", "read:logs_users"]

    def test_the_logs_of_a_user(self):
        mail, user = self.user()
        self.visitor.open("/account")
        self.visitor.submit(email=mail)
        self.visitor.submit("/password", password="wrong horse battery")
        self.sign_in(mail)
        self.visitor.open("/v2/logout")
        self.visitor.submit("/v2/logout/confirm")
        values = {"user": f"auth0|{user}", "mail": mail}
        self.run_program("4.13.0", VERSION_4, **values)
        self.run_program("6.8.0", VERSION_6, **values)
        token = self.back_end_token()
        self.expect(self.management("DELETE", f"users/auth0|{user}", token=token), 204)
        logs = self.expect(self.management("GET", f"users/auth0|{user}/logs", token=token), 200).json
        self.assertEqual(logs[0]["type"], "sdu")
        self.assertEqual(logs[0]["client_id"], self.back_end["id"])

    def test_the_scope_for_logs_of_users_reads_no_other_logs(self):
        _, user = self.user()
        token = self.back_end_token(scope="read:logs_users")
        self.expect(self.management("GET", f"users/auth0|{user}/logs", token=token), 200)
        self.refused(self.management("GET", "logs", token=token), 403, "insufficient_scope")
        token = self.back_end_token(scope="read:users")
        for path in ["logs", f"users/auth0|{user}/logs"]:
            self.refused(self.management("GET", path, token=token), 403, "insufficient_scope")

    def test_invalid_queries(self):
        token = self.back_end_token()
        for query in ["q=type:s", "q=user_id:", "sort=date", "sort=ip:1", "per_page=0", "page=x",
                      "from=x", "take=0"]:
            answer = self.management("GET", f"logs?{query}", token=token)
            self.refused(answer, 400, "invalid_query_string")
        self.assertEqual(self.management("GET", "logs?q=user_id:x", token=token).json, [])
