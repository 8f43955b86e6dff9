"""Devices of users, for programs and on the command line."""

from cases import Administration


class DeviceAdministration(Administration):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.key = cls.site.client("--app", "default", "scopes=read:users,update:users")["secret"]

    def ask(self, method, path, status=200, code=None, key=None, **options):
        return self.expect(
            self.site.request(method, path, token=key or self.key, **options), status, code)

    def shared(self):
        """Signs two users in on one device; returns their tokens, the second one's with its secret."""
        first = self.site.login()
        return first, self.site.login(first["device_secret"])

    def states(self, device):
        users = self.ask("GET", f"/v1/devices/{device}").json["users"]
        return [(user["user_id"], user["state"]) for user in users]

    def test_the_devices_of_a_user_have_pages(self):
        grant = self.verified("pages@example.com")
        devices = [grant["device_id"]]
        for _ in range(2):
            devices.append(self.expect(self.login("pages@example.com"), 200).json["device_id"])
        path = f"/v1/users/{grant['user_id']}/devices"
        listed = self.ask("GET", path).json
        self.assertEqual([device["id"] for device in listed], sorted(devices, reverse=True))
        first = self.ask("GET", f"{path}?limit=2")
        self.assertEqual(first.json, listed[:2])
        cursor = first.headers["Link"].split("cursor=")[1].split(">")[0]
        self.assertEqual(self.ask("GET", f"{path}?limit=2&cursor={cursor}").json, listed[2:])
        one = self.ask("GET", f"{path}/{grant['device_id']}").json
        self.assertIn(one, listed)
        self.assertEqual(one["sessions"], 1)
        self.assertIsNotNone(one["created_at"])
        self.assertEqual(self.site.dossier("device", "list", "pages@example.com"), listed)

    def test_a_device_shows_its_users_and_forgets_one(self):
        first, second = self.shared()
        device, path = first["device_id"], f"/v1/users/{first['user_id']}/devices"
        self.assertEqual(self.states(device),
                         [(second["user_id"], "active"), (first["user_id"], "inactive")])
        shown = self.site.dossier("device", "show", device)
        self.assertEqual(shown, self.ask("GET", f"/v1/devices/{device}").json)
        self.ask("DELETE", f"{path}/{device}", 204)
        self.expect(self.me(first), 401, "session_ended")
        self.expect(self.me(second), 200)
        self.assertEqual(self.states(device), [(second["user_id"], "active")])
        self.assertEqual(self.ask("GET", path).json, [])
        self.ask("GET", f"{path}/{device}", 404, "not_found")
        self.ask("DELETE", f"{path}/{device}", 404, "not_found")
        event = self.audit_events("--user", first["user_id"])[0]
        self.assertEqual((event["action"], event["device_id"]), ("device_remove", device))
        self.assertRegex(event["actor"], "^client:")
        # The device still acts for the other user.
        answer = self.site.get("/v1/device", headers={"Dossier-Device": second["device_secret"]})
        self.assertEqual([user["user_id"] for user in self.expect(answer, 200).json["users"]],
                         [second["user_id"]])

    def test_without_switching_no_other_user_becomes_active(self):
        app = self.site.add_app("fixed", switching="reauthenticate")
        key = self.site.client("--app", "fixed", "scopes=read:users,update:users")["secret"]
        first = self.expect(self.post("/v1/login/anonymous", {}, headers=app), 200).json
        headers = {**app, "Dossier-Device": first["device_secret"]}
        second = self.expect(self.post("/v1/login/anonymous", {}, headers=headers), 200).json
        path = f"/v1/users/{second['user_id']}/devices/{second['device_id']}"
        self.ask("DELETE", path, 204, key=key, headers=app)
        shown = self.ask("GET", f"/v1/devices/{first['device_id']}", key=key, headers=app)
        self.assertEqual([(user["user_id"], user["state"]) for user in shown.json["users"]],
                         [(first["user_id"], "inactive")])

    def test_all_devices_of_a_user_are_removed(self):
        grant = self.verified("all@example.com")
        other = self.expect(self.login("all@example.com"), 200).json
        self.refused(23, "device", "delete", "all@example.com", words="all devices")
        self.site.dossier("device", "delete", "all@example.com", grant["device_id"], "--yes")
        self.expect(self.me(grant), 401, "session_ended")
        self.expect(self.me(other), 200)
        self.ask("DELETE", f"/v1/users/{grant['user_id']}/devices", 204)
        self.expect(self.me(other), 401, "session_ended")
        self.assertEqual(self.site.dossier("device", "list", "all@example.com"), [])
        # The user itself stays.
        self.expect(self.login("all@example.com"), 200)

    def test_devices_belong_to_one_app(self):
        grant = self.site.login()
        app = self.site.add_app("separate")
        key = self.site.client("--app", "separate", "scopes=read:users,update:users")["secret"]
        user, device = grant["user_id"], grant["device_id"]
        for method, path in [("GET", f"/v1/devices/{device}"), ("GET", f"/v1/users/{user}/devices"),
                             ("DELETE", f"/v1/users/{user}/devices"),
                             ("GET", f"/v1/users/{user}/devices/{device}"),
                             ("DELETE", f"/v1/users/{user}/devices/{device}")]:
            self.ask(method, path, 404, "not_found", key, headers=app)
        self.expect(self.me(grant), 200)
        reader = self.site.client("--app", "default", "scopes=read:users")["secret"]
        self.ask("DELETE", f"/v1/users/{user}/devices/{device}", 403, "insufficient_scope", reader)
        self.refused(10, "device", "show", "0" * 24)
