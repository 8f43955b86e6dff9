"""The client that openapi-generator makes of /openapi.json compiles and sends requests."""

import json
import pathlib
import re
import subprocess
import tempfile
import unittest

from PIL import Image

from cases import Case
from machine import TOOLS_FOLDER

PROGRAM = """
import { readFileSync } from "fs";
import * as api from "./client";

declare const process: { argv: string[] };
const [basePath, picture] = process.argv.slice(2);
const password = "correct horse battery";
const email = "typescript@example.com";
const sent: string[] = [];

function equal(found: unknown, wanted: unknown) {
  const [one, other] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (one !== other) throw new Error(`${one} is not ${other}`);
}

async function refused(call: Promise<unknown>): Promise<api.Problem> {
  const error = await call.then(() => null, (error) => error);
  if (!(error instanceof api.ResponseError)) throw new Error(`not refused: ${error}`);
  return api.ProblemFromJSON(await error.response.json());
}

async function main() {
  const anybody = new api.Configuration({
    basePath, fetchApi: async (url, options) => {
      sent.push(String((options?.headers as Record<string, string>)["Content-Type"]));
      return fetch(url, options);
    },
  });
  const logins = new api.SigningInApi(anybody);
  const first = await logins.authRegister({ credentials: { email, password } });
  // With sign_up=verify_first, the response is a flow.
  if (!("accessToken" in first)) throw new Error("not signed in");
  const again = await logins.authSignInWithPassword(
    { credentials: { email, password }, dossierDevice: first.deviceSecret });
  equal([again.userId, again.deviceId], [first.userId, first.deviceId]);
  const fresh = await logins.authRefresh({ refresh: { refreshToken: again.refreshToken } });
  const wrong = logins.authSignInWithPassword({ credentials: { email, password: "wrong" } });
  equal((await refused(wrong)).code, "wrong_credentials");

  const user = new api.Configuration({
    basePath, accessToken: fresh.accessToken, fetchApi: anybody.fetchApi });
  const users = new api.UsersApi(user);
  const profile: api.Profile = await users.meUpdate({ profilePatch: { name: "Ada", locale: null } });
  equal([profile.name, profile.locale], ["Ada", null]);
  const broken = await refused(users.meUpdate({ profilePatch: { phone: "1" } }));
  equal(broken.errors?.[0]?.pointer, "/phone");

  // A file is sent as bytes, whatever is in it.
  const body: Blob = new Blob([readFileSync(picture)]);
  sent.length = 0;
  const shown = await users.meSetPicture({ body });
  equal(sent, ["application/octet-stream"]);
  const name = shown.picture?.split("/").pop() ?? "";
  const stored: Blob = await users.picturesGet({ picture: name });
  equal([...new Uint8Array(await stored.arrayBuffer())].slice(1, 4), [0x50, 0x4e, 0x47]);

  const documents = new api.DocumentsApi(user);
  equal(await documents.meReplaceCustomData({ requestBody: { level: 1 } }), { level: 1 });
  const outcome = await documents.meUpdateCustomDataWithOperators(
    { documentUpdate: { update: { $inc: { level: 1 } } } });
  equal([outcome.outcome, outcome.version], ["updated", 2]);
  equal(await documents.meUpdateMetadata({ requestBody: { theme: "dark", old: null } }),
    { theme: "dark" });

  const properties = new api.PropertiesApi(user);
  const property = await properties.meSetProperty({ key: "volume", newValue: { value: 8 } });
  const value: api.PropertyValue = property.value;
  equal(value, 8);
  equal(await properties.meGetProperties(), { volume: 8 });
  equal(await properties.meGetProperties({ versions: true }), { volume: { value: 8, version: 1 } });

  const identities = new api.IdentitiesAndSessionsApi(user);
  const key: api.NewIdentity = { provider: "api-key", name: "laptop" };
  const made: api.LinkResult = await identities.meLinkIdentity({ newIdentity: key });
  equal("key" in made && made.key.startsWith("ds_apikey_"), true);
  const known = await identities.meListIdentities();
  equal(known.map(({ provider }) => provider).sort(), ["api-key", "password"]);
  const devices = new api.DevicesApi(new api.Configuration(
    { basePath, apiKey: (name) => name === "Dossier-Device" ? again.deviceSecret ?? "" : "" }));
  equal((await devices.deviceListUsers()).users.map(({ state }) => state), ["active"]);
  console.log(JSON.stringify({ id: (await users.meGet()).id }));
}

main().catch((error) => { console.error(error); throw error; });
"""

# Types of routes for clients and the operator, which are not called here.
TYPED = """
import * as api from "./client";

const block: api.UserPatch = { blocked: true };
const rename: api.UserPatch = { name: "Ada" };
const proof: api.Reauthentication = { provider: "password", password: "correct horse battery" };
async function operate(operation: api.OperationApi) {
  await operation.schemasSet({ kind: "metadata", body: { properties: {} } });
  await operation.schemasSet({ kind: "metadata", body: true });
  const app: api.App = await operation.appsGet({ app: "default" });
  const subject: string = app.settings.verifySubject;
  const indexes: api.SearchIndex[] = await operation.indexesList();
  return [subject, indexes, block, rename, proof];
}
void operate;
"""


class TypeScript(Case):
    # Takes long for its number of tests.
    LONG = True

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def generate(self, query=""):
        """Generates the client; returns the generator's output."""
        (self.folder / "openapi.json").write_bytes(self.site.get("/openapi.json" + query).body)
        run = subprocess.run(
            [TOOLS_FOLDER / "bin/openapi-generator-cli", "generate", "-g", "typescript-fetch",
             "-i", "openapi.json", "-o", "client",
             "--global-property", "apis,models,supportingFiles,apiDocs=false,modelDocs=false"],
            cwd=self.folder, capture_output=True, text=True)
        said = run.stdout + run.stderr
        self.assertEqual(run.returncode, 0, said[-3000:])
        return said

    def compile(self, program):
        (self.folder / "main.ts").write_text(program)
        # The generated code narrows types by `in`, which TypeScript supports since 4.9. Debian has
        # 4.8, which gives those members the type any.
        run = subprocess.run(
            ["tsc", "--strict", "--noImplicitAny", "false", "--target", "es2022", "--module", "commonjs",
             "--lib", "es2022,dom,dom.iterable", "--outDir", "out", "main.ts", "node.d.ts"],
            cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_the_client_of_an_app_sends_its_requests(self):
        self.generate("?for=users")
        (self.folder / "node.d.ts").write_text(
            'declare module "fs" { export function readFileSync(path: string): ArrayBuffer; }\n')
        self.compile(PROGRAM)
        picture = self.folder / "picture.png"
        Image.new("RGBA", (40, 20), (200, 30, 30, 90)).save(picture, "PNG")
        run = subprocess.run(
            ["node", "out/main.js", f"http://127.0.0.1:{self.site.port}", picture],
            cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr[-3000:])
        self.assertRegex(json.loads(run.stdout)["id"], "^[0-9a-f]{24}$")

    def test_the_full_client_compiles_and_keeps_its_names(self):
        said = self.generate()
        (self.folder / "node.d.ts").write_text("")
        self.compile(TYPED)
        # Shapes without a name get one, and reserved words another.
        self.assertEqual(re.findall(r".*(?:ERROR|Inline schema).*", said), [])
        self.assertEqual(list((self.folder / "client/models").glob("Model[A-Z]*.ts")), [])

    def test_each_route_returns_one_type(self):
        """A generated client reads every response by the first documented type."""
        reference = self.site.reference
        for path, item in reference.document["paths"].items():
            for method, operation in item.items():
                shapes = {json.dumps(media.get("schema")) for status, response in
                          operation["responses"].items() if status[0] == "2"
                          for media in reference.resolved(response).get("content", {}).values()}
                self.assertLessEqual(len(shapes), 1, (method, path))

    def test_no_type_has_the_name_of_a_browser_type(self):
        library = pathlib.Path("/usr/share/nodejs/typescript/lib")
        known = set()
        for name in ["lib.es5.d.ts", "lib.es2015.core.d.ts", "lib.dom.d.ts"]:
            known |= set(re.findall(
                r"^(?:declare )?(?:interface|type|var|class) (\w+)", (library / name).read_text(), re.M))
        self.assertIn("Event", known)
        shapes = set(self.site.reference.document["components"]["schemas"])
        self.assertEqual(shapes & known, set())


if __name__ == "__main__":
    unittest.main()
