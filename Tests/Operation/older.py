"""The older version from which the upgrade test starts."""

import hashlib
import os
import pathlib
import re
import subprocess

from machine import functions
from writing import ROOT


def git(*words):
    return subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", *words], cwd=ROOT, check=True, text=True,
        capture_output=True).stdout


def version():
    """Returns the commit of the last release, else the oldest commit that can be upgraded from.

    Without a release, files of migrations may still change. So that commit is the oldest from which
    on all commits have only files that are here unchanged, or that name the former text.
    """
    if commits := released():
        return commits[-1]
    present = migrations("HEAD")
    found = None
    for commit in git("rev-list", "--first-parent", "HEAD").split():
        if not all(is_known(*file, present) for file in migrations(commit).items()):
            break
        found = commit
    return found


def is_known(name, content, present):
    """Returns whether a file is unchanged, or the present one names its text as a former one."""
    if present.get(name) == content:
        return True
    parts = re.split("^-- migrate: (?:up|down)\n", git("cat-file", "blob", content), flags=re.MULTILINE)
    # The reader of migrations ends each line, also the empty one at the end.
    former = hashlib.sha256(("".join(parts[1:]) + "\n").encode()).hexdigest()
    return name in present and f"-- migrate: formerly {former}\n" in git("cat-file", "blob", present[name])


def released():
    """Returns the commits of the releases, which `deploy/release` records."""
    lines = (ROOT / "deploy/releases").read_text().splitlines()
    return [line.split()[1] for line in lines if line and not line.startswith("#")]


def migrations(commit):
    """Returns the files of migrations of a commit, each with the hash of its content."""
    lines = git("ls-tree", commit, "migrations/").splitlines()
    files = [(line.split("\t")[1], line.split()[2]) for line in lines]
    return {name: content for name, content in files if name.split("/")[1][0].isdigit()}


class OlderVersion:
    """A version in a folder of its own, which is built once."""

    def __init__(self, name):
        self.name = name
        commit = git("rev-parse", f"{name}^{{commit}}").strip()
        self.folder = pathlib.Path(os.environ.get("DOSSIER_TEST_OLDER", ROOT / ".build/older")) / commit
        self.programs = self.folder / ".build/debug"
        self.migrations = self.folder / "migrations"
        if not self.migrations.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            archive = subprocess.run(
                ["git", "-c", f"safe.directory={ROOT}", "archive", commit], cwd=ROOT, check=True,
                capture_output=True).stdout
            subprocess.run(["tar", "-x"], cwd=self.folder, input=archive, check=True)
        # Earlier versions had a file for each program.
        manifest = (self.folder / "Package.swift").read_text()
        products = re.findall(r'\.executableTarget\(\s*name: "(dossier(?!-fuzz)[\w-]*)"', manifest)
        for product in products:
            # Exits at once if the product is built.
            subprocess.run(
                ["swift", "build", "--product", product], cwd=self.folder, check=True,
                stdout=subprocess.DEVNULL)
        if "dossierd" not in products:
            functions('link_programs "$1"', self.programs, check=True)
