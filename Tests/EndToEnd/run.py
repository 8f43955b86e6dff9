#!/usr/bin/python3 -B
"""Runs the tests, several classes at a time: each class has deployments of its own.

usage: run.py [--jobs N] [--report FILE] [--citus] [--postgresql DIR] [--pooler KIND]
              [--shuffle SEED] [MODULE[.CLASS]...]

With --citus, each deployment has a database that is distributed over two nodes of Citus, which must
be installed. With --postgresql, they run on the PostgreSQL whose programs are in DIR. With
--pooler, dossierd connects through PgBouncer; KIND is the value of its setting. With --shuffle, the tests of a class run in an order that follows from the seed. The
output of a class is printed when the class ends. The last line counts the tests that passed and
failed. The report has both numbers, and the classes with failures. Beside it, FILE.failed has the ends
of their outputs.
"""

import argparse
import os
import pathlib
import random
import sys
import tempfile
import time
import unittest

from skipped import report

HERE = pathlib.Path(__file__).resolve().parent
# How many lines of the output of a failed class the report has.
LINES = 100


def flattened(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flattened(test)
        else:
            yield test


def classes(names):
    """Returns the classes with tests as `module.Class`, in the order in which they start.

    `LONG` classes and classes with the most tests start first, so that none runs alone at the end.
    """
    loader = unittest.TestLoader()
    if names:
        suite = loader.loadTestsFromNames(names)
    else:
        suite = loader.discover(str(HERE), pattern="test_*.py")
    if loader.errors:
        sys.exit("\n".join(loader.errors))
    ranks = {}
    for test in flattened(suite):
        name = f"{type(test).__module__}.{type(test).__qualname__}"
        _, count = ranks.get(name, (False, 0))
        ranks[name] = getattr(test, "LONG", False), count + 1
    return sorted(ranks, key=ranks.get, reverse=True)


def run_class(name, seed):
    """Runs a class, and writes its output to stderr. Returns the numbers of passed and failed tests."""
    suite = unittest.TestLoader().loadTestsFromName(name)
    if seed is not None:
        tests = list(suite)
        random.Random(seed).shuffle(tests)
        suite = unittest.TestSuite(tests)
    result = unittest.TextTestRunner(stream=sys.stderr, verbosity=2).run(suite)
    report(result)
    # A test with faults in several parts failed once; a class that could not start failed as one.
    faulty = {getattr(test, "test_case", test).id() for test, _ in result.failures + result.errors}
    faulty |= {test.id() for test in result.unexpectedSuccesses}
    failed = len(faulty)
    started = sum(not name.startswith(("setUp", "tearDown")) for name in faulty)
    return result.testsRun - started, failed


class Run:
    """A class of tests in a process of its own."""

    def __init__(self, name, seed):
        self.name = name
        self.start = time.monotonic()
        # Files, since processes that remain would keep a pipe open.
        self.numbers, self.said = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        # The new process need not import the modules again.
        self.process = os.fork()
        if self.process == 0:
            os.dup2(self.said.fileno(), 1)
            os.dup2(self.said.fileno(), 2)
            print(*run_class(name, seed), file=self.numbers, flush=True)
            sys.exit()

    def end(self, status):
        """Returns the numbers of passed and failed tests, and the output."""
        self.numbers.seek(0)
        self.said.seek(0)
        passed, failed = map(int, self.numbers.read().split()) if status == 0 else (0, 1)
        return passed, failed, self.said.read()


def main():
    parser = argparse.ArgumentParser()
    # A class waits more than half of its time.
    parser.add_argument("--jobs", type=int, default=min(8, (os.cpu_count() or 1) * 2 + 1))
    parser.add_argument("--report", type=os.path.abspath)
    parser.add_argument("--citus", action="store_true")
    parser.add_argument("--postgresql", metavar="DIR", type=os.path.abspath)
    parser.add_argument("--pooler", choices=["prepared", "unprepared"])
    parser.add_argument("--shuffle", metavar="SEED")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    os.chdir(HERE)
    sys.path.insert(0, str(HERE))
    if options.postgresql:
        os.environ["DOSSIER_TEST_POSTGRESQL"] = options.postgresql
    if options.pooler:
        os.environ["DOSSIER_TEST_POOLER"] = options.pooler
    from cluster import CITUS, TEMPLATE, template
    if options.citus:
        os.environ[CITUS] = "1"
    os.environ[TEMPLATE] = str(template(options.citus))
    passed = failed = 0
    broken, faults = [], []
    names, runs = classes(options.names), {}
    while names or runs:
        while names and len(runs) < options.jobs:
            run = Run(names.pop(0), options.shuffle)
            runs[run.process] = run
        process, status = os.wait()
        run = runs.pop(process, None)
        if run is None:
            # A process that a test left behind, if this one adopts such.
            continue
        good, bad, said = run.end(status)
        passed, failed = passed + good, failed + bad
        if bad:
            broken.append(run.name)
            faults += [f"=== {run.name}", *said.splitlines()[-LINES:]]
        seconds = time.monotonic() - run.start
        print(f"=== {run.name}: {good} passed, {bad} failed, {seconds:.0f} s\n{said}", flush=True)
    if broken:
        print("failed in:", *broken)
    if options.report:
        names = " ".join(sorted(broken))
        pathlib.Path(options.report).write_text(f"{passed} {failed} {names}\n")
        pathlib.Path(f"{options.report}.failed").write_text("".join(f"{line}\n" for line in faults))
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
