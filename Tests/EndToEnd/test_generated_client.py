"""Generated clients of /openapi.json send requests."""

import json
import pathlib
import subprocess
import tempfile
import unittest

from PIL import Image

from cases import Case
from machine import TOOLS_FOLDER

PROGRAM = """
import io, json, sys
from dossier_client import AuthenticatedClient, Client
from dossier_client import models
from dossier_client.types import File
from dossier_client.api.devices import device_list_users
from dossier_client.api.documents import (
    me_get_metadata, me_update_metadata, me_update_custom_data_with_operators, me_replace_custom_data)
from dossier_client.api.identities_and_sessions import me_list_sessions, me_link_identity
from dossier_client.api.signing_in import auth_sign_in_with_password, auth_register, auth_refresh
from dossier_client.api.properties import (
    me_get_properties, me_update_properties, me_set_property)
from dossier_client.api.users import me_get, pictures_get, me_update, me_set_picture

url, picture = sys.argv[1:]
anybody = Client(base_url=url)
credentials = models.Credentials(email="generated@example.com", password="correct horse battery")
tokens = auth_register.sync(client=anybody, body=credentials)
again = auth_sign_in_with_password.sync(
    client=anybody, body=credentials, dossier_device=tokens.device_secret)
assert again.user_id == tokens.user_id and again.device_id == tokens.device_id
fresh = auth_refresh.sync(
    client=anybody, body=models.Refresh(refresh_token=again.refresh_token))
user = AuthenticatedClient(base_url=url, token=fresh.access_token)

# An error of any status is a Problem.
wrong = models.Credentials(email="generated@example.com", password="wrong")
refused = auth_sign_in_with_password.sync(client=anybody, body=wrong)
assert isinstance(refused, models.Problem) and refused.code == "wrong_credentials", refused
broken = me_update.sync(client=user, body=models.ProfilePatch(phone="1"))
assert isinstance(broken, models.Problem), broken
assert [(fault.pointer, fault.code) for fault in broken.errors][0][0] == "/phone", broken

# Patches.
profile = me_update.sync(client=user, body=models.ProfilePatch(name="Ada", locale=None))
assert profile.name == "Ada", profile
patched = me_update_metadata.sync(
    client=user, body=models.Metadata.from_dict({"theme": "dark", "old": 1}))
assert patched.to_dict() == {"theme": "dark", "old": 1}, patched
patched = me_update_metadata.sync(client=user, body=models.Metadata.from_dict({"old": None}))
assert patched.to_dict() == {"theme": "dark"}, patched
moved = me_update_metadata.sync_detailed(
    client=user, body=models.Metadata.from_dict({"a": 1}), if_match='"7"')
assert moved.status_code == 412 and moved.parsed.code == "precondition_failed", moved
assert me_get_metadata.sync(client=user).to_dict() == {"theme": "dark"}

# Bytes.
with open(picture, "rb") as file:
    shown = me_set_picture.sync(client=user, body=File(payload=file))
assert isinstance(shown, models.Profile) and shown.picture.startswith("/v1/pictures/"), shown
name = shown.picture.removeprefix("/v1/pictures/")
assert pictures_get.sync_detailed(name, client=anybody).content[:2] == b"\\xff\\xd8"

# The rest of what an app does.
created = me_replace_custom_data.sync(client=user, body=models.JSONDocument.from_dict({"level": 1}))
assert created.to_dict() == {"level": 1}, created
update = models.DocumentUpdate.from_dict({"update": {"$inc": {"level": 1}}})
assert me_update_custom_data_with_operators.sync(client=user, body=update).modified_count == 1
value = me_set_property.sync("colour", client=user, body=models.NewValue(value="red"))
assert (value.key, value.value, value.version) == ("colour", "red", 1), value
changes = models.PropertiesPatch.from_dict({"size": 2, "colour": None})
assert me_update_properties.sync(client=user, body=changes).to_dict() == {"size": 2}
assert me_get_properties.sync(client=user).to_dict() == {"size": 2}
key = me_link_identity.sync(client=user, body=models.NewKey(provider="api-key", name="test"))
assert key.key, key
assert me_list_sessions.sync(client=user)[0].id
device = AuthenticatedClient(
    base_url=url, token=again.device_secret, prefix="", auth_header_name="Dossier-Device")
users = device_list_users.sync(client=device).users
assert [(item.user_id, str(item.state)) for item in users] == [(tokens.user_id, "active")], users
print(json.dumps({"id": me_get.sync(client=user).id}))
"""


class Generated(Case):
    # Takes long for its number of tests.
    LONG = True

    def generate(self, query=""):
        """Generates the package `dossier_client`; returns its folder and the generator's output."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        folder = pathlib.Path(folder.name)
        (folder / "openapi.json").write_bytes(self.site.get("/openapi.json" + query).body)
        (folder / "config.yml").write_text("post_hooks: []\n")
        run = subprocess.run(
            [TOOLS_FOLDER / "bin/openapi-python-client", "generate", "--path", folder / "openapi.json",
             "--meta", "none", "--config", folder / "config.yml",
             "--output-path", folder / "dossier_client"],
            capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return folder, run.stdout + run.stderr

    def count(self, folder):
        return sum(1 for _ in folder.rglob("*.py"))

    def test_the_client_of_an_app_sends_its_requests(self):
        folder, _ = self.generate("?for=users")
        self.assertLess(self.count(folder), 200)
        picture = folder / "picture.jpg"
        Image.new("RGB", (40, 20), (200, 30, 30)).save(picture, "JPEG")
        run = subprocess.run(
            [TOOLS_FOLDER / "bin/python", "-c", PROGRAM, f"http://127.0.0.1:{self.site.port}",
             picture], cwd=folder, capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr[-3000:])
        self.assertRegex(json.loads(run.stdout)["id"], "^[0-9a-f]{24}$")

    def test_the_full_client_has_a_function_for_each_route_and_few_types(self):
        folder, said = self.generate()
        self.assertNotIn("WARNING", said)
        reference = self.site.reference
        paths = {**reference.document["paths"], **reference.openid}
        routes = sum(len(item) for item in paths.values())
        functions = [path for path in (folder / "dossier_client/api").rglob("*.py")
                     if path.name != "__init__.py"]
        self.assertEqual(len(functions), routes, said[-3000:])
        # One file a route and one a type, but no type for each route's errors.
        self.assertLess(self.count(folder) - routes, 300)


if __name__ == "__main__":
    unittest.main()
