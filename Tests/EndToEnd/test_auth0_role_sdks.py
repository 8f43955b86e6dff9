"""Auth0's Python SDKs change roles and permissions."""

from test_auth0 import START
from test_auth0_roles import RoleCase


VERSION_4 = START + """
from auth0.management import Roles, Users
from auth0.exceptions import Auth0Error
roles, users = [kind(domain, access, protocol="http") for kind in (Roles, Users)]
read, write = [{"resource_server_identifier": site["audience"], "permission_name": name}
               for name in ("read:posts", "write:posts")]
names = lambda page: [permission["permission_name"] for permission in page["permissions"]]
made = roles.create({"name": "editor 4", "description": "Edits posts"})
role = made["id"]
assert role.startswith("rol_") and made["description"] == "Edits posts", made
try:
    roles.create({"name": "editor 4"})
    raise AssertionError("created twice")
except Auth0Error as error:
    assert error.status_code == 409, error
assert roles.get(role) == made
page = roles.list(name_filter="EDITOR 4")
assert (page["roles"], page["start"], page["limit"], page["total"]) == ([made], 0, 25, 1), page
assert roles.list(name_filter="editor 4", include_totals=False) == [made]
assert roles.update(role, {"name": "chief 4"}) == {**made, "name": "chief 4"}
assert roles.add_permissions(role, [read, write]) == {}
page = roles.list_permissions(role)
assert names(page) == ["read:posts", "write:posts"] and page["total"] == 2, page
assert page["permissions"][0]["resource_server_name"] == "Posts", page
assert page["permissions"][0]["description"] == "Read your posts", page
roles.remove_permissions(role, [write])
assert names(roles.list_permissions(role)) == ["read:posts"]
user = users.create({"connection": "Username-Password-Authentication", "email": email,
                     "password": site["password"]})["user_id"]
users.add_roles(user, [role])
assert [found["id"] for found in users.list_roles(user)["roles"]] == [role]
assert [found["email"] for found in roles.list_users(role)["users"]] == [email]
users.remove_roles(user, [role])
assert roles.list_users(role)["total"] == 0
assert roles.add_users(role, [user]) == {}
page = roles.list_users(role, take=1)
assert page["users"][0]["user_id"] == user and set(page["users"][0]) == {
    "user_id", "email", "name", "picture"}, page
assert users.add_permissions(user, [read, write]) == {}
found = {one["permission_name"]: sorted(source["source_type"] for source in one["sources"])
         for one in users.list_permissions(user)["permissions"]}
assert found == {"read:posts": ["DIRECT", "ROLE"], "write:posts": ["DIRECT"]}, found
users.remove_permissions(user, [read, write])
assert names(users.list_permissions(user)) == ["read:posts"]
assert roles.delete(role) == {}
for call in (lambda: roles.get(role), lambda: users.add_roles(user, [role])):
    try:
        call()
        raise AssertionError("found")
    except Auth0Error as error:
        assert (error.status_code, error.error_code) == (404, "inexistent_role"), error
assert names(users.list_permissions(user)) == [] and users.list_roles(user)["roles"] == []
print("done")
"""


VERSION_6 = START + """
from auth0.management import Auth0
from auth0.management.core.api_error import ApiError
from auth0.management.types import PermissionRequestPayload
client = Auth0(base_url="http://%s/api/v2" % domain, token=access)
read = PermissionRequestPayload(
    resource_server_identifier=site["audience"], permission_name="read:posts")
role = client.roles.create(name="editor 6", description="Edits posts").id
assert client.roles.get(role).name == "editor 6"
assert [found.id for found in client.roles.list(name_filter="editor 6")] == [role]
assert client.roles.update(role, description="Writes").description == "Writes"
client.roles.permissions.add(role, permissions=[read])
assert [one.permission_name for one in client.roles.permissions.list(role)] == ["read:posts"]
made = [client.users.create(connection="Username-Password-Authentication", email=mail,
                            password=site["password"]).user_id for mail in (email, "2" + email)]
client.roles.users.assign(role, users=made)
assert sorted(user.user_id for user in client.roles.users.list(role, take=1)) == sorted(made)
user = made[0]
assert [found.id for found in client.users.roles.list(user)] == [role]
client.users.roles.delete(user, roles=[role])
assert list(client.users.roles.list(user)) == []
client.users.roles.assign(user, roles=[role])
client.users.permissions.create(user, permissions=[read])
assert [one.permission_name for one in client.users.permissions.list(user)] == ["read:posts"]
client.users.permissions.delete(user, permissions=[read])
client.roles.permissions.delete(role, permissions=[read])
assert list(client.users.permissions.list(user)) == []
client.roles.delete(role)
try:
    client.roles.get(role)
    raise AssertionError("found")
except ApiError as error:
    assert error.status_code == 404 and error.body["errorCode"] == "inexistent_role", error
print("done")
"""


class Python(RoleCase):
    def test_version_4(self):
        self.run_program("4.13.0", VERSION_4)

    def test_version_6(self):
        self.run_program("6.8.0", VERSION_6)
