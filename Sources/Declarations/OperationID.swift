import HTTP
import WireKit

/// The id of an operation in OpenAPI, in addresses of the reference, and in generated clients.
///
/// It has a group and a verb with its object, such as `users.setPermissions`. The method and the path
/// give it, except for verbs that no method has.
enum OperationID {
  static func of(_ operation: Operation) -> String {
    if let name = named[operation.route.name] { return name }
    var parts = operation.route.pattern.split(separator: "/").map(String.init)
    if parts.first == "v1" { parts.removeFirst() }
    let group = joined(parts.removeFirst(), isFirst: true)
    // The object of the group itself has no other name.
    if group != "me", parts.first?.hasPrefix("{") == true { parts.removeFirst() }
    let isOfOne = operation.route.pattern.hasSuffix("}")
    let verb =
      switch operation.route.method {
      case .get: operation.gives.first?.shape?.isList == true ? "list" : "get"
      case .post: "create"
      case .put: isOfOne ? "set" : "replace"
      case .patch: "update"
      default: "delete"
      }
    let noun = parts.indices.filter { !parts[$0].hasPrefix("{") }.map { index in
      // One of several has a parameter after it, or is created.
      let isOne = index + 1 < parts.count ? parts[index + 1].hasPrefix("{") : verb == "create"
      return joined(isOne ? singular(parts[index]) : parts[index])
    }.joined()
    return "\(group).\(verb)\(noun)"
  }

  /// Returns words with hyphens between them as one word in camel case.
  private static func joined(_ words: String, isFirst: Bool = false) -> String {
    words.split(separator: "-").enumerated().map { index, word in
      isFirst && index == 0 ? String(word) : word.prefix(1).uppercased() + word.dropFirst()
    }.joined()
  }

  private static func singular(_ word: String) -> String {
    if word.hasSuffix("ies") { return word.dropLast(3) + "y" }
    if word.hasSuffix("xes") { return String(word.dropLast(2)) }
    return word.hasSuffix("s") ? String(word.dropLast()) : word
  }

  /// The ids that the method and the path do not give, by the names of routes.
  private static let named: [String: String] = [
    "POST /v1/login/anonymous": "auth.signInAnonymously",
    "POST /v1/register": "auth.register",
    "POST /v1/login/password": "auth.signInWithPassword",
    "POST /v1/login/jwt": "auth.signInWithToken",
    "POST /v1/login/api-key": "auth.signInWithApiKey",
    "POST /v1/token/refresh": "auth.refresh",
    "POST /v1/reauthenticate": "auth.reauthenticate",
    "POST /v1/logout": "auth.signOut",
    "POST /v1/login/code/request": "auth.requestCode",
    "POST /v1/login/code": "auth.signInWithCode",
    "POST /v1/login/second-factor": "auth.completeSecondFactor",
    "POST /v1/login/second-factor/enroll": "auth.enrollSecondFactor",
    "POST /v1/email/verify": "auth.verifyEmail",
    "POST /v1/email/verify/request": "auth.requestVerification",
    "POST /v1/password/reset-request": "auth.requestPasswordReset",
    "POST /v1/password/reset": "auth.resetPassword",
    "POST /v1/password/change": "auth.changePassword",
    "POST /v1/email/restore": "auth.restoreEmail",
    "GET /v1/device": "device.listUsers",
    "PUT /v1/device/active": "device.switchUser",
    "POST /v1/device/users/{user}/logout": "device.signOutUser",
    "POST /v1/device/logout": "device.signOutAll",
    "DELETE /v1/device/users/{user}": "device.removeUser",
    "GET /v1/me/export": "me.export",
    "GET /v1/users/{user}/export": "users.export",
    "PUT /v1/users/{user}/roles/{role}": "users.addRole",
    "DELETE /v1/users/{user}/roles/{role}": "users.removeRole",
    "POST /v1/users/{user}/password/reset-request": "users.requestPasswordReset",
    "POST /v1/users/{user}/email/verify": "users.verifyEmail",
    "POST /v1/users/{user}/email/verify/request": "users.requestVerification",
    "GET /v1/users/export": "users.exportTable",
    "POST /v1/sign-in-checks": "users.explainSignIn",
    "GET /v1/search": "search.find",
    "GET /v1/audit/export": "audit.export",
    "PUT /v1/jobs/{job}/input/{part}": "jobs.upload",
    "POST /v1/jobs/{job}/start": "jobs.start",
    "GET /v1/jobs/{job}/results": "jobs.results",
    "PUT /v1/users/{user}/documents": "users.replaceDocuments",
    "DELETE /v1/users/{user}/devices": "users.removeDevices",
    "DELETE /v1/users/{user}/devices/{device}": "users.removeDevice",
    "GET /v1/devices/{device}": "devices.get",
    "POST /v1/me/custom-data/update": "me.updateCustomDataWithOperators",
    "POST /v1/users/{user}/custom-data/update": "users.updateCustomDataWithOperators",
    "POST /v1/me/identities": "me.linkIdentity",
    "DELETE /v1/me/identities/{identity}": "me.unlinkIdentity",
    "DELETE /v1/users/{user}/identities/{identity}": "users.unlinkIdentity",
    "POST /v1/me/email": "me.changeEmail",
    "POST /v1/me/email/verify": "me.verifyNewEmail",
    "POST /v1/me/second-factors": "me.enrollSecondFactor",
    "POST /v1/me/second-factors/{factor}/confirm": "me.confirmSecondFactor",
    "POST /v1/clients/{client}/secret": "clients.replaceSecret",
    "PUT /v1/roles/{role}/permissions/{resource_server}": "roles.setPermissions",
    "PUT /v1/users/{user}/permissions/{resource_server}": "users.setPermissions",
    "POST /v1/keys/rotate": "keys.rotate",
    "POST /v1/mails/test": "mails.sendTest",
    "POST /v1/mails/retry": "mails.retryAll",
    "POST /v1/mails/{mail}/retry": "mails.retry",
    "DELETE /v1/me/support-sessions": "me.endSupportSessions",
    "POST /v1/support-sessions": "supportSessions.create",
    "DELETE /v1/support-sessions/{session}": "supportSessions.end",
    "POST /v1/rate-limits/reset": "rateLimits.reset",
    "GET /openapi.json": "reference.getOpenAPI",
    "GET /reference": "reference.getStart",
    "GET /reference/{chapter}": "reference.getChapter",
    "GET /reference/assets/{file}": "reference.getAsset",
    "GET /problems/{code}": "reference.getProblem",
    "GET /v1/me/second-factors": "me.listSecondFactors",
    "GET /v1/apps/{app}/jwks.json": "apps.getKeys",
    "DELETE /v1/me/sessions": "me.endOtherSessions",
    "DELETE /v1/users/{user}/sessions": "users.endSessions",
    "DELETE /v1/me/sessions/{session}": "me.endSession",
    "DELETE /v1/users/{user}/sessions/{session}": "users.endSession",
    "GET /v1/me/sessions/{session}/changes": "me.getSessionChanges",
    "GET /v1/users/{user}/sessions/{session}/changes": "users.getSessionChanges",
    "POST /v1/me/sessions/{session}/undo": "me.undoSession",
    "POST /v1/users/{user}/sessions/{session}/undo": "users.undoSession",
    "GET /v1/me/audit": "me.listEvents",
    "GET /v1/users/{user}/audit": "users.listEvents",
    "PUT /v1/me/picture": "me.setPicture",
    "PUT /v1/users/{user}/picture": "users.setPicture",
    "PUT /v1/users/{user}/password": "users.setPassword",
    "POST /v1/me/recovery-codes": "me.createRecoveryCodes",
  ]
}
