"""Tests the changes that two tabs of Chromium receive."""

import signal
import unittest

from machine import wait_until
from streams import StreamCase
from web import PASSWORD, WebCase

WATCH = """
    const { onChange } = await import(`${server}/dossier-changes.js`);
    window.dossier = dossier;
    window.told = [];
    window.stop = onChange(dossier, ["metadata", "properties"], (changed) => told.push(changed));
    """


class Changes(StreamCase, WebCase):
    def setUp(self):
        super().setUp()
        self.email = self.own_email()
        self.grant = self.expect(self.register(self.email, PASSWORD), 201).json
        self.tabs = [self.tab(f"await dossier.signIn({self.email!r}, {PASSWORD!r});"), self.tab("")]
        self.wait_for_stream()

    def tab(self, script):
        self.in_another_tab()
        self.run_script(script + WATCH)
        return self.browser.driver.current_window_handle

    def count(self, user=None):
        """Returns how many streams of a user were opened; by default, of the user of the test."""
        user = user or self.grant["user_id"]
        return sum(line["route"] == "GET /v1/me/events" and line["status"] == 200
                   and line["user"] == user for line in self.site.logged())

    def wait_for_stream(self, count=1, user=None):
        wait_until(lambda: self.count(user) >= count, what="a stream")

    def told(self, tab):
        self.browser.driver.switch_to.window(tab)
        return self.browser.script("return told")

    def wait_told(self, tab, condition):
        wait_until(lambda: condition(self.told(tab)), what=f"news in {tab}")

    def run_in(self, tab, script):
        self.browser.driver.switch_to.window(tab)
        return self.browser.evaluate(script)

    def test_tabs_share_a_stream(self):
        before = self.count()
        # Changed elsewhere.
        self.patch(self.grant, "elsewhere")
        for tab in self.tabs:
            self.wait_told(tab, lambda told: {"metadata": {"version": 1}} in told)
        # A write in one tab reaches the other one.
        self.run_in(self.tabs[1], "await dossier.metadata.patch({ theme: 'dark' });")
        self.wait_told(self.tabs[0], lambda told: {"metadata": {"version": 2}} in told)
        self.patch(self.grant, "again")
        for tab in self.tabs:
            self.wait_told(tab, lambda told: {"metadata": {"version": 3}} in told)
        self.assertEqual(self.count(), before)
        # The other tab goes on when the first one is closed.
        self.browser.driver.switch_to.window(self.tabs[0])
        self.browser.driver.close()
        self.browser.driver.switch_to.window(self.tabs[1])
        # It misses nothing from before its stream.
        self.patch(self.grant, "after")
        self.wait_told(self.tabs[1], lambda told: {"metadata": {"version": 4}} in told)
        self.wait_for_stream(before + 1)
        self.run_in(self.tabs[1], "stop();")
        self.patch(self.grant, "never told")
        self.quiet()

    def test_a_page_that_was_told_nothing_goes_on_as_well(self):
        # The newer page asks the older one for its cursor. The answer reaches all channels of the page.
        self.run_in(self.tabs[1], """
            const { held, pending } = await navigator.locks.query();
            const { name } = [...held, ...pending].find(({ name }) => name.includes(" changes "));
            const channel = new BroadcastChannel(name);
            await new Promise((resolve) => {
              channel.onmessage = ({ data }) => data.cursor && resolve();
              setInterval(() => channel.postMessage({}), 50);
            });
            """)
        self.browser.driver.switch_to.window(self.tabs[0])
        self.browser.driver.close()
        self.patch(self.grant, "between")
        self.wait_told(self.tabs[1], lambda told: {"metadata": {"version": 1}} in told)

    def test_the_end_of_the_session_reaches_both_tabs(self):
        sessions = self.me(self.grant, "/sessions").json
        for session in sessions:
            if not session.get("current"):
                self.expect(self.site.request(
                    "DELETE", f"/v1/me/sessions/{session['id']}",
                    token=self.grant["access_token"]), 204)
        for tab in self.tabs:
            self.wait_told(tab, lambda told: None in told)
            self.assertIsNone(self.run_in(tab, "return dossier.user;"))

    def test_a_page_that_was_offline_misses_nothing(self):
        self.browser.driver.close()
        tab = self.tabs[0]
        self.browser.driver.switch_to.window(tab)

        def network(offline):
            self.browser.driver.execute_cdp_cmd("Network.emulateNetworkConditions", {
                "offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1})

        self.browser.driver.execute_cdp_cmd("Network.enable", {})
        network(True)
        wait_until(lambda: not self.browser.script("return navigator.onLine"), what="no network")
        self.patch(self.grant, "dark")
        network(False)
        self.wait_told(tab, lambda told: {"metadata": {"version": 1}} in told)
        self.browser.complaints()

    def test_a_page_goes_on_with_another_user(self):
        # A tab that has chosen its user keeps it.
        self.run_in(self.tabs[1], "await dossier.switchTo(dossier.user);")
        tab, before = self.tabs[0], self.count()
        guest = self.run_in(tab, "return dossier.signInAnonymously();")
        self.wait_for_stream(1, guest)
        # The other tab goes on with the stream of its user.
        self.wait_for_stream(before + 1)
        self.run_in(tab, "await dossier.properties.set('volume', 5);")
        self.wait_told(tab, lambda told: {"properties": {}} in told)
        self.patch(self.grant, "dark")
        self.wait_told(self.tabs[1], lambda told: {"metadata": {"version": 1}} in told)
        self.assertNotIn({"metadata": {"version": 1}}, self.told(tab))
        self.assertNotIn({"properties": {}}, self.told(self.tabs[1]))
        self.quiet()

    def test_pages_poll_without_the_program(self):
        self.program.send_signal(signal.SIGTERM)
        self.program.wait(120)
        self.patch(self.grant, "dark")
        for tab in self.tabs:
            self.wait_told(tab, lambda told: {"metadata": {"version": 1}} in told)
        self.start_streams()


if __name__ == "__main__":
    unittest.main()
