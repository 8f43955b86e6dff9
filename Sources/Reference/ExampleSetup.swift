import Declarations
import HTTP
import JSON
import WireKit

/// The shell commands around the request of an example, so that it runs as printed.
///
/// The examples use the sample users of `deploy/up --seed`, and the variables that the start of the
/// reference sets. They run in the order of the pages. An example that deletes something creates it
/// first, and one that ends a session does so as another user.
struct ExampleSetup {
  /// The commands before the request.
  var commands: [String] = []
  /// Variables or values of path parameters, by the name of the parameter.
  var parameters: [String: String] = [:]
  /// The variable with the access token of the user.
  var token = "TOKEN"
  /// The body instead of the example of its shape.
  var body: JSON?
  /// The variable that keeps the access token of the response.
  var kept: String?

  /// Returns the setup of a route: the one of its name, with lookups of its other path parameters.
  static func of(_ operation: Operation) -> ExampleSetup {
    var setup = named[operation.route.name] ?? ExampleSetup()
    for name in operation.parameters where setup.parameters[name] == nil {
      guard let found = Lookup.all[name] else { continue }
      let prefix = operation.route.pattern.prefix { $0 != "{" }
      setup.commands.append(found.command(in: operation, at: String(prefix)))
      setup.parameters[name] = "$\(found.variable)"
    }
    return setup
  }

  // MARK: Commands

  private static func post(
    _ path: String, _ body: String, as bearer: String? = nil, to variable: String? = nil,
    _ member: String = ""
  ) -> String {
    let access = bearer.map { #" -H "Authorization: Bearer $\#($0)""# } ?? ""
    let request = "curl -s \"$B\(path)\"\(access) -H \"$JSON\" \\\n  -d '\(body)'"
    return variable.map { "\($0)=$(\(request) | jq -r .\(member))" } ?? request
  }

  private static func signIn(
    _ name: String, to variable: String? = "OTHER", _ member: String = "access_token"
  ) -> String {
    post(
      "/v1/login/password",
      #"{"email":"\#(name)@example.org","password":"\#(Example.password)"}"#,
      to: variable, member)
  }

  private static let guest = post(
    "/v1/login/anonymous", "{}", to: "OTHER", "access_token")

  /// Reads a code or a token that only an email or an authenticator app has.
  private static func ask(for thing: String, _ variable: String) -> String {
    "printf '\(thing): '; read -r \(variable)"
  }

  /// A guest whose session `$SESSION` has written metadata.
  private static func writing(body: JSON? = nil) -> ExampleSetup {
    ExampleSetup(
      commands: [
        guest,
        """
        curl -s -X PUT "$B/v1/me/metadata" -H "Authorization: Bearer $OTHER" -H "$JSON" \\
          -d '{"theme":"dark"}'
        SESSION=$(curl -s "$B/v1/me/sessions" -H "Authorization: Bearer $OTHER" | jq -r '.[0].id')
        ID=$(curl -s "$B/v1/me" -H "Authorization: Bearer $OTHER" | jq -r .id)
        """,
      ], parameters: ["session": "$SESSION", "user": "$ID"], token: "OTHER", body: body)
  }

  // MARK: Routes

  private static let named: [String: ExampleSetup] = [
    "POST /v1/register": ExampleSetup(
      body: ["email": "katherine@example.com", "password": .string(Example.password)]),
    "POST /v1/login/api-key": ExampleSetup(
      commands: [post("/v1/me/api-keys", #"{"name":"laptop"}"#, as: "TOKEN", to: "KEY", "key")],
      body: ["key": "$KEY"]),
    "POST /v1/token/refresh": ExampleSetup(
      commands: [signIn("ada", to: "REFRESH", "refresh_token")],
      body: ["refresh_token": "$REFRESH"]),
    "POST /v1/reauthenticate": ExampleSetup(kept: "TOKEN"),
    "POST /v1/logout": ExampleSetup(commands: [guest], token: "OTHER"),
    "POST /v1/login/code": ExampleSetup(
      commands: [
        post("/v1/login/code/request", #"{"email":"emmy@example.org"}"#, to: "FLOW", "flow"),
        ask(for: "The code in the email", "CODE"),
      ], body: ["flow": "$FLOW", "code": "$CODE"]),
    "POST /v1/login/second-factor": ExampleSetup(
      commands: [
        signIn("ayse", to: "FLOW", "flow"),
        ask(for: "The code of an authenticator app with the key \(Example.totpSecret)", "TOTP"),
      ], body: ["flow": "$FLOW", "code": "$TOTP"]),
    "POST /v1/email/verify": ExampleSetup(
      commands: [
        post(
          "/v1/register", #"{"email":"dorothy@example.com","password":"\#(Example.password)"}"#),
        ask(for: "The token in the email", "VERIFICATION"),
      ], body: ["token": "$VERIFICATION", "password": .string(Example.password)]),
    "POST /v1/password/reset": ExampleSetup(
      commands: [
        post("/v1/password/reset-request", #"{"email":"emmy@example.org"}"#),
        ask(for: "The token in the email", "RESET"),
      ], body: ["token": "$RESET", "password": .string(Example.newPassword)]),
    "POST /v1/password/change": ExampleSetup(commands: [signIn("mary")], token: "OTHER"),
    "DELETE /v1/me": ExampleSetup(commands: [guest], token: "OTHER"),
    "GET /v1/pictures/{picture}": ExampleSetup(
      commands: [
        """
        PICTURE=$(curl -s -X PUT "$B/v1/me/picture" -H "Authorization: Bearer $TOKEN" \\
          -H 'Content-Type: image/jpeg' --data-binary @picture.jpg | jq -r '.picture | split("/")[-1]')
        """
      ], parameters: ["picture": "$PICTURE"]),
    "PATCH /v1/users/{user}": ExampleSetup(parameters: ["user": Example.grace]),
    "DELETE /v1/users/{user}": ExampleSetup(
      commands: [post("/v1/users", #"{"name":"Spare"}"#, as: "SECRET", to: "ID", "id")],
      parameters: ["user": "$ID"]),
    "PUT /v1/users/{user}/password": ExampleSetup(parameters: ["user": Example.grace]),
    "POST /v1/users/{user}/password/reset-request": ExampleSetup(
      parameters: ["user": Example.grace]),
    "POST /v1/users/{user}/email/verify/request": ExampleSetup(
      commands: [
        post("/v1/users", #"{"email":"jean@example.com"}"#, as: "SECRET", to: "ID", "id")
      ], parameters: ["user": "$ID"]),
    "PUT /v1/users/{user}/roles/{role}": ExampleSetup(
      commands: [post("/v1/roles", #"{"name":"Reader"}"#, as: "SECRET", to: "ROLE", "id")],
      parameters: ["role": "$ROLE"]),
    "PUT /v1/users/{user}/permissions/{resource_server}": ExampleSetup(
      commands: [
        post(
          "/v1/resource-servers",
          #"{"app":"default","identifier":"https://orders.example.com","name":"Shop","#
            + "\n       " + #""scopes":{"read:orders":"See your orders"}}"#,
          as: "SECRET", to: "API", "id")
      ], parameters: ["resource_server": "$API"]),
    "DELETE /v1/users/{user}/identities/{identity}": ExampleSetup(
      commands: [post("/v1/me/api-keys", #"{"name":"old laptop"}"#, as: "TOKEN", to: "ID", "id")],
      parameters: ["identity": "$ID"]),
    "POST /v1/me/identities": ExampleSetup(
      commands: [guest], token: "OTHER",
      body: [
        "provider": "password", "email": "mina@example.com", "password": .string(Example.password),
      ], kept: "OTHER"),
    "POST /v1/me/email/verify": ExampleSetup(
      commands: [
        signIn("sofja"),
        post("/v1/me/email", #"{"email":"sofja@example.net"}"#, as: "OTHER", to: "FLOW", "flow"),
        ask(for: "The code in the email to the new address", "CODE"),
      ], token: "OTHER", body: ["flow": "$FLOW", "code": "$CODE"]),
    "POST /v1/email/restore": ExampleSetup(
      commands: [ask(for: "The token in the email to the old address", "RESTORATION")],
      body: ["token": "$RESTORATION", "password": .string(Example.newPassword)]),
    "POST /v1/me/second-factors/{factor}/confirm": ExampleSetup(
      commands: [
        signIn("toshiko"),
        """
        FACTOR=$(curl -s -X POST "$B/v1/me/second-factors" -H "Authorization: Bearer $OTHER" \\
          | tee /dev/stderr | jq -r .id)
        """,
        ask(for: "The code of an authenticator app with the secret above", "TOTP"),
      ], parameters: ["factor": "$FACTOR"], token: "OTHER", body: ["code": "$TOTP"], kept: "OTHER"),
    "POST /v1/me/recovery-codes": ExampleSetup(token: "OTHER"),
    "DELETE /v1/me/second-factors/{factor}": ExampleSetup(
      parameters: ["factor": "$FACTOR"], token: "OTHER"),
    "DELETE /v1/me/sessions/{session}": ExampleSetup(commands: [signIn("ada")]),
    "DELETE /v1/users/{user}/sessions/{session}": ExampleSetup(commands: [signIn("ada")]),
    "GET /v1/me/sessions/{session}/changes": writing(),
    "GET /v1/users/{user}/sessions/{session}/changes": writing(),
    "POST /v1/me/sessions/{session}/undo": writing(body: ["metadata": ["version": 1]]),
    "POST /v1/users/{user}/sessions/{session}/undo": writing(
      body: ["metadata": ["version": 1]]),
    "DELETE /v1/users/{user}/sessions": ExampleSetup(
      parameters: ["user": "5eed00000000000000000003"]),
    "DELETE /v1/keys/{key}": ExampleSetup(
      commands: [
        """
        KEY=$(curl -s "$B/v1/keys" -H "Authorization: Bearer $SECRET" \\
          | jq -r 'first(.[] | select(.current | not)).id')
        """
      ], parameters: ["key": "$KEY"]),
    // A service of the operator's own needs no secret.
    "POST /v1/connections": ExampleSetup(
      body: ["name": "work", "issuer": "https://login.example.com", "client_id": "dossier"]),
    "GET /v1/connections/{connection}": ExampleSetup(parameters: ["connection": "work"]),
    "PATCH /v1/connections/{connection}": ExampleSetup(
      parameters: ["connection": "work"], body: ["label": "Work"]),
    "DELETE /v1/connections/{connection}": ExampleSetup(
      commands: [
        post(
          "/v1/connections",
          #"{"name":"spare","issuer":"https://login.example.com","client_id":"dossier"}"#,
          as: "SECRET")
      ], parameters: ["connection": "spare"]),
    "POST /v1/connections/{connection}/check": ExampleSetup(parameters: ["connection": "work"]),
    "PUT /v1/jobs/{job}/input/{part}": ExampleSetup(
      parameters: ["part": "1"], body: ["email": "yuki@example.org"]),
    "DELETE /v1/users/{user}/second-factors": ExampleSetup(
      parameters: ["user": "5eed00000000000000000007"]),
    "GET /v1/apps/{app}/jwks.json": ExampleSetup(parameters: ["app": "default"]),
    "GET /reference/assets/{file}": ExampleSetup(
      commands: [#"FILE=$(curl -s "$B/reference" | grep -o 'reference-[0-9a-f]*\.js')"#],
      parameters: ["file": "$FILE"]),
  ]
}

/// How the example of a route finds the value of a path parameter, or creates it to delete it.
private struct Lookup {
  let variable: String
  /// The path of the list; nil for that of the route.
  let path: String?
  /// The expression of jq that selects the value in the list.
  let filter: String
  /// The body that creates an object to delete; nil if the object in the list can be deleted.
  var spare: String?

  static let all: [String: Lookup] = [
    "client": Lookup(
      variable: "CLIENT", path: "/v1/clients",
      filter: #"first(.[] | select(.name == "nightly-report")).id"#,
      spare: #"{"app":"default","name":"spare","kind":"machine"}"#),
    "resource_server": Lookup(
      variable: "API", path: "/v1/resource-servers",
      filter: #"first(.[] | select(.scopes["read:orders"])).id"#,
      spare: #"{"app":"default","identifier":"https://spare.example.com","name":"Spare"}"#),
    "role": Lookup(
      variable: "ROLE", path: "/v1/roles", filter: ".[0].id", spare: #"{"name":"Spare"}"#),
    "administrator": Lookup(
      variable: "ADMINISTRATOR", path: "/v1/administrators",
      filter: #"first(.[] | select(.role == "support")).id"#,
      spare: #"{"email":"spare@example.org","role":"viewer"}"#),
    "index": Lookup(
      variable: "INDEX", path: "/v1/indexes", filter: "first(.[] | select(.id)).id",
      spare: #"{"path":"metadata.size","kind":"number"}"#),
    "identity": Lookup(
      variable: "ID", path: "/v1/me/api-keys", filter: ".[0].id",
      spare: #"{"name":"old laptop"}"#),
    "session": Lookup(
      variable: "SESSION", path: nil, filter: "first(.[] | select(.current | not)).id"),
    "version": Lookup(variable: "VERSION", path: nil, filter: ".[0].version"),
    "job": Lookup(
      variable: "JOB", path: "/v1/jobs", filter: ".[0].id",
      spare: #"{"kind":"import","format":"dossier"}"#),
    "webhook": Lookup(
      variable: "WEBHOOK", path: "/v1/webhooks", filter: ".[0].id",
      spare: #"{"url":"https://spare.example.com/","types":["user.*"]}"#),
    "log_stream": Lookup(
      variable: "STREAM", path: "/v1/log-streams", filter: ".[0].id",
      spare: #"{"name":"spare","kind":"file"}"#),
    "mail": Lookup(variable: "MAIL", path: "/v1/mails", filter: ".[0].id"),
  ]

  /// Returns the command that sets the variable.
  ///
  /// - Parameters:
  ///   - operation: the operation of the example.
  ///   - prefix: its path before the first parameter.
  /// - Returns: the command.
  func command(in operation: Operation, at prefix: String) -> String {
    var list = path ?? prefix
    if list.hasSuffix("/users/") {
      // The list belongs to the user of the path.
      let rest = operation.route.pattern.dropFirst(list.count + "{user}".count)
      list += Example.ada + rest.prefix { $0 != "{" }
    }
    while list.hasSuffix("/") { list.removeLast() }
    let token = list.hasPrefix("/v1/me") ? "TOKEN" : "SECRET"
    let request = #"\#(variable)=$(curl -s "$B\#(list)" -H "Authorization: Bearer $\#(token)""#
    let isDeleted = operation.route.method == .delete && operation.parameters.count == 1
    if let spare, isDeleted {
      return "\(request) -H \"$JSON\" \\\n  -d '\(spare)' | jq -r .id)"
    }
    return "\(request) \\\n  | jq -r '\(filter)')"
  }
}
