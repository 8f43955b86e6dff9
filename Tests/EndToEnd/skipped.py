"""The reasons of skipped tests, for .ci/run, which accepts only those of a list."""

import os
import pathlib


def report(result):
    """Adds the skipped tests of a result to the file that DOSSIER_TEST_SKIPPED names."""
    path = os.environ.get("DOSSIER_TEST_SKIPPED")
    if path and result.skipped:
        # One write for each line, since several classes run at once.
        with open(path, "a", buffering=1) as file:
            for test, reason in result.skipped:
                file.write(f"{test.id()}\t{reason}\n")
