"""The examples in JavaScript that the reference shows."""

import html
import json
import pathlib
import re
import subprocess
import tempfile
import unittest

from cases import Case
from machine import ROOT
from reference import chapters


class Scripts(Case):
    def scripts(self):
        """Returns the JavaScript of each route, by operation."""
        pages = "".join(chapters(self.site).values())
        sections = re.findall(r'<section class="part" id="([\w.]+)">(.*?)</section>', pages, re.S)
        found = {name: re.search(r"<pre[^>]*>(await (?:dossier\.|\w+\(dossier).*?)</pre>", text, re.S)
                 for name, text in sections}
        return {name: html.unescape(match[1]) for name, match in found.items() if match}

    def test_scripts_of_the_reference_match_the_types_of_the_client(self):
        scripts = self.scripts()
        self.assertGreater(len(scripts), 50)
        self.assertIn("await signInWithPasskey(dossier);", scripts.values())
        self.check("declare const dossier: Dossier;\ndeclare const file: Blob;\n"
                   + "\n".join(scripts.values()))

    def test_scripts_of_the_guide_match_the_types_of_the_client(self):
        guide = (ROOT / "Sources/RESTWire/RESTWire.docc/Signing in.md").read_text()
        blocks = re.findall(r"^```js\n(.*?)^```", guide, re.S | re.M)
        self.assertEqual(len(blocks), 3)
        script = re.sub(r"^import .*\n", "", "".join(blocks), flags=re.M)
        self.check(script)
        # Each member that the guide names exists.
        table = guide[guide.index("| task | members |"):].split("\n\n")[0]
        names = re.findall(r"`(\w+)`", table)
        self.check("declare const dossier: Dossier;\n"
                   + "".join(f"void dossier.{name};\n" for name in names))

    def check(self, script):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name in ["dossier", "dossier-passkeys"]:
                (folder / f"{name}.d.ts").write_text((ROOT / f"deploy/web/{name}.d.ts").read_text())
            (folder / "check.ts").write_text(
                'import { Dossier } from "./dossier";\n'
                'import { addPasskey, signInWithPasskey } from "./dossier-passkeys";\n' + script)
            run = subprocess.run(
                ["tsc", "--strict", "--useUnknownInCatchVariables", "false", "--noEmit", "--target",
                 "es2022", "--module", "es2022", "--lib", "es2022,dom,dom.iterable",
                 folder / "check.ts"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_scripts_keep_the_returned_tokens(self):
        """A page that called these routes with `request` would lose its session."""
        scripts = self.scripts()
        for name in ["auth.reauthenticate", "auth.signOut", "auth.changePassword", "me.delete",
                     "device.switchUser"]:
            self.assertNotIn("dossier.request(", scripts[name])
        document = self.site.reference.document
        for item in document["paths"].values():
            for operation in item.values():
                answers = json.dumps(operation["responses"])
                if "TokensOK" in answers or "schemas/Tokens" in answers:
                    self.assertNotIn("dossier.request(", scripts.get(operation["operationId"], ""))


if __name__ == "__main__":
    unittest.main()
