"""The npm package of the client: its files, its types, and its use in programs without a page."""

import gzip
import json
import os
import pathlib
import re
import subprocess
import tarfile
import tempfile
import unittest

from cases import Case
from machine import ROOT

WEB = ROOT / "deploy/web"

TYPED = """
import { Dossier, type JSONPatchOperation } from "dossier";

type Settings = { theme?: "light" | "dark"; size?: { width: number; height: number }; tags?: string[] };
type Game = { level: number };
const dossier = new Dossier<Settings, Game>("https://users.example.com");
const operations: JSONPatchOperation[] = [
  { op: "add", path: "/tags/-", value: "new" }, { op: "remove", path: "/theme" },
  { op: "move", from: "/tags/0", path: "/tags/1" }, { op: "test", path: "/theme", value: null }];

export async function main() {
  const { body, version } = await dossier.metadata.read();
  const theme: "light" | "dark" | undefined = body.theme;
  const answer = await dossier.metadata.patch({ theme: null, size: { width: 1 } }, { version });
  await dossier.metadata.patch(operations);
  await dossier.customData.replace({ level: (await dossier.customData.read()).body.level + 1 });
  await dossier.changeProfile({ name: null, zone: "Europe/London" });
  // An app without types stores any object.
  await new Dossier("https://users.example.com").metadata.replace({ any: ["thing"] });
  return [theme, answer.body.size?.width];
}
"""
# Statements that must not compile, with words of the error.
REFUSED = {
    'await dossier.metadata.patch({ theme: "blue" });': '"blue"',
    'await dossier.metadata.replace({ theme: null });': "null",
    'await dossier.metadata.patch({ color: "red" });': "color",
    'await dossier.metadata.patch([{ op: "add", path: "/theme" }]);': "value",
    'await dossier.metadata.patch([{ op: "merge", path: "/theme", value: 1 }]);': '"merge"',
    'await dossier.customData.patch({ level: "high" });': "string",
    'const level: string = (await dossier.customData.read()).body.level;': "number",
    'await dossier.changeProfile({ id: "5eed00000000000000000001" });': "id",
}

# Names of a browser that a server lacks; node has some of them, such as navigator.
SERVER = """
for (const name of ["window", "document", "location", "localStorage", "sessionStorage", "navigator"]) {
  Object.defineProperty(globalThis, name, {
    get() { throw new ReferenceError(`${name} is not defined`); }, configurable: true });
}
delete globalThis.document;
delete globalThis.location;
"""
PROGRAM = """
const { Dossier, DossierError } = await import("dossier");
const [url] = process.argv.slice(1);
const [ada, bob] = [new Dossier(url), new Dossier(url)];
const found = { ada: await ada.signInAnonymously(), other: bob.user };
found.bob = await bob.signInAnonymously();
found.kept = ada.user;
await ada.metadata.patch({ tags: ["a"] });
found.patched = (await ada.metadata.patch([{ op: "add", path: "/tags/-", value: "b" }])).body;
const now = Date.now;
Date.now = () => now() + 3600 * 1000;
found.refreshed = (await ada.profile()).id;
Date.now = now;
found.left = (await ada.signOut()).map(({ state }) => state);
found.error = await new Dossier("http://127.0.0.1:9").signInAnonymously().catch(
  (error) => [error instanceof DossierError, error.code, error.message]);
console.log(JSON.stringify(found));
"""


class Package(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.first, cls.second = (cls.pack(cls.folder / name) for name in ["first", "second"])
        # An app with the package, as npm installs it.
        (cls.folder / "node_modules").mkdir()
        with tarfile.open(cls.first) as archive:
            archive.extractall(cls.folder)
        cls.package = (cls.folder / "package").rename(cls.folder / "node_modules/dossier")
        (cls.folder / "package.json").write_text('{"type": "module"}')

    @staticmethod
    def pack(folder):
        subprocess.run([ROOT / "deploy/client", "--output", folder], check=True, capture_output=True)
        archive, = folder.iterdir()
        return archive

    def node(self, program, *arguments):
        run = subprocess.run(
            ["node", "--input-type=module", "-e", program, *arguments], cwd=self.folder,
            capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.stdout

    def test_it_has_the_files_that_npm_packs_and_the_same_bytes_each_time(self):
        run = subprocess.run(
            ["npm", "pack", "--dry-run", "--json", "--ignore-scripts", "--offline", "--cache",
             self.folder / "cache", WEB], cwd=self.folder, capture_output=True, text=True,
            env={**os.environ, "HOME": str(self.folder)})
        packed, = json.loads(run.stdout)
        self.assertEqual(packed["filename"], self.first.name)
        with tarfile.open(self.first) as archive:
            found = {member.name.removeprefix("package/"): member.mode for member in archive}
        self.assertEqual(set(found), {file["path"] for file in packed["files"]})
        self.assertEqual(set(found.values()), {0o644})
        self.assertEqual(self.first.read_bytes(), self.second.read_bytes())

    def test_its_version_is_that_of_the_programs(self):
        version = self.site.dossier("--version", output="text").strip()
        self.assertEqual(self.first.name, f"dossier-{version}.tgz")
        self.assertIn(f"./{self.first.name} ", (WEB / "README.md").read_text())

    def bundle(self, program):
        """Returns what a bundler makes of a module of an app that has the package."""
        (self.folder / "app.js").write_text(program)
        run = subprocess.run(
            ["esbuild", "app.js", "--bundle", "--minify", "--format=esm", "--log-level=warning"],
            cwd=self.folder, capture_output=True)
        self.assertEqual((run.returncode, run.stderr), (0, b""))
        return run.stdout

    def test_it_adds_at_most_4_kib_to_an_app_and_nothing_if_it_is_not_used(self):
        client = 'export { Dossier, DossierError } from "dossier";'
        code = self.bundle(client)
        self.assertIn(b"/v1/login/password", code)
        self.assertLessEqual(len(gzip.compress(code, 9)), 4096)
        # Each further module is loaded only by an app that uses it.
        for name, members, words, most in [
                ("redirect", "handleRedirect, signInRedirect", b"/authorize", 600),
                ("changes", "onChange", b"/v1/me/events", 1300),
                ("passkeys", "addPasskey, autofillPasskey, signInWithPasskey", b"/passkey/options", 850)]:
            with self.subTest(name):
                self.assertNotIn(words, code)
                more = self.bundle(client + f'export {{ {members} }} from "dossier/{name}";')
                self.assertIn(words, more)
                self.assertLessEqual(len(gzip.compress(more, 9)), 4096 + most)
        # A side effect would stay in the bundle.
        unused = ('import { Dossier } from "dossier"; import { handleRedirect } from "dossier/redirect";'
                  'import { onChange } from "dossier/changes";'
                  'import { addPasskey } from "dossier/passkeys";')
        self.assertEqual(self.bundle(unused), b"")
        wall = re.sub('"sideEffects": false,', "", (self.package / "package.json").read_text())
        (self.package / "package.json").write_text(wall)
        self.assertEqual(self.bundle(unused), b"")

    def compile(self, program):
        (self.folder / "app.ts").write_text(program)
        return subprocess.run(
            ["tsc", "--strict", "--noEmit", "--target", "es2022", "--module", "node16",
             "--moduleResolution", "node16", "--lib", "es2022,dom,dom.iterable", "app.ts"],
            cwd=self.folder, capture_output=True, text=True)

    def test_its_types_know_the_documents_of_the_app(self):
        run = self.compile(TYPED)
        self.assertEqual(run.returncode, 0, run.stdout)
        for statement, words in REFUSED.items():
            with self.subTest(statement):
                said = self.compile(f"{TYPED}export async function wrong() {{\n{statement}\n}}").stdout
                self.assertEqual(said.count("error TS"), 1, said)
                self.assertIn(words, said)

    def test_the_examples_of_its_readme_compile(self):
        examples = re.findall(r"```ts\n(.*?)```", (WEB / "README.md").read_text(), re.S)
        self.assertEqual(len(examples), 4)
        run = self.compile("".join(examples))
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_it_signs_in_without_a_page_and_clients_share_no_user(self):
        for server in ["", SERVER]:
            with self.subTest(server != ""):
                found = json.loads(self.node(server + PROGRAM, f"http://127.0.0.1:{self.site.port}"))
                self.assertRegex(found["ada"], "^[0-9a-f]{24}$")
                self.assertEqual((found["other"], found["kept"]), (None, found["ada"]))
                self.assertNotEqual(found["ada"], found["bob"])
                self.assertEqual(found["patched"], {"tags": ["a", "b"]})
                self.assertEqual(found["refreshed"], found["ada"])
                self.assertEqual(found["left"], ["logged_out"])
                self.assertEqual(found["error"], [True, "unreachable", "The server did not answer."])


if __name__ == "__main__":
    unittest.main()
