/// How the client for web pages makes calls, by the names of routes.
///
/// It keeps the tokens that some of them answer, and knows of the sessions that others end: a page that
/// asked for these by `request` would be logged out. What is not here, it asks by that.
enum ClientCalls {
  static let all: [String: String] = [
    "POST /v1/login/anonymous": "loginAnonymously()",
    "POST /v1/register": #"register("ada@example.com", "correct horse battery")"#,
    "POST /v1/login/password": #"login("ada@example.com", "correct horse battery")"#,
    "POST /v1/login/jwt": #"loginWithToken("\#(Example.issuerToken)")"#,
    "POST /v1/login/api-key": #"loginWithKey("\#(Example.keyOfUser)")"#,
    "POST /v1/reauthenticate":
      #"reauthenticate({ provider: "password", password: "correct horse battery" })"#,
    "POST /v1/logout": "logout()",
    "POST /v1/login/code/request": #"requestCode("ada@example.com")"#,
    "POST /v1/login/code": #"loginWithCode({ request: "\#(Example.codeRequest)" }, "1234 5678")"#,
    "POST /v1/confirm": #"confirm("\#(Example.confirmation)", "correct horse battery")"#,
    "POST /v1/confirm/request": #"requestConfirmation("ada@example.com")"#,
    "POST /v1/password/reset-request": #"requestReset("ada@example.com")"#,
    "POST /v1/password/reset": #"resetPassword("\#(Example.reset)", "another horse battery")"#,
    "POST /v1/password/change":
      #"changePassword("correct horse battery", "another horse battery")"#,
    "GET /v1/device": "users()",
    "PUT /v1/device/active": #"switchTo("\#(Example.charles)")"#,
    "POST /v1/device/users/{user}/logout": #"logout("\#(Example.ada)")"#,
    "DELETE /v1/device/users/{user}": #"forget("\#(Example.ada)")"#,
    "GET /v1/me": "profile()",
    "PATCH /v1/me": #"changeProfile({ name: "Ada Lovelace" })"#,
    "DELETE /v1/me": "deleteUser()",
    "PUT /v1/me/picture": "setPicture(file)",
    "DELETE /v1/me/picture": "removePicture()",
    "GET /v1/me/metadata": "metadata.read()",
    "PUT /v1/me/metadata": #"metadata.replace({ theme: "dark" })"#,
    "PATCH /v1/me/metadata": #"metadata.patch({ theme: "dark" })"#,
    "GET /v1/me/custom-data": "customData.read()",
    "PUT /v1/me/custom-data": #"customData.replace({ level: 7, items: ["axe", "lamp"] })"#,
    "PATCH /v1/me/custom-data": "customData.patch({ level: 7 })",
    "DELETE /v1/me/custom-data": "customData.delete()",
    "POST /v1/me/custom-data/update": "customData.update({ $inc: { level: 1 } })",
    "GET /v1/me/properties": "properties.all()",
    "PATCH /v1/me/properties": "properties.merge({ volume: 8, sound: null })",
    "GET /v1/me/properties/{key}": #"properties.get("volume")"#,
    "PUT /v1/me/properties/{key}": #"properties.set("volume", 8, { version: 1 })"#,
    "DELETE /v1/me/properties/{key}": #"properties.remove("volume")"#,
    "GET /v1/me/identities": "identities()",
    "POST /v1/me/identities":
      #"link({ provider: "password", email: "ada@example.com", password: "correct horse battery" })"#,
    "DELETE /v1/me/identities/{identity}": #"unlink("\#(Example.identity)")"#,
    "POST /v1/me/email": #"changeEmail("ada@example.net")"#,
    "POST /v1/me/email/confirm": #"confirmEmail("\#(Example.newAddress)")"#,
    "POST /v1/email/restore": #"restoreEmail("\#(Example.oldAddress)", "another horse battery")"#,
  ]
}
