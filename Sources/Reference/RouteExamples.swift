import Declarations
import HTTP
import JSON
import Pages
import WireKit

/// Makes the examples of routes: the request for a shell and for a page, and the response.
struct RouteExamples {
  private let shapes: [String: Shape]

  init(_ shapes: [Shape]) {
    self.shapes = Dictionary(shapes.compactMap { shape in shape.name.map { ($0, shape) } }) { $1 }
  }

  /// Returns the request and the response, as HTML.
  func figures(of operation: Operation) -> [Markup] {
    var figures: [Markup] = [.figure("curl", curl(operation))]
    if let script = script(operation) { figures.append(.figure("JavaScript", script)) }
    if let answer = operation.gives.first, let shape = answer.shape {
      figures.append(.figure(of: answer.status, value(of: shape)))
    }
    return figures
  }

  // MARK: Values

  /// Returns the example of a shape at the place that uses it.
  func value(of shape: Shape) -> JSON { shape.sample ?? value(of: shape.reference) }

  /// Returns the example of a schema, or one composed of the examples of its parts.
  ///
  /// A part without an example becomes null, which a test finds.
  private func value(of schema: JSON) -> JSON {
    if let reference = schema["$ref"]?.string?.split(separator: "/").last {
      return shapes[String(reference)].map { value(of: .object($0.schema)) } ?? .null
    }
    if let example = schema["examples"]?.array?.first ?? schema["const"] { return example }
    if let choice = schema["enum"]?.array?.first { return choice }
    if let choices = schema["oneOf"]?.array ?? schema["anyOf"]?.array {
      return choices.first.map(value) ?? .null
    }
    if let members = schema["properties"]?.object {
      // A request body shows its required members, a response all of them.
      let isSent = schema["additionalProperties"] == .bool(false)
      let required = schema["required"]?.array ?? []
      let shown = members.filter { !isSent || required.contains(.string($0.key)) }
      return .object(JSONObject(shown.map { ($0.key, value(of: $0.value)) }))
    }
    return schema["items"].map { .array([value(of: $0)]) } ?? .null
  }

  // MARK: Requests

  /// Returns the path with example values for its parameters.
  private func path(_ operation: Operation, _ setup: ExampleSetup = ExampleSetup()) -> String {
    operation.route.pattern.split(separator: "/", omittingEmptySubsequences: false).map { part in
      guard part.hasPrefix("{") else { return String(part) }
      let name = String(part.dropFirst().dropLast())
      if let value = setup.parameters[name] { return value }
      let isKey = operation.route.pattern.contains("/api-keys/")
      let value = value(of: isKey ? Shape.id(Example.apiKey) : Shape.parameter(name))
      return value.string ?? value.text
    }.joined(separator: "/")
  }

  private func body(_ operation: Operation) -> JSON? {
    guard operation.route.body.mediaTypes.contains(where: { $0.rawValue.hasSuffix("json") }) else {
      return nil
    }
    return operation.takes.shape.map(value)
  }

  private func curl(_ operation: Operation) -> String {
    let setup = ExampleSetup.of(operation)
    let method = operation.route.method.rawValue
    var lines = ["curl\(method == "GET" ? "" : " -X \(method)") \"$B\(path(operation, setup))\""]
    if let field = operation.route.access.field(setup.token) { lines.append("-H \"\(field)\"") }
    if let type = operation.route.body.mediaTypes.first {
      lines.append("-H 'Content-Type: \(type.rawValue)'")
      lines.append(data(setup.body ?? body(operation), expands: setup.body != nil))
    }
    var request = lines.joined(separator: " \\\n  ")
    if let kept = setup.kept {
      request = "\(kept)=$(\(request.replacing("curl ", with: "curl -s ", maxReplacements: 1))"
      request += " \\\n  | jq -r .access_token)"
    }
    return (setup.commands + [request]).joined(separator: "\n")
  }

  /// Returns the option of curl for a body.
  ///
  /// - Parameters:
  ///   - body: the body, or nil for a picture.
  ///   - expands: whether the shell expands variables in it.
  /// - Returns: the option.
  private func data(_ body: JSON?, expands: Bool) -> String {
    guard let text = body?.lines(indentedBy: "  ") else { return "--data-binary @picture.jpg" }
    guard expands, text.utf8.contains(UInt8(ascii: "$")) else { return "-d '\(text)'" }
    // Double quotes let the shell expand variables, and protect the quotes of JSON.
    return "-d \"\(text.replacing("\"", with: "\\\""))\""
  }

  /// Returns the call with the web client, or nil for a route that no page calls.
  private func script(_ operation: Operation) -> String? {
    let route = operation.route
    if let call = ClientCalls.all[route.name] { return "await dossier.\(call);" }
    if let call = ClientCalls.functions[route.name] { return "\(call);" }
    guard case .user = route.access else { return nil }
    var options: [String] = []
    if let type = route.body.mediaTypes.first {
      options.append("body: \(body(operation)?.lines(indentedBy: "  ") ?? "file")")
      if body(operation) != nil, type != .json { options.append("type: \"\(type.rawValue)\"") }
    }
    let more = options.isEmpty ? "" : ", {\n  \(options.joined(separator: ",\n  ")),\n}"
    return "await dossier.request(\"\(route.method.rawValue)\", \"\(path(operation))\"\(more));"
  }
}

extension Access {
  /// Returns the header field with the credentials, for a shell.
  ///
  /// - Parameter token: the variable with the access token of a user.
  /// - Returns: the field, or nil without credentials.
  fileprivate func field(_ token: String) -> String? {
    switch self {
    case .open, .loopback: nil
    case .user, .bearer: "Authorization: Bearer $\(token)"
    case .client, .operator: "Authorization: Bearer $SECRET"
    case .device: "Dossier-Device: $DEVICE"
    case .anyOf(let all): all.first?.field(token)
    }
  }
}

/// The calls of the client for web pages, by the names of routes.
///
/// These members store the tokens of a response, and forget sessions that have ended. A page that used
/// `request` instead would be signed out. Routes that are not listed are called with `request`.
enum ClientCalls {
  /// The calls of functions of other modules of the client.
  static let functions = [
    "GET /v1/me/events":
      #"const stop = onChange(dossier, ["metadata"], (changed) => console.log(changed))"#,
    "POST /v1/login/passkey": "await signInWithPasskey(dossier)",
    "POST /v1/me/passkeys": #"await addPasskey(dossier, { name: "Ada's phone" })"#,
  ]

  static let all: [String: String] = [
    "POST /v1/login/anonymous": "signInAnonymously()",
    "POST /v1/register": #"register("katherine@example.com", "correct horse battery")"#,
    "POST /v1/login/password": #"signIn("ada@example.org", "correct horse battery")"#,
    "POST /v1/login/jwt": #"signInWithToken("\#(Example.issuerToken)")"#,
    "POST /v1/login/api-key": #"signInWithKey("\#(Example.keyOfUser)")"#,
    "POST /v1/reauthenticate":
      #"reauthenticate({ provider: "password", password: "correct horse battery" })"#,
    "POST /v1/logout": "signOut()",
    "POST /v1/login/code/request": #"requestCode("ada@example.org")"#,
    "POST /v1/login/code": #"signInWithCode("\#(Example.flow)", "1234 5678")"#,
    "POST /v1/login/second-factor":
      #"completeSecondFactor("\#(Example.flow)", "123456")"#,
    "POST /v1/login/second-factor/enroll": #"enrollSecondFactor("\#(Example.flow)")"#,
    "POST /v1/me/second-factors/{factor}/confirm":
      #"confirmSecondFactor("\#(Example.factor)", "123456")"#,
    "POST /v1/email/verify":
      #"verifyEmail("\#(Example.verification)", "correct horse battery")"#,
    "POST /v1/email/verify/request": #"requestVerification("ada@example.org")"#,
    "POST /v1/password/reset-request": #"requestReset("ada@example.org")"#,
    "POST /v1/password/reset": #"resetPassword("\#(Example.reset)", "another horse battery")"#,
    "POST /v1/password/change":
      #"changePassword("correct horse battery", "another horse battery")"#,
    "GET /v1/me/sessions/{session}/changes": #"sessionChanges("\#(Example.session)")"#,
    "POST /v1/me/sessions/{session}/undo":
      #"undoSession("\#(Example.session)", { metadata: { version: 4 } })"#,
    "GET /v1/device": "users()",
    "PUT /v1/device/active": #"switchTo("\#(Example.grace)")"#,
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
      #"link({ provider: "password", email: "mina@example.com", password: "correct horse battery" })"#,
    "DELETE /v1/me/identities/{identity}": #"unlink("\#(Example.identity)")"#,
    "POST /v1/me/email": #"changeEmail("ada@example.net")"#,
    "POST /v1/me/email/verify": #"verifyNewEmail("\#(Example.flow)", "1234 5678")"#,
    "POST /v1/email/restore": #"restoreEmail("\#(Example.oldAddress)", "another horse battery")"#,
  ]
}
