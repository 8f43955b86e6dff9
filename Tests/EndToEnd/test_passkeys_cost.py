"""How often a sign-in with a passkey waits for the database, and what it executes."""

import unittest

from passkeys import PasskeyCase
from test_round_trips import Counting


class RoundTrips(Counting, PasskeyCase):
    SETTINGS = {**PasskeyCase.SETTINGS, "DOSSIER_WORKERS": "1"}

    def test_options_ask_nothing_and_a_sign_in_asks_twice(self):
        passkey, _ = self.registered()
        self.assertEqual(self.trips(lambda: self.post("/v1/login/passkey/options", {})), 0)
        waiting = []
        for _ in range(5):
            flow, options = self.options("/v1/login/passkey")
            waiting.append({"flow": flow, "credential": passkey.shown(options)})
        self.assertEqual(
            self.trips(lambda: self.post("/v1/login/passkey", waiting.pop())), 2)


if __name__ == "__main__":
    unittest.main()
