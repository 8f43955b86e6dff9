import Declarations

/// The calls of the client for web pages, by the names of routes.
///
/// These members store the tokens of a response, and forget sessions that have ended. A page that used
/// `request` instead would be signed out. Routes that are not listed are called with `request`.
enum ClientCalls {
  static let all: [String: String] = [
    "POST /v1/login/anonymous": "signInAnonymously()",
    "POST /v1/register": #"register("ada@example.com", "correct horse battery")"#,
    "POST /v1/login/password": #"signIn("ada@example.com", "correct horse battery")"#,
    "POST /v1/login/jwt": #"signInWithToken("\#(Example.issuerToken)")"#,
    "POST /v1/login/api-key": #"signInWithKey("\#(Example.keyOfUser)")"#,
    "POST /v1/reauthenticate":
      #"reauthenticate({ provider: "password", password: "correct horse battery" })"#,
    "POST /v1/logout": "signOut()",
    "POST /v1/login/code/request": #"requestCode("ada@example.com")"#,
    "POST /v1/login/code": #"signInWithCode("\#(Example.flow)", "1234 5678")"#,
    "POST /v1/login/second-factor":
      #"completeSecondFactor("\#(Example.flow)", "123456")"#,
    "POST /v1/login/second-factor/enroll": #"enrollSecondFactor("\#(Example.flow)")"#,
    "POST /v1/me/second-factors/{factor}/confirm":
      #"confirmSecondFactor("\#(Example.factor)", "123456")"#,
    "POST /v1/email/verify":
      #"verifyEmail("\#(Example.verification)", "correct horse battery")"#,
    "POST /v1/email/verify/request": #"requestVerification("ada@example.com")"#,
    "POST /v1/password/reset-request": #"requestReset("ada@example.com")"#,
    "POST /v1/password/reset": #"resetPassword("\#(Example.reset)", "another horse battery")"#,
    "POST /v1/password/change":
      #"changePassword("correct horse battery", "another horse battery")"#,
    "GET /v1/device": "users()",
    "PUT /v1/device/active": #"switchTo("\#(Example.charles)")"#,
    "POST /v1/device/users/{user}/logout": #"signOut("\#(Example.ada)")"#,
    "POST /v1/device/logout": "signOutAll()",
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
    "POST /v1/me/email/verify": #"verifyNewEmail("\#(Example.flow)", "1234 5678")"#,
    "POST /v1/email/restore": #"restoreEmail("\#(Example.oldAddress)", "another horse battery")"#,
  ]
}
