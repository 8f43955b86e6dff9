"""Changes of users of Parra, their avatar and metadata, by a client as strict as the SDK."""

import json
import struct
import unittest
import urllib.parse
import uuid
import zlib

from asking import JSON
from cases import Case
from parra import Client
from parra_types import APIError, checked_asset, checked_tokens, checked_user, is_api_error, png


def size(picture):
    return struct.unpack(">II", picture[16:24])


def alpha_of(picture):
    """Returns the alpha of the first pixel of an 8-bit PNG with an alpha channel."""
    assert tuple(picture[24:26]) == (8, 6), picture[:32]
    data, place = b"", 8
    while place < len(picture):
        length, name = struct.unpack(">I4s", picture[place:place + 8])
        if name == b"IDAT":
            data += picture[place + 8:place + 8 + length]
        place += 12 + length
    # The first pixel of the first row is as it is under each filter.
    return zlib.decompress(data)[4]


class Users(Case):
    def setUp(self):
        self.client = Client(self.site).launch()

    def upload(self, body, boundary=None, name="image"):
        boundary = boundary or str(uuid.uuid4()).upper()
        form = (f"\r\n--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"; "
                f"filename=\"image.png\"\r\nContent-Type: image/png\r\n\r\n").encode()
        form += body + f"\r\n--{boundary}--\r\n".encode()
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        return self.client.call("POST", "/users/avatar", form, headers)

    def test_names_change_and_properties_are_merged(self):
        path = self.client.user_path
        self.assertRegex(self.client.user["display_name"], "^User [0-9a-f]{6}$")
        self.client.call("PUT", f"{path}/properties", {"level": 3})
        body = {"first_name": "Ada", "last_name": None, "name": "ada", "properties": {"theme": "dark"}}
        user = checked_user(self.client.call("PUT", path, body))
        self.assertEqual((user["name"], user["first_name"], user["last_name"]), ("ada", "Ada", None))
        self.assertEqual(user["display_name"], "ada")
        self.assertEqual(user["properties"], {"level": 3, "theme": "dark"})
        body = {"first_name": "Ada", "last_name": "Lovelace", "name": "", "properties": None}
        user = checked_user(self.client.call("PUT", path, body))
        self.assertEqual((user["name"], user["display_name"]), (None, "Ada Lovelace"))
        self.assertEqual(user["properties"], {"level": 3, "theme": "dark"})
        self.assertEqual(self.client.read_user(), user)
        over = {f"k{n}": n for n in range(99)}
        for wrong, status, words in [
            ({"name": "x" * 301, "properties": {"a": 1}}, 422, "in name: "),
            ({"first_name": 1}, 422, "in first_name: "), ({"last_name": []}, 422, "in last_name: "),
            ({"name": "b", "properties": {"a": {}}}, 422, "in properties/a: "),
            ({"name": "b", "properties": {"theme": None}}, 422, "in properties/theme: "),
            ({"name": "b", "properties": 1}, 422, "in properties: "), ([], 422, "body"),
            ({"name": "b", "properties": over}, 409, "properties"),
        ]:
            with self.subTest(body=str(wrong)[:60]), self.assertRaises(APIError) as refused:
                self.client.call("PUT", path, wrong)
            self.assertEqual(refused.exception.status, status)
            self.assertIn(words, refused.exception.body["message"])
        self.assertEqual(self.client.read_user(), user)

    def test_metadata_is_the_back_ends(self):
        native = self.client.user["id"].replace("-", "")
        native = native[:12] + native[20:]
        path, body = f"/v1/users/{native}/app-metadata", {"plan": {"isPro": True, "a_b": [1, None]}}
        # The operator, a back end of the app and the command line write it.
        back_end = ["--app", "default", "scopes=update:users_app_metadata"]
        for key in [self.site.client("--operator"), self.site.client(*back_end)]:
            written = self.site.request("PUT", path, {**body, "by": key["id"]}, JSON, key["secret"])
            self.assertEqual(written.status, 200, written.body)
            self.assertEqual(self.client.read_user()["metadata"], {**body, "by": key["id"]})
        self.site.dossier("api", "PUT", path, "-", given=json.dumps(body))
        self.assertEqual(self.client.read_user()["metadata"], body)
        user = self.client.call("PUT", self.client.user_path, {"metadata": {"plan": 1}})
        self.assertEqual(user["metadata"], {"plan": {"isPro": True, "a_b": [1, None]}})
        self.assertEqual(user["properties"], {})

    def test_an_avatar_is_scaled_and_has_a_new_url_each_time(self):
        seen = set()
        for width, height, within in [(1500, 750, (1024, 512)), (1100, 1375, (819, 1024)),
                                      (1025, 1025, (1024, 1024)), (1024, 1024, (1024, 1024)),
                                      (10, 20, (10, 20)), (10, 20, (10, 20))]:
            asset = checked_asset(self.upload(png(width, height)))
            self.assertEqual((asset["size"]["width"], asset["size"]["height"]), within)
            url = urllib.parse.urlsplit(asset["url"])
            self.assertEqual(url.netloc, f"127.0.0.1:{self.site.port}")
            # The SDK reads it without credentials.
            picture = self.site.get(url.path)
            self.assertEqual((picture.status, size(picture.body)), (200, within))
            self.assertEqual(self.client.read_user()["avatar"], asset)
            seen.add(asset["url"])
        self.assertEqual(len(seen), 6)
        for _ in range(2):
            self.assertEqual(self.client.call("DELETE", f"{self.client.user_path}/avatar"), {})
            self.assertIsNone(self.client.read_user()["avatar"])

    def test_a_16_bit_picture_keeps_its_alpha_and_may_be_cached(self):
        boundary, part = "B", "\r\n--B\r\nContent-Disposition: form-data; name="
        group = f'{part}"group"\r\nContent-Type: text/plain\r\n\r\navatars'
        for depth, alpha in [(16, 0x80), (8, 0x80), (8, 0)]:
            head = f'{part}"image"; filename="image.png"\r\nContent-Type: image/png\r\n\r\n'
            body = group.encode() + head.encode() + png(40, 20, depth, alpha) + b"\r\n--B--\r\n"
            asset = checked_asset(self.client.call(
                "POST", "/users/avatar", body,
                {"Content-Type": f"multipart/form-data; boundary={boundary}"}))
            answer = self.site.get(urllib.parse.urlsplit(asset["url"]).path)
            with self.subTest(depth=depth, alpha=alpha):
                self.assertEqual(size(answer.body), (40, 20))
                self.assertEqual(alpha_of(answer.body), alpha)
                self.assertEqual(answer.headers["Cache-Control"],
                                 "public, max-age=31536000, immutable")

    def test_hostile_uploads_get_clear_errors(self):
        path = f"{self.client.base}/users/avatar"
        good, end = png(2, 2), b"\r\n--b--\r\n"
        kind = "multipart/form-data; boundary=b"
        part = b'--b\r\nContent-Disposition: form-data; name="image"\r\n\r\n'
        for body, kind, status, words in [
            (b"", kind, 400, "boundary"), (b"x", kind, 400, "boundary"),
            (part + good, kind, 400, "last boundary"),
            (part + good + end, "multipart/form-data", 400, "boundary"),
            (part + good + end, "image/png", 415, "multipart/form-data"),
            (part + good + end, "multipart/mixed; boundary=b", 415, "multipart/form-data"),
            (part + good + b"\r\n" + part + good + end, kind, 400, "same name"),
            (part + b"no picture" + end, kind, 415, "not a picture"),
            (part + end, kind, 415, "not a picture"),
            (part + b"<svg xmlns='http://www.w3.org/2000/svg'/>" + end, kind, 415, "not a picture"),
            (part + good[:60] + end, kind, 422, "truncated"),
            (part + png(20_000, 1) + end, kind, 422, "pixels"),
            (part.replace(b"image", b"other") + good + end, kind, 422, "part image"),
            (part.replace(b'; name="image"', b"") + good + end, kind, 400, "no name"),
            (part.replace(b"\r\n", b"\n") + good + end, kind, 422, "part image"),
            (part + b"x" * (10 * 1024 * 1024 + 1) + end, kind, 413, "bytes"),
            (part + b"x" * (11 * 1024 * 1024) + end, kind, 413, "bytes"),
            (b"".join(part.replace(b"image", b"part%d" % n) + b"\r\n" for n in range(9)) + end,
             kind, 400, "parts"),
            (b"--b\r\n" + b"A: b\r\n" * 5000 + b"\r\n" + end, kind, 400, "header"),
        ]:
            answer = self.site.request(
                "POST", path, body, {"Content-Type": kind}, self.client.tokens["access_token"])
            with self.subTest(body=body[:80], kind=kind):
                self.assertEqual(answer.status, status, answer.body)
                self.assertTrue(is_api_error(answer.json), answer.body)
                self.assertIn(words, answer.json["message"])
        self.assertIsNone(self.client.read_user()["avatar"])

    def test_a_deleted_user_continues_without_an_account(self):
        self.client.sign_up("delete@example.com")
        user = self.client.user
        self.assertEqual(self.client.call("DELETE", self.client.user_path), {})
        self.client.refresh = lambda: None
        self.client.log_out()
        self.assertNotEqual(self.client.user["id"], user["id"])
        self.assertFalse(self.client.challenges("delete@example.com")["exists"])

    def test_a_public_key_deletes_its_user(self):
        self.client.sign_up("public@example.com")
        made = self.site.request("POST", "/v1/me/api-keys", {"name": "k"}, JSON,
                                 self.client.tokens["access_token"])
        user, key = self.client.user, made.json["key"]
        token = self.client.public_token(user["id"], key).json["access_token"]
        self.site.sql("update sessions set authenticated_at = now() - interval '1 day'")
        answer = self.client.send(
            "DELETE", f"{self.client.base}{self.client.user_path}", token=token)
        self.assertEqual(answer.status, 204, answer.body)
        # The SDK asks for a token before the log-out, and then logs out with the last one.
        self.assertEqual(self.client.public_token(user["id"], key).status, 400)
        answer = self.client.send("POST", f"{self.client.base}/auth/logout", {}, token=token)
        checked_tokens(answer.json["anonymous_token"])

    def test_an_old_login_deletes_the_user(self):
        # The SDK cannot authenticate the user again.
        self.client.sign_up("old@example.com")
        self.site.sql("update sessions set authenticated_at = now() - interval '1 day', "
                      "created_at = now() - interval '1 day'")
        self.assertEqual(self.client.call("DELETE", self.client.user_path), {})
        self.assertFalse(self.client.challenges("old@example.com")["exists"])

    def test_an_old_login_of_the_native_api_deletes_no_user(self):
        grant = self.register("native@example.com").json
        self.client.tokens = {"access_token": grant["access_token"]}
        self.client.user = self.client.call("GET", "/auth/user-info")["user"]
        self.site.sql("update sessions set authenticated_at = now() - interval '1 day', "
                      "created_at = now() - interval '1 day'")
        answer = self.client.send("DELETE", f"{self.client.base}{self.client.user_path}",
                                  token=grant["access_token"])
        self.assertEqual(answer.status, 401, answer.body)
        self.assertTrue(is_api_error(answer.json), answer.body)
        self.assertTrue(self.client.challenges("native@example.com")["exists"])


if __name__ == "__main__":
    unittest.main()
