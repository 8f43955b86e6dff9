"""Pages of other origins at the client API of App Services: without CORS on an error, a page sees
nothing but that something failed."""

import unittest

from app_services import PREFIX, Recording
from asking import JSON

PAGE = "https://shop.example.test"
ORIGIN = {"Origin": PAGE}


class Origins(Recording):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(cls.name, allowed_origins=[PAGE])

    def assertReadable(self, answer, *about):
        headers = answer.headers
        self.assertEqual(headers["Access-Control-Allow-Origin"], PAGE, (answer.status, *about))
        self.assertEqual(headers["Access-Control-Allow-Credentials"], "true")
        self.assertIn("Origin", headers["Vary"])
        exposed = headers["Access-Control-Expose-Headers"].lower()
        for name in ["retry-after", "x-request-id"]:
            self.assertIn(name, exposed)

    def test_pages_can_read_responses_for_an_unknown_app(self):
        for authorization in [None, "", "Bearer", "Bearer null", "Bearer opaque", "Bearer a.b.c"]:
            headers = {**ORIGIN, **({} if authorization is None else
                                    {"Authorization": authorization})}
            for method, path in [("GET", "profile"), ("POST", "session"), ("DELETE", "session"),
                                 ("GET", "api_keys"), ("DELETE", "delete")]:
                answer = self.ask(method, f"{PREFIX}/auth/{path}", headers=headers)
                self.assertEqual(answer.status, 401, (authorization, path))
                self.assertReadable(answer, authorization, path)
        for path in ["/app/shop-nobody/location", "/app/shop-nobody/nothing", "/nothing", ""]:
            answer = self.ask("GET", f"{PREFIX}{path}", headers=ORIGIN)
            self.assertEqual(answer.status, 404, path)
            self.assertReadable(answer, path)
        answer = self.ask("POST", f"{PREFIX}/app/shop-nobody/auth/providers/anon-user/login",
                          {}, {**JSON, **ORIGIN})
        self.assertEqual(answer.status, 404)
        self.assertReadable(answer)

    def test_a_page_of_an_unknown_origin_reads_nothing(self):
        other = {"Origin": "https://mallory.example.test"}
        for path in [f"{PREFIX}/auth/profile", self.path("/location"), f"{PREFIX}/nothing",
                     f"{PREFIX}/app/shop-nobody/location"]:
            answer = self.ask("GET", path, headers=other)
            self.assertIsNone(answer.headers["Access-Control-Allow-Origin"], path)
            answer = self.ask("OPTIONS", path, headers=other)
            self.assertEqual(answer.status, 204)
            self.assertIsNone(answer.headers["Access-Control-Allow-Origin"], path)

    def test_a_page_of_another_app_reads_nothing(self):
        """Where an app was found, its own origins count and no other's."""
        self.site.add_app("shop-alone")
        answer = self.ask("GET", f"{PREFIX}/app/shop-alone/location", headers=ORIGIN)
        self.assertEqual(answer.status, 200)
        self.assertIsNone(answer.headers["Access-Control-Allow-Origin"])
        # A successful response without an app cannot be read either.
        answer = self.ask("GET", "/openapi.json", headers={**ORIGIN, "Dossier-App": "shop-alone"})
        self.assertIsNone(answer.headers["Access-Control-Allow-Origin"])

    def test_preflights(self):
        asked = {**ORIGIN, "Access-Control-Request-Method": "DELETE",
                 "Access-Control-Request-Headers": "authorization,content-type,accept"}
        paths = ["/nothing", "", "/app/shop-nobody/location", "/app/shop-nobody/nothing",
                 "/auth/api_keys/x/nothing", "/auth/session", "/auth/delete", "/auth/api_keys/x",
                 f"/app/{self.name}/push/providers/gcm/registration"]
        for path in paths:
            answer = self.ask("OPTIONS", PREFIX + path, headers=asked)
            self.assertAnswer(answer, 204, None)
            self.assertReadable(answer, path)
            # Any method is allowed, so that the page can read the 405.
            self.assertIn("DELETE", answer.headers["Access-Control-Allow-Methods"])
            allowed = answer.headers["Access-Control-Allow-Headers"].lower()
            for name in ["authorization", "content-type", "accept"]:
                self.assertIn(name, allowed)

    def test_pages_can_read_the_errors_of_nginx(self):
        long = {**ORIGIN, "Authorization": "Bearer " + "x" * 17_000}
        for status, answer in [
                (413, self.ask("POST", self.path("/functions/call"), b"x" * 1_048_577,
                               {**JSON, **ORIGIN})),
                (431, self.ask("GET", f"{PREFIX}/auth/profile", headers=long)),
                (405, self.ask("TRACE", self.path("/location"), headers=ORIGIN)),
                (405, self.ask("PATCH", self.path("/location"), headers=ORIGIN)),
                (404, self.ask("GET", "/api/client", headers=ORIGIN)),
                (404, self.ask("POST", "//api/client", b"", ORIGIN))]:
            self.assertEqual(answer.status, status, answer.body)
            self.assertEqual(answer.headers["Content-Type"], "application/json")
            self.assertReadable(answer, status)


if __name__ == "__main__":
    unittest.main()
