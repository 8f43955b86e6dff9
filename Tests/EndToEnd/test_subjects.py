"""The subjects of users: who has an address or a foreign id, also after concurrent requests."""

import json
import unittest

from cases import Case, Held, Waiting

MINE, THEIRS = "my old house", "another house"
# A subject names its user, and the rows of the user name the subject.
FAULTS = {
    "a subject of no user": """
        select 1 from identity_subjects s left join users u using (user_id) where u.user_id is null""",
    "an address that its user does not name": """
        select 1 from identity_subjects s join users u using (user_id)
        where s.provider = 'email' and s.reserved_until is null
          and email_key(u.email) is distinct from s.subject""",
    "a reserved address that its user does not name": """
        select 1 from identity_subjects s where s.reserved_until is not null and not exists (
          select 1 from additional_subjects a where a.user_id = s.user_id
            and a.provider = s.provider and a.subject = s.subject)""",
}


class Consistent:
    def assert_consistent(self):
        tables = ["users", "additional_subjects", "identity_subjects"]
        self.assertEqual(self.site.counts(tables, FAULTS), dict.fromkeys(FAULTS, 0))


class Subjects(Case, Consistent):
    def load(self, *rows):
        """Imports rows, and returns the ids of their users."""
        path, results = self.site.folder / "rows.ndjson", self.site.folder / "results.ndjson"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        results.unlink(missing_ok=True)
        self.site.dossier("user", "import", path, "--update-existing", "--results", results)
        return [json.loads(line)["id"] for line in results.read_text().splitlines()]

    def test_a_deletion_frees_all_foreign_ids_of_a_user(self):
        [user] = self.load({"email": "known@example.com", "foreign_id": "auth0|first"})
        [same] = self.load({"email": "known@example.com", "foreign_id": "auth0|second"})
        self.assertEqual(same, user)
        self.site.dossier("user", "delete", user, "--yes")
        self.assert_consistent()
        others = self.load({"email": "a@example.com", "foreign_id": "auth0|first"},
                           {"email": "b@example.com", "foreign_id": "auth0|second"})
        self.assertEqual(len({user, *others}), 3)
        self.assert_consistent()

    def test_an_export_has_the_addresses_that_are_reserved(self):
        grant = self.verified("old@example.com")

        def former():
            export = self.expect(self.me(grant, "/export"), 200).json
            return [row["email"] for row in export["former_emails"]]

        self.assertEqual(former(), [])
        self.change_email(grant, "new@example.com")
        self.assertEqual(former(), ["old@example.com"])
        self.change_email(grant, "old@example.com")
        self.assertEqual(former(), ["new@example.com"])
        self.assert_consistent()

    def test_an_export_has_the_devices_of_a_user(self):
        grant = self.verified("devices@example.com", "correct horse")
        self.expect(self.login("devices@example.com", "correct horse"), 200)
        devices = self.expect(self.me(grant, "/export"), 200).json["devices"]
        self.assertEqual([set(device) for device in devices],
                         [{"device_id", "activated_at", "created_at", "last_seen_at"}] * 2)
        self.assertEqual(devices[0]["device_id"], grant["device_id"])
        self.site.sql(f"delete from devices where device_id = '{grant['device_id']}'")
        deleted = self.expect(self.me(grant, "/export"), 200).json["devices"][0]
        self.assertEqual((deleted["created_at"], deleted["last_seen_at"]), (None, None))


class SubjectRaces(Waiting, Consistent):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(failures_per_ip=10**6, failures_per_identifier=10**6)

    def moved(self, old):
        """Creates a user whose address has changed, and whose old address is reserved."""
        grant = self.verified(old)
        self.change_email(grant, f"new-{old}")
        return grant

    def end_reservation(self, email):
        """Ends the reservation of an address, before the maintenance deletes it."""
        for table in ["identity_subjects", "additional_subjects"]:
            self.site.sql(f"update {table} set reserved_until = now() - interval '1 second' "
                          f"where subject = '{email}'")

    def change_to(self, grant, email):
        """Returns the last request of an address change."""
        count = len(self.codes(email)) + 1
        asked = self.post("/v1/me/email", {"email": email}, token=grant["access_token"])
        flow = self.expect(asked, 202).json["flow"]
        body = {"flow": flow, "code": self.mailed_code(email, count)}
        return lambda: self.post("/v1/me/email/verify", body, token=grant["access_token"])

    def delete(self, grant):
        return self.site.request("DELETE", "/v1/me", token=grant["access_token"])

    def meet(self, email, *requests):
        """Returns the responses to requests that all waited for the row of an address."""
        query = f"select 1 from identity_subjects where subject = '{email}' for update"
        with Held(self.site, query):
            answers = []
            for request in requests:
                answers.append(self.started(request))
                self.wait_for(len(answers))
        return [answer() for answer in answers]

    def test_an_address_whose_reservation_has_ended_goes_to_the_first(self):
        for place, first in enumerate(["register", "return"]):
            with self.subTest(first=first):
                email = f"{place}-{self.own_email()}"
                grant = self.moved(email)
                back = self.change_to(grant, email)
                self.end_reservation(email)
                requests = [lambda e=email: self.register(e, THEIRS), back]
                if first == "return":
                    requests.reverse()
                answers = self.meet(email, *requests)
                self.assertIn(answers[0].status, (200, 201, 204), answers[0].body)
                self.expect(answers[1], 409, "email_taken")
                self.expect(self.login(email, THEIRS), 200 if first == "register" else 401)
                self.assert_consistent()

    def test_two_users_take_an_address_whose_reservation_has_ended(self):
        email = self.own_email()
        self.moved(email)
        self.end_reservation(email)
        answers = self.meet(email, *[lambda: self.register(email, THEIRS)] * 2)
        self.assertEqual([answer.status for answer in answers], [201, 409])
        self.assert_consistent()

    def test_a_deletion_does_not_free_the_address_of_another_user(self):
        for place, first in enumerate(["register", "delete"]):
            with self.subTest(first=first):
                email = f"{place}-{self.own_email()}"
                grant = self.moved(email)
                self.end_reservation(email)
                requests = [lambda e=email: self.register(e, THEIRS),
                            lambda g=grant: self.delete(g)]
                if first == "delete":
                    requests.reverse()
                answers = self.meet(email, *requests)
                self.assertEqual(sorted(answer.status for answer in answers), [201, 204])
                self.expect(self.login(email, THEIRS), 200)
                self.expect(self.register(email, MINE), 409, "email_taken")
                self.assert_consistent()

    def test_a_registration_gets_the_address_of_a_user_who_is_deleted(self):
        for email in [self.own_email(), f"reserved-{self.own_email()}"]:
            with self.subTest(email=email):
                reserved = email.startswith("reserved-")
                grant = self.moved(email) if reserved else self.verified(email)
                # The registration has found no user, or finds none when it has waited.
                answers = self.meet(email, lambda g=grant: self.delete(g))
                self.expect(answers[0], 204)
                self.expect(self.register(email, THEIRS), 201)
                self.assert_consistent()

    def test_a_reserved_address_is_free_after_its_user_was_deleted(self):
        email = self.own_email()
        grant = self.moved(email)
        self.expect(self.register(email, THEIRS), 409, "email_taken")
        answers = self.meet(email, lambda: self.delete(grant),
                            lambda: self.register(email, THEIRS))
        # The deletion was first.
        self.assertEqual([answer.status for answer in answers], [204, 201])
        self.expect(self.login(email, THEIRS), 200)
        self.assert_consistent()


if __name__ == "__main__":
    unittest.main()
