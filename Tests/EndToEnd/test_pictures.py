"""Pictures: uploads, delivery, replacement and errors."""

import os
import re
import struct
import unittest
import zlib

from cases import Case, in_parallel
from deployment import Deployment


def png(width, height, rows=None, noise=False):
    """Returns a grey picture, or noise that does not compress. `rows` truncates it."""
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    lines = zlib.compress(b"".join(
        b"\0" + (os.urandom(width) if noise else b"\x80" * width)
        for _ in range(height if rows is None else rows)))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", lines) + chunk(b"IEND", b""))


class Pictures(Case):
    def setUp(self):
        self.token = self.site.login()["access_token"]

    def upload(self, file, kind="image/png", token=None):
        return self.site.request(
            "PUT", "/v1/me/picture", file, {"Content-Type": kind}, token or self.token)

    def shown(self):
        return self.site.get("/v1/me", token=self.token).json["picture"]

    def test_a_picture_is_scaled_served_replaced_and_removed(self):
        answer = self.expect(self.upload(png(2000, 1000)), 200)
        path = answer.json["picture"]
        self.assertRegex(path, r"^/v1/pictures/[0-9a-f]{24}-[\w-]{22}-\d+x\d+\.(jpg|png)$")
        self.assertEqual(self.shown(), path)
        picture = self.expect(self.site.get(path), 200)
        self.assertEqual(picture.headers["Content-Type"], "image/jpeg")
        self.assertIn("immutable", picture.headers["Cache-Control"])
        self.assertEqual(picture.headers["X-Content-Type-Options"], "nosniff")
        self.assertEqual(self.size(picture.body), (1024, 512))
        second = self.expect(self.upload(png(30, 20), "image/jpeg"), 200).json["picture"]
        self.assertNotEqual(second, path)
        self.assertEqual(self.size(self.site.get(second).body), (30, 20))
        self.expect(self.site.get(path), 404)
        self.expect(self.site.request("DELETE", "/v1/me/picture", token=self.token), 204)
        self.assertIsNone(self.shown())
        self.expect(self.site.get(second), 404)
        self.expect(self.site.request("DELETE", "/v1/me/picture", token=self.token), 204)

    def size(self, jpeg):
        """Returns the size of a JPEG from its frame header."""
        found = re.search(rb"\xff[\xc0\xc2]\x00.\x08(....)", jpeg, re.S)
        height, width = struct.unpack(">HH", found.group(1))
        return width, height

    def test_a_refused_upload_keeps_the_old_picture(self):
        path = self.expect(self.upload(png(10, 10)), 200).json["picture"]
        whole = png(600, 600)
        for file, status, code in [
            (b"", 415, "picture_type"), (b"GIF89a" + b"x" * 100, 422, "picture_damaged"),
            (b"BM" + b"x" * 100, 415, "picture_type"),
            (b"<svg xmlns='http://www.w3.org/2000/svg'/>", 415, "picture_type"),
            (whole[:len(whole) // 2], 422, "picture_truncated"),
            (whole[:60] + b"xxxx" + whole[64:], 422, "picture_damaged"),
            (png(30_000, 30_000, 1), 422, "picture_pixels"),
            (b"\x89PNG" + os.urandom(10 * 1024 * 1024), 413, "body_too_large"),
        ]:
            with self.subTest(code=code, size=len(file)):
                self.expect(self.upload(file), status, code)
                self.assertEqual(self.shown(), path)
                self.expect(self.site.get(path), 200)
        refused = self.expect(self.upload(png(10, 10), "image/bmp"), 415, "media_type")
        self.assertNotIn("UTF-8", refused.json["detail"])
        # Clients that do not know the type send application/octet-stream.
        self.expect(self.upload(png(10, 10), "application/octet-stream"), 200)
        self.expect(self.upload(png(10, 10), "application/json"), 415, "media_type")

    def test_every_picture_route_accepts_large_files(self):
        user = self.site.get("/v1/me", token=self.token).json["id"]
        program = self.site.client("--app", "default", "scopes=update:users")["secret"]
        for path, token in [("/v1/me/picture", self.token), (f"/v1/users/{user}/picture", program)]:
            def upload(file):
                return self.site.request("PUT", path, file, {"Content-Type": "image/png"}, token)

            with self.subTest(path=path):
                large = png(1600, 1600, noise=True)
                # More than nginx accepts on other routes.
                self.expect(self.site.request(
                    "PUT", "/v1/me/metadata", large, {"Content-Type": "application/json"},
                    self.token), 413, "body_too_large")
                shown = self.expect(upload(large), 200).json["picture"]
                self.assertEqual(self.size(self.site.get(shown).body), (1024, 1024))
                refused = self.expect(upload(bytes(10 * 1024 * 1024 + 1)), 413, "body_too_large")
                self.assertEqual(refused.json["limit"], 10 * 1024 * 1024)

    def test_too_many_uploads_are_refused_without_delaying_profiles(self):
        file = png(3000, 3000)
        tokens = [self.site.login()["access_token"] for _ in range(32)]
        answers = in_parallel(32, lambda i: (
            self.upload(file, token=tokens[i]).status, self.site.get("/v1/me", token=tokens[i]).status))
        # All requests have one network. Requests beyond its share must be repeated later.
        statuses = {status for status, _ in answers}
        self.assertTrue(200 in statuses and statuses <= {200, 429, 503}, answers)
        self.assertEqual({status for _, status in answers}, {200})
        self.expect(self.upload(file), 200)

    def test_invalid_picture_urls(self):
        user = self.site.login()["user_id"]
        for name in ["x", f"{user}-AAAAAAAAAAAAAAAAAAAAAA.jpg", "..%2F..%2Fetc%2Fpasswd",
                     f"{user}%00.jpg", "x" * 5000]:
            answer = self.site.get(f"/v1/pictures/{name}")
            self.assertIn(answer.status, (400, 404), name)


class PicturesInAFolder(Case):
    @classmethod
    def setUpClass(cls):
        cls.site = Deployment(picture_folder=True)

    def test_nginx_serves_pictures_from_the_folder(self):
        token = self.site.login()["access_token"]

        def upload(file):
            return self.site.request(
                "PUT", "/v1/me/picture", file, {"Content-Type": "image/png"}, token)

        first = self.expect(upload(png(40, 40)), 200).json["picture"]
        answer = self.expect(self.site.get(first), 200)
        self.assertEqual(answer.headers["Content-Type"], "image/jpeg")
        self.assertIn("immutable", answer.headers["Cache-Control"])
        self.assertEqual(self.site.sql("select count(*) from pictures where body is not null"), "0")
        second = self.expect(upload(png(50, 50)), 200).json["picture"]
        self.expect(self.site.get(first), 404)
        self.expect(upload(b"nothing"), 415)
        self.expect(self.site.get(second), 200)
        self.assertEqual(len(list(self.site.pictures.iterdir())), 1)
        self.expect(self.site.request("DELETE", "/v1/me", token=token), 204)
        self.expect(self.site.get(second), 404)
        self.assertEqual(list(self.site.pictures.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
