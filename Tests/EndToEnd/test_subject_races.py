"""Concurrent requests for an address that a user has given up, while another user takes it."""

import unittest

from cases import Held, Waiting

MINE, THEIRS = "my old house", "another house"
# A subject names its user, and the rows of the user name the subject.
FAULTS = {
    "a subject of no user": """
        select from identity_subjects s left join users u using (user_id) where u.user_id is null""",
    "an address that its user does not name": """
        select from identity_subjects s join users u using (user_id)
        where s.provider = 'email' and s.reserved_until is null
          and email_key(u.email) is distinct from s.subject""",
    "a reserved address that its user does not name": """
        select from identity_subjects s where s.reserved_until is not null and not exists (
          select from additional_subjects a where a.user_id = s.user_id
            and a.provider = s.provider and a.subject = s.subject)""",
}


class SubjectRaces(Waiting):
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
        query = f"select from identity_subjects where subject = '{email}' for update"
        with Held(self.site, query):
            answers = []
            for request in requests:
                answers.append(self.started(request))
                self.wait_for(len(answers))
        return [answer() for answer in answers]

    def assert_consistent(self):
        told = self.site.sql("; ".join(f"select count(*) from ({q}) q" for q in FAULTS.values()))
        self.assertEqual(dict(zip(FAULTS, told.split("\n"))), dict.fromkeys(FAULTS, "0"))

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
