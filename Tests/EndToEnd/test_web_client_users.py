"""Tests the client for web pages with several users: links, switches and sign-outs."""

import unittest

from web import PASSWORD
from test_web_client import ClientCase


class ClientUsers(ClientCase):
    def test_a_link_continues_in_a_new_session(self):
        for device in ["secret", "cookie"]:
            with self.subTest(device):
                self.begin()
                email = f"guest-{device}@example.com"
                guest, linked, token = self.run_script("""
                    const [email, password] = given.slice(2);
                    const guest = await dossier.signInAnonymously();
                    let token;
                    const real = window.fetch;
                    window.fetch = (url, options) => {
                      token = options.headers.get("Authorization") ?? token;
                      return real(url, options);
                    };
                    await dossier.metadata.patch({ theme: "dark" });
                    await dossier.link({ provider: "password", email, password });
                    const { body } = await dossier.metadata.read();
                    return [guest, [dossier.user, body.theme], token.slice(7)];
                    """, email, PASSWORD, device=device)
                self.assertEqual(linked, [guest, "dark"])
                self.expect(self.me({"access_token": token}), 200)
                # Nothing of the session is lost when the token expires.
                self.pass_time()
                profile = self.run_script("return dossier.profile();", device=device)
                self.assertEqual((profile["id"], profile["email"]), (guest, email))
                # A second tab has the same user.
                self.in_another_tab()
                self.assertEqual(
                    self.run_script("return (await dossier.profile()).id;", device=device), guest)
                self.sign_all_out(device)
        self.quiet()

    def test_another_user_becomes_active_only_on_request(self):
        for device in ["secret", "cookie"]:
            with self.subTest(device):
                self.begin()
                found = self.run_script("""
                    const users = [];
                    for (let index = 0; index < 4; index++) users.push(await dossier.signInAnonymously());
                    const after = [];
                    const note = async (left) => {
                      const place = users.indexOf(dossier.user);
                      const active = left.filter(({ state }) => state === "active");
                      after.push([place, active.map(({ user_id }) => users.indexOf(user_id))]);
                    };
                    await note(await dossier.signOut());
                    await dossier.switchTo(users[1]);
                    await dossier.switchTo(users[2]);
                    await note(await dossier.signOut(undefined, { next: "most_recent" }));
                    await note(await dossier.forget(dossier.user));
                    await dossier.switchTo(users[0]);
                    await dossier.deleteUser();
                    await note(await dossier.users());
                    return [after, await code(dossier.profile())];
                    """, device=device)
                self.assertEqual(found, [[[-1, []], [1, [1]], [-1, []], [-1, []]], "not_logged_in"])

    def test_a_sign_out_of_another_user_changes_no_page(self):
        self.begin()
        found = self.run_script("""
            const ada = await dossier.signInAnonymously();
            const bob = await dossier.signInAnonymously();
            await dossier.signOut(ada);
            return [dossier.user === bob, (await dossier.profile()).id === bob];
            """)
        self.assertEqual(found, [True, True])
        self.quiet()

    def test_all_users_of_a_device_are_signed_out(self):
        for device in ["secret", "cookie"]:
            with self.subTest(device):
                self.begin()
                states, users, refused = self.run_script("""
                    const users = [await dossier.signInAnonymously(), await dossier.signInAnonymously()];
                    const states = (await dossier.signOutAll()).map(({ state }) => state);
                    return [states, users, [dossier.user, await code(dossier.profile()),
                      await code(dossier.switchTo(users[0]))]];
                    """, device=device)
                self.assertEqual(states, ["logged_out"] * 2)
                self.assertEqual(refused, [None, "not_logged_in", "not_logged_in"])
                for user in users:
                    self.assertEqual(self.site.sql(
                        "select count(*) from sessions where ended_at is null and "
                        f"user_id = '{user}'"), "0")
                # The next user of the browser is signed in on the same device.
                count = self.run_script("""
                    await dossier.signInAnonymously();
                    return (await dossier.users()).length;
                    """, device=device)
                self.assertEqual(count, 3)


if __name__ == "__main__":
    unittest.main()
