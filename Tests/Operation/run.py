#!/usr/bin/python3 -B
"""Runs the tests of operation, or those whose inputs have changed since they last passed.

usage: run.py [--changed] [--until TIME] [--list] [MODULE...]

`passed` has a line for each module: the checksum of its inputs at the last pass, and the seconds that it
took. A pass writes it; commit it. With --until, in seconds since 1970, a module starts only if it should
end by then. A module that has never passed takes an unknown time, and does not start then. The last lines
name the modules that were left out, and those whose tests were all skipped.
"""

import argparse
import hashlib
import pathlib
import subprocess
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PASSED = HERE / "passed"
PROGRAMS = ["Sources", "Package.swift"]
COMMON = ["Tests/EndToEnd/deployment.py", "Tests/EndToEnd/cluster.py", "Tests/EndToEnd/machine.py"]
CITUS = [*PROGRAMS, *COMMON, "migrations", "Tests/Operation/distributed.py",
         "Tests/Operation/in_doubt.py", "Tests/Operation/spanning.py"]
DEBIAN = ["deploy", "migrations", *PROGRAMS, "Tests/Operation/debian.py", "Tests/Operation/guide.py"]
# The inputs of each module beside itself. First come those whose inputs are the guide and deploy/.
INPUTS = {
    "test_guide": [*DEBIAN, "Tests/Operation/guide_repairs.py"],
    "test_package": DEBIAN,
    "test_unattended": DEBIAN,
    "test_release": ["README.md", ".github/CHANGELOG.md", "Tests/Operation/engine.py", "Tests/Operation/older.py",
                     "Tests/Operation/first_minute.py", "Tests/EndToEnd/browser.py", *DEBIAN, *COMMON],
    "test_start": ["README.md", "deploy", *PROGRAMS, "Tests/Operation/first_minute.py",
                   "Tests/EndToEnd/browser.py", *COMMON],
    "test_three_hosts": [*DEBIAN, "Tests/Operation/guide_repairs.py", "Tests/Operation/hosts.py"],
    "test_backup": ["deploy/backup", "deploy/README.md", *COMMON],
    "test_restore": [*PROGRAMS, "migrations", *COMMON],
    "test_upgrade": [*PROGRAMS, "migrations", "deploy/releases", "Tests/Operation/older.py", *COMMON],
    "test_postgresql": [*PROGRAMS, "migrations", "deploy/README.md", "Tests/Operation/guide.py", *COMMON],
    "test_failover": [*PROGRAMS, *COMMON],
    "test_high_availability": [*PROGRAMS, "deploy/ha", "Tests/Operation/high_availability.py", *COMMON],
    "test_hosts": [*CITUS, "Tests/Operation/hosts.py"],
    "test_two_phases": CITUS,
    "test_distributed": CITUS,
    "test_feed": CITUS,
}
# The seconds of a module whose time is unknown.
UNKNOWN = float("inf")


def checksum(module):
    """Returns the checksum of the inputs of a module."""
    inputs = [f"Tests/Operation/{module}.py", "Tests/Operation/writing.py", *INPUTS[module]]
    files = set()
    for path in inputs:
        path = ROOT / path
        if not path.exists():
            sys.exit(f"error: {path}, an input of {module}, does not exist")
        files |= {file for file in path.rglob("*") if file.is_file()} if path.is_dir() else {path}
    total = hashlib.sha256()
    for file in sorted(files):
        if "__pycache__" not in file.parts:
            total.update(f"{file.relative_to(ROOT)}\0".encode())
            total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def recorded():
    """Returns what each module had at its last pass: the checksum and the seconds."""
    if not PASSED.exists():
        return {}
    rows = (line.split() for line in PASSED.read_text().splitlines() if line)
    return {module: (total, int(seconds)) for module, total, seconds in rows}


def select(changed, until, now, last, sums):
    """Returns the modules to run, in order, and those that would not end in time.

    `sums` has the checksum of each module. Those that take the least time come first.
    """
    wanted = [module for module, total in sums.items()
              if not changed or last.get(module, ("", 0))[0] != total]
    wanted.sort(key=lambda module: last.get(module, ("", UNKNOWN))[1])
    chosen, late = [], []
    for module in wanted:
        seconds = last.get(module, ("", UNKNOWN))[1]
        if until is None or now + seconds <= until:
            chosen.append(module)
            now += seconds
        else:
            late.append(module)
    return chosen, late


def run_here(module):
    """Runs a module in this process, and ends it with 0, 1 after a failure, or 5 if it ran no test."""
    sys.path[:0] = [str(HERE), str(ROOT / "Tests/EndToEnd")]
    from skipped import report
    tests = unittest.defaultTestLoader.loadTestsFromName(module)
    result = unittest.TextTestRunner(verbosity=2).run(tests)
    report(result)
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(5 if len(result.skipped) >= result.testsRun else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("--until", type=int)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--here", metavar="MODULE", help=argparse.SUPPRESS)
    parser.add_argument("modules", nargs="*")
    options = parser.parse_args()
    if options.here:
        run_here(options.here)
    if {file.stem for file in HERE.glob("test_*.py")} != set(INPUTS):
        sys.exit("error: INPUTS in Tests/Operation/run.py does not name each module")
    if unknown := set(options.modules) - set(INPUTS):
        sys.exit("error: there is no " + ", ".join(unknown))
    last = recorded()
    sums = {module: checksum(module) for module in options.modules or INPUTS}
    chosen, late = select(options.changed, options.until, time.time(), last, sums)
    if options.list:
        print(*chosen, sep="\n")
        return
    failed, skipped = [], []
    for module in chosen:
        # The modules before may have taken longer than at their last pass.
        if options.until and time.time() + last.get(module, ("", UNKNOWN))[1] > options.until:
            late.append(module)
            continue
        print(f"==> operation: {module}", file=sys.stderr, flush=True)
        begun = time.monotonic()
        status = subprocess.run([sys.executable, "-B", str(pathlib.Path(__file__).resolve()), "--here", module], cwd=HERE).returncode
        if status == 0:
            last[module] = sums[module], round(time.monotonic() - begun) + 1
            rows = (f"{name} {total} {seconds}\n" for name, (total, seconds) in sorted(last.items()))
            PASSED.write_text("".join(rows))
        else:
            (skipped if status == 5 else failed).append(module)
    for module in late:
        print(f"left out, no time or no known time: {module} (run Tests/Operation/run.py {module})")
    for module in skipped:
        print(f"all tests skipped: {module}")
    if failed:
        sys.exit("failed: " + " ".join(failed))


if __name__ == "__main__":
    main()
