"""Tests that a page of another origin can read errors of every kind, and pictures."""

import unittest

from web import WebCase


class Answers(WebCase):
    def test_pages_can_read_errors_of_dossier_and_nginx(self):
        """Without CORS headers on errors, a wrong path looked like a wrong origin."""
        self.browser.open(f"{self.pages.origin}/dossier.d.ts")
        found = self.run_script("""
            await dossier.signInAnonymously();
            const large = new Blob([new Uint8Array(11 * 1024 * 1024)], { type: "image/png" });
            return [
              await code(dossier.request("GET", "/v1/nothing")),
              await code(dossier.request("GET", "/nothing")),
              await code(dossier.request("GET", "/v1/logout")),
              await code(dossier.request("PUT", "/v1/logout", { body: {} })),
              await code(dossier.setPicture(large)),
              await code(new Dossier(server, { app: "nobody" }).signInAnonymously()),
              await code(dossier.request("PUT", "/v1/me/metadata", { body: [] })),
            ];
            """)
        # nginx itself refuses the large picture.
        self.assertEqual(found, [
            "route_not_found", "route_not_found", "method_not_allowed", "method_not_allowed",
            "body_too_large", "app_not_found", "validation_failed"])

    def test_a_displayed_picture_can_be_fetched_and_drawn(self):
        """The browser caches it with the headers of the first request, which had no origin."""
        self.browser.open(f"{self.pages.origin}/dossier.d.ts")
        found = self.run_script("""
            await dossier.signInAnonymously();
            const canvas = document.createElement("canvas");
            const file = await new Promise((give) => canvas.toBlob(give));
            const url = dossier.pictureURL(await dossier.setPicture(file));
            const show = async (crossOrigin) => {
              const image = new Image();
              if (crossOrigin) image.crossOrigin = crossOrigin;
              image.src = url;
              await image.decode();
              return image;
            };
            await show(null);
            const fetched = await fetch(url).then((answer) => answer.status);
            const context = canvas.getContext("2d");
            context.drawImage(await show("anonymous"), 0, 0);
            return [fetched, context.getImageData(0, 0, 1, 1).data.length];
            """)
        self.assertEqual(found, [200, 4])
        self.quiet()


if __name__ == "__main__":
    unittest.main()
