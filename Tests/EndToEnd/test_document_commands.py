"""The commands by which the operator edits metadata."""

import unittest

from openid import OpenIDCase


class Documents(OpenIDCase):
    """The commands by which the operator edits metadata."""

    def test_documents_are_shown_changed_and_replaced(self):
        email, user = self.user()

        def document(kind, *words, **options):
            return self.site.dossier("user", "document", email, kind, *words, **options)

        self.assertEqual(document("metadata"), {})
        self.assertEqual(document("metadata", "theme=dark", 'size={"a": 1.50}', 'number="1"'),
                         {"theme": "dark", "size": {"a": 1.5}, "number": "1"})
        self.assertEqual(document("metadata", "theme=null", "ready=true", "text=a=b"),
                         {"size": {"a": 1.5}, "number": "1", "ready": True, "text": "a=b"})
        self.assertEqual(document("app-metadata", "--from", "-", given='{"plan": "pro"}'),
                         {"plan": "pro"})
        self.assertEqual(document("app-metadata"), {"plan": "pro"})
        self.assertEqual(document("metadata", "--from", "-", given="{}"), {})
        self.assertEqual(document("metadata"), {})
        for words, given, status in [
                (["theme"], "", 64), (["--from", "-", "a=1"], "{}", 64), (["--from", "-"], "{", 12),
                (["--if-version", "99", "a=1"], "", 13)]:
            run = document("metadata", *words, given=given, check=False)
            self.assertEqual((run.returncode, run.stdout), (status, ""), (words, run.stderr))
            self.assertTrue(run.stderr)


if __name__ == "__main__":
    unittest.main()
