"""Two tabs of one Chromium by the client API of App Services."""

import unittest

from app_services import PASSWORD, PREFIX
from asking import JSON
from web import WebCase

# As realm-web: the device id is in the storage that tabs share, the tokens are in the tab's memory.
CLIENT = """
    const [server, email, password] = given;
    const app = `${server}/api/client/v2.0/app/default`;
    const ask = async (method, path, token, body) => {
      const answer = await fetch(path, {
        method,
        headers: {
          ...(token ? { Authorization: `Bearer ${token}` } : {}),
          ...(body ? { "Content-Type": "application/json" } : {}),
        },
        body: body && JSON.stringify(body),
      });
      const text = await answer.text();
      return { status: answer.status, ...(text ? JSON.parse(text) : {}) };
    };
    const session = `${server}/api/client/v2.0/auth/session`;
    const logIn = async () => {
      const deviceId = localStorage.getItem("device");
      const device = deviceId ? { deviceId: { $oid: deviceId } } : {};
      window.tokens = await ask("POST", `${app}/auth/providers/local-userpass/login`, null,
        { username: email, password, options: { device } });
      localStorage.setItem("device", tokens.device_id);
      return [tokens.status, tokens.user_id, tokens.device_id];
    };
    const refresh = async () => {
      const answer = await ask("POST", session, tokens.refresh_token);
      const profile = await ask(
        "GET", `${server}/api/client/v2.0/auth/profile`, tokens.access_token);
      return [answer.status, profile.status];
    };
    const logOut = async () => (await ask("DELETE", session, tokens.refresh_token)).status;
    """


class Tabs(WebCase):
    def run_client(self, text, email):
        return self.browser.evaluate(CLIENT + text, self.server, email, PASSWORD)

    def register(self, email):
        path = f"{PREFIX}/app/default/auth/providers/local-userpass/register"
        answer = self.site.request("POST", path, {"email": email, "password": PASSWORD}, JSON)
        self.assertEqual(answer.status, 201, answer.body)

    def tabs(self):
        """Opens two tabs. Returns their handles."""
        handles = []
        for _ in range(2):
            self.in_another_tab()
            handles.append(self.browser.driver.current_window_handle)
        return handles

    def switch(self, handle):
        self.browser.driver.switch_to.window(handle)

    def test_a_login_in_one_tab_keeps_the_session_of_the_other(self):
        email = "tabs@example.test"
        self.register(email)
        one, other = self.tabs()
        self.switch(one)
        first = self.run_client("return logIn();", email)
        self.assertEqual(first[0], 200)
        self.switch(other)
        self.assertEqual(self.run_client("return logIn();", email), first)
        self.assertEqual(self.run_client("return refresh();", email), [201, 200])
        self.switch(one)
        self.assertEqual(self.run_client("return refresh();", email), [201, 200])
        self.assertEqual(self.run_client("return logOut();", email), 204)
        self.switch(other)
        self.assertEqual(self.run_client("return refresh();", email), [201, 200])
        self.quiet()

    def test_concurrent_logins_in_two_tabs(self):
        email = "tabs-at-once@example.test"
        self.register(email)
        one, other = self.tabs()
        self.switch(one)
        self.run_client("await logIn();", email)
        for _ in range(5):
            for handle in [one, other]:
                self.switch(handle)
                self.run_client("window.login = logIn(); return null;", email)
            logins = []
            for handle in [one, other]:
                self.switch(handle)
                logins.append(self.run_client("return window.login;", email))
            self.assertEqual(logins[0][0], 200)
            self.assertEqual(logins[0], logins[1])
            for handle in [one, other]:
                self.switch(handle)
                self.assertEqual(self.run_client("return refresh();", email), [201, 200])
        self.quiet()


if __name__ == "__main__":
    unittest.main()
