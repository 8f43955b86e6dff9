"""The tests of operation that .ci/run selects, and the skipped tests that it accepts."""

import importlib.util
import os
import pathlib
import subprocess
import tempfile
import unittest
from unittest import mock

import skipped
from machine import ROOT


def operation():
    """Returns Tests/Operation/run.py as a module."""
    spec = importlib.util.spec_from_file_location("operation", ROOT / "Tests/Operation/run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Operation(unittest.TestCase):
    def setUp(self):
        self.run = operation()

    def test_each_module_is_listed(self):
        listed = subprocess.run([ROOT / "Tests/Operation/run.py", "--list"], capture_output=True,
                                text=True, check=True).stdout.split()
        self.assertEqual(set(listed), {path.stem for path in (ROOT / "Tests/Operation").glob("test_*.py")})

    def test_changed_modules_run_as_far_as_they_fit(self):
        last = {"same": ("1", 10), "long": ("2", 1000), "short": ("3", 100)}
        sums = {"same": "1", "long": "changed", "new": "4", "short": "changed"}
        select = lambda changed, until: self.run.select(changed, until, 5000, last, sums)  # noqa: E731
        self.assertEqual(select(True, None), (["short", "long", "new"], []))
        self.assertEqual(select(True, 6099), (["short"], ["long", "new"]))
        self.assertEqual(select(True, 6100), (["short", "long"], ["new"]))
        self.assertEqual(select(True, 5099), ([], ["short", "long", "new"]))
        self.assertEqual(select(False, None), (["same", "short", "long", "new"], []))

    def test_a_change_of_an_input_changes_the_checksum(self):
        with tempfile.TemporaryDirectory() as folder:
            self.run.ROOT = pathlib.Path(folder)
            self.run.INPUTS = {"test_it": ["deploy", "guide.md"]}
            for path in ["Tests/Operation/test_it.py", "Tests/Operation/writing.py", "deploy/a/b",
                         "guide.md", "other"]:
                (self.run.ROOT / path).parent.mkdir(parents=True, exist_ok=True)
                (self.run.ROOT / path).write_text("1")
            sums = [self.run.checksum("test_it")]
            for path in ["Tests/Operation/test_it.py", "deploy/a/b", "guide.md"]:
                (self.run.ROOT / path).write_text("2")
                sums.append(self.run.checksum("test_it"))
            self.assertEqual(len(set(sums)), 4)
            (self.run.ROOT / "other").write_text("2")
            self.assertEqual(self.run.checksum("test_it"), sums[-1])


class Skipped(unittest.TestCase):
    class One(unittest.TestCase):
        @unittest.skip("Citus is not installed")
        def test_one(self):
            pass

        def test_another(self):
            self.skipTest("the weather")

    class Whole(unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            raise unittest.SkipTest("no machine")

        def test_one(self):
            pass

    def test_a_skipped_test_needs_an_allowed_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "skipped")
            result = unittest.TestResult()
            for case in [self.One, self.Whole]:
                unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
            with mock.patch.dict(os.environ, DOSSIER_TEST_SKIPPED=str(path)):
                skipped.report(result)
            run = subprocess.run([ROOT / ".ci/skipped", path], capture_output=True, text=True)
            self.assertEqual(run.returncode, 1)
            self.assertEqual(sorted(line.split("(")[-1] for line in run.stdout.splitlines()),
                             ["no machine)", "the weather)"])
            path.write_text("a test\tCitus is not installed\n")
            self.assertEqual(subprocess.run([ROOT / ".ci/skipped", path]).returncode, 0)
            # A reason is required.
            path.write_text("a test\t\n")
            self.assertEqual(
                subprocess.run([ROOT / ".ci/skipped", path], stdout=subprocess.DEVNULL).returncode, 1)


if __name__ == "__main__":
    unittest.main()
