"""Passkeys on the pages: several devices, known browsers, new users and new passwords.

The tests run in Chromium, with its virtual authenticator, unless they need no script.
"""

import unittest

from passkeys import Passkey, PasskeyCase


class Names(PasskeyCase):
    def test_a_passkey_is_named_after_its_manager(self):
        passkey = Passkey()
        passkey.aaguid = bytes.fromhex("d548826e79b4db40a3d811116f7e8349")
        grant = self.registered(passkey)[1]
        unknown = Passkey()
        unknown.aaguid = bytes(range(16))
        self.added(grant, unknown)
        named = Passkey()
        named.aaguid = passkey.aaguid
        self.added(grant, named, name="Mine")
        self.assertEqual([found["name"] for found in self.passkeys(grant)],
                         ["Mine", "Passkey", "Bitwarden"])


if __name__ == "__main__":
    unittest.main()
