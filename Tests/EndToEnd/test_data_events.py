"""Events of changes that users make to their own data."""

import unittest

from asking import MERGE
from cases import Case


class DataEvents(Case):
    def changes(self, grant):
        """Returns the user's events of changed data, the newest first."""
        events = self.me(grant, "/audit").json
        return [(event["detail"]["what"], event["actor"], event["session_id"] is not None)
                for event in events if event["action"] == "data_change"]

    def change_all(self, grant):
        token = grant["access_token"]
        for path, body in (("", {"name": "Ada"}), ("/metadata", {"theme": "dark"}),
                           ("/properties", {"volume": 8})):
            answer = self.site.request("PATCH", f"/v1/me{path}", body, MERGE, token)
            self.expect(answer, 200)

    def test_an_app_records_no_events_of_users_own_changes_by_default(self):
        grant = self.site.login()
        self.change_all(grant)
        self.assertEqual(self.changes(grant), [])

    def test_an_app_can_record_events_of_users_own_changes(self):
        self.site.set_app(data_event_days=7)
        self.addCleanup(self.site.set_app, data_event_days=None)
        grant = self.site.login()
        self.change_all(grant)
        self.assertEqual(self.changes(grant), [
            (what, "user", True) for what in ("properties", "metadata", "profile")])


if __name__ == "__main__":
    unittest.main()
