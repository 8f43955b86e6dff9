"""Measurements of sign-ins by passkey."""

import json
import random

from asking import ADDRESS, JSON
from connection_bench import ConnectionBench
from passkeys import RP_ID, Passkey
from wire_bench import wait_for_success

USERS, SIGN_INS = 20, 500


class PasskeyBench(ConnectionBench):
    def options(self, path):
        answer = self.site.request("POST", f"{path}/options", {}, {**JSON, **anywhere()})
        assert answer.status == 200, answer.body
        return answer.json["flow"], answer.json["public_key"]

    def users(self):
        """Users with a passkey each; made once."""
        if not hasattr(self, "passkeys"):
            self.site.set_app(passkey="optional", passkey_rp_id=RP_ID)
            wait_for_success(self.site, lambda: self.site.request(
                "POST", "/v1/login/passkey/options", {}, {**JSON, **anywhere()}))
            self.passkeys = [Passkey() for _ in range(USERS)]
            for passkey in self.passkeys:
                flow, options = self.options("/v1/register/passkey")
                answer = self.site.request(
                    "POST", "/v1/register/passkey",
                    {"flow": flow, "credential": passkey.made(options)}, {**JSON, **anywhere()})
                assert answer.status == 201, answer.body
        return self.passkeys

    def passkey_logins(self):
        """Sign-ins by passkeys whose authenticators have no counter, as synced ones."""
        users, requests = self.users(), []
        for number in range(SIGN_INS):
            flow, options = self.options("/v1/login/passkey")
            shown = users[number % USERS].shown(options)
            requests.append(("/v1/login/passkey", json.dumps({"flow": flow, "credential": shown}),
                             {**JSON, **anywhere()}))
        return self.once("POST", requests, lambda response, _: response.status == 200)


def anywhere():
    return {ADDRESS: f"10.3.{random.randrange(256)}.{random.randrange(256)}"}
