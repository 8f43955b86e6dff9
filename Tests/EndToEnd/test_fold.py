"""The fold of addresses and names, which must be the same on each version and build of PostgreSQL."""

import unittest

from cases import Case

# MD5 of the folds of all characters: alone, and between marks and before a capital sigma.
ALONE, AMONG_MARKS = "431ba56c1564b79c675f3a573c34b75a", "a38f5007dc7eb2ebb50bcd0903b3db47"

CHARACTERS = "generate_series(1, 1114111) c where c not between 55296 and 57343"

FOLDS = [
    ("Ada@Example.COM", "ada@example.com"), ("ÀÉÎÕÜ ẞ", "àéîõü ß"), ("ΌΔΥΣΣΕΎΣ ΑΣ.Β Σ", "όδυσσεύς ασ.β σ"),
    ("ЖУК Ѣ", "жук ѣ"), ("İI", "i̇i"), ("ＡＢＣ１", "abc1"), ("ﬃ ① Ⅷ", "ffi 1 viii"), ("A\u030a", "å"),
    ("ႠᲐᎠ", "ⴀაꭰ"), ("𐐀", "𐐨"), ("東京 ひらがな", "東京 ひらがな"), ("", ""),
    # Only later versions of PostgreSQL know that this letter stands for A.
    ("\U0001ccd6Ä", "\U0001ccd6ä"),
]


class Fold(Case):
    def test_all_characters_have_the_same_fold_on_each_version(self):
        for text, digest in [("chr(c)", ALONE), ("'a' || chr(856) || chr(c) || chr(820) || chr(931)", AMONG_MARKS)]:
            with self.subTest(text):
                folded = f"select md5(string_agg(fold_text({text}), '' order by c)) from {CHARACTERS}"
                self.assertEqual(self.site.sql(folded), digest)

    def test_examples(self):
        for text, folded in FOLDS:
            with self.subTest(text):
                self.assertEqual(self.site.sql(f"select fold_text('{text}')"), folded)
                self.assertEqual(self.site.sql(f"select fold_text('{folded}')"), folded)

    def test_no_object_needs_a_collation_that_a_build_may_lack(self):
        used = self.site.sql(
            "select distinct collname from pg_depend join pg_collation c on c.oid = refobjid "
            "where refclassid = 'pg_collation'::regclass "
            "union select distinct collname from pg_attribute join pg_class r on r.oid = attrelid "
            "join pg_collation c on c.oid = attcollation where relnamespace = 'public'::regnamespace "
            "order by 1")
        self.assertEqual(used.split(), ["C", "default"])


if __name__ == "__main__":
    unittest.main()
