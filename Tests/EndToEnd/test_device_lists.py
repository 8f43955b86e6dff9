"""The list of a device and the accounts of its users, which can be on different nodes."""

import unittest

from asking import JSON
from cases import Case, Held, Waiting, in_parallel

PASSWORD = "correct horse"


class Lists(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(allowed_origins=["https://app.example.com"])

    def users(self, secret):
        answer = self.site.get("/v1/device", headers={"Dossier-Device": secret})
        return [user["user_id"] for user in self.expect(answer, 200).json["users"]]

    def listed(self, device):
        return set(self.site.sql("select unnest(user_ids) from devices "
                                 f"where device_id = '{device}'").splitlines())

    def accounts(self, device):
        return set(self.site.sql("select user_id from device_accounts "
                                 f"where device_id = '{device}'").splitlines())

    def two(self):
        """Two users of a device."""
        one = self.site.login()
        return one, self.site.login(one["device_secret"])

    def test_a_device_and_its_users_agree(self):
        one, two = self.two()
        device, secret = two["device_id"], two["device_secret"]
        both = {one["user_id"], two["user_id"]}
        self.assertEqual((self.listed(device), self.accounts(device)), (both, both))
        self.expect(self.site.request("DELETE", f"/v1/device/users/{one['user_id']}",
                                      headers={"Dossier-Device": secret}), 200)
        left = {two["user_id"]}
        self.assertEqual((self.listed(device), self.accounts(device)), (left, left))

    def assert_unknown(self, secret, user):
        """Asserts that a device does not know a user."""
        device = {"Dossier-Device": secret}
        self.assertNotIn(user, self.users(secret))
        for method, path, body in [
            ("PUT", "/active", {"user_id": user}), ("POST", f"/users/{user}/logout", None),
            ("DELETE", f"/users/{user}", None),
        ]:
            answer = self.site.request(method, f"/v1/device{path}", body, {**JSON, **device})
            self.expect(answer, 404, "not_found")
        cookie = {"Cookie": f"__Host-dossier-device={secret}", "Origin": "https://app.example.com"}
        refused = self.post("/v1/token/refresh", {"user_id": user}, headers=cookie)
        self.expect(refused, 401, "session_ended")

    def test_a_listed_user_without_an_account_is_not_known(self):
        one, two = self.two()
        self.site.sql(f"delete from device_accounts where user_id = '{one['user_id']}'")
        self.assert_unknown(two["device_secret"], one["user_id"])
        self.assertEqual(self.users(two["device_secret"]), [two["user_id"]])
        self.expect(self.me(one), 200)

    def test_an_account_of_a_user_who_is_not_listed_is_not_known(self):
        one, two = self.two()
        self.site.sql(f"update devices set user_ids = array['{two['user_id']}'] "
                      f"where device_id = '{two['device_id']}'")
        self.assert_unknown(two["device_secret"], one["user_id"])
        self.expect(self.me(one), 200)

    def test_deleted_users_leave_room_on_a_device(self):
        grants = [self.site.login()]
        for _ in range(19):
            grants.append(self.site.login(grants[-1]["device_secret"]))
        device = {"Dossier-Device": grants[-1]["device_secret"]}
        full = self.post("/v1/login/anonymous", {}, headers=device)
        self.expect(full, 409, "device_full")
        for grant in grants[:3]:
            self.expect(self.site.request("DELETE", "/v1/me", token=grant["access_token"]), 204)
        self.assertEqual(len(self.listed(grants[0]["device_id"])), 17)
        last = self.expect(self.post("/v1/login/anonymous", {}, headers=device), 200).json
        known = {grant["user_id"] for grant in grants[3:]} | {last["user_id"]}
        self.assertEqual(self.listed(last["device_id"]), known)
        self.assertEqual(set(self.users(last["device_secret"])), known)

    def test_concurrent_sign_ins_and_removals_leave_both_sides_equal(self):
        email = "both-sides@example.com"
        grant = self.verified(email, PASSWORD)
        device, user = grant["device_id"], grant["user_id"]
        secret = grant["device_secret"]
        for _ in range(8):
            shown = {"Dossier-Device": secret}

            def act(index):
                if index % 2:
                    return self.login(email, PASSWORD, headers=shown)
                return self.site.request("DELETE", f"/v1/device/users/{user}", headers=shown)

            answers = in_parallel(4, act)
            self.assertLessEqual({answer.status for answer in answers}, {200, 401, 404})
            for answer in answers[1::2]:
                if answer.status == 200 and answer.json["device_id"] == device:
                    secret = answer.json["device_secret"]
            self.assertEqual(self.listed(device), self.accounts(device))


class Locks(Waiting):
    def test_a_sign_in_locks_the_device_before_what_it_writes(self):
        email = self.own_email()
        grant = self.verified(email, PASSWORD)
        self.site.set_app(email_code=True)
        asked = self.expect(self.post("/v1/login/code/request", {"email": email}), 202).json
        code = self.mailed_code(email)
        place = self.site.sql(f"select place from authentication_flows where email = '{email}'")
        with Held(self.site, "select from devices "
                  f"where device_id = '{grant['device_id']}' for update"):
            answer = self.started(lambda: self.post(
                "/v1/login/code", {"flow": asked["flow"], "code": code},
                headers={"Dossier-Device": grant["device_secret"]}))
            self.wait_for(1)
            # This fails if the row is locked.
            free = self.site.sql(
                f"select 1 from authentication_flows where place = '{place}' for update nowait")
            self.assertEqual(free, "1")
        self.expect(answer(), 200)


if __name__ == "__main__":
    unittest.main()
