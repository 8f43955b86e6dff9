import Accounts
import Encoding
import EventLoop
import Federation
package import HTTP
import JSON
import OpenIDClient
import RateLimiting
package import Runtime
import Tenancy
package import WireKit
package import Records

/// The API of users of Parra, for the mobile SDKs written for it.
///
/// The SDK calls `/v1/tenants/{tenant}` for users, and an issuer for tokens. The issuer has the same
/// paths below the tenant, or `/auth` at a host of the app.
/// - Source: the requests and responses of the public SDKs; see `Moving from Parra`.
package struct ParraWire: Wire {
  static let prefix = "/v1/tenants"
  static let tenantPrefix = "\(prefix)/{tenant}"
  static let userPrefix = "\(tenantPrefix)/users/{user}"
  static let hostPrefix = "/auth"

  package init() {}

  package var routes: [Route] {
    AppInfoRoutes.routes + IssuerRoutes.routes + SessionRoutes.routes + UserRoutes.routes
      + PropertyRoutes.routes
  }

  /// The paths of features that this server does not offer, and that name no tenant.
  private static let foreignPrefixes = ["/v1/cards", "/v1/feedback", "/v1/bulk"]

  package var prefixes: [String] { [Self.prefix, Self.hostPrefix] + Self.foreignPrefixes }

  package var fields: [FieldName] { [.webAuthnSession] }

  package var crossOrigin: CrossOriginFields {
    CrossOriginFields(
      sent: [.authorization, .contentType, .requestID, .webAuthnSession],
      exposed: [.retryAfter, .requestID, .webAuthnSession]
    )
  }

  /// Returns the app whose name is the tenant of the path, or the app of the host.
  @EventLoop package func app(of call: Call) throws(Failure) -> AppReference {
    if let name = call.captures["tenant"] { return .named(name) }
    let segments = call.request.path.split(separator: "/", maxSplits: 3)
    guard segments.count > 2, segments[1] == "tenants" else { return .host }
    return .named(PercentCoding.decode(segments[2]) ?? "")
  }

  @EventLoop package func isOffered(by app: App, to call: Call) -> Bool {
    app.parraSettings.isOffered
  }

  @EventLoop package func response(to failure: Failure, of call: Call) -> Response {
    WireError(failure, of: call).response(in: ErrorForm(of: call))
  }

  package func page(for failure: Failure, at prefix: String) -> WebServerPage {
    let form: ErrorForm = prefix == Self.hostPrefix ? .both : .api
    return WebServerPage(.json, WireError(failure).json(in: form).text)
  }
}

/// The description of the app that the SDK reads at each start.
@EventLoop enum AppInfoRoutes {
  nonisolated static let routes = [
    Route(
      .get, "\(ParraWire.tenantPrefix)/applications/{application}/app-info", access: .open,
      summary: "Describe the app and its ways to sign in"
    ) { (call) async throws(Failure) in
      let app = call.context.app
      let record = try await Apps.record(of: app.name, call.context)
      let body: JSON = [
        "version_token": .string(String(app.version)),
        "application": [
          "name": .string(app.name), "bundle_id": .string(app.parraSettings.bundleID),
          "metadata": [:],
        ],
        "tenant": [
          "id": .string(app.name), "created_at": .string(record.createdAt.milliseconds),
          "updated_at": .string(record.updatedAt.milliseconds), "name": .string(app.name),
          "issuer": .string(issuer(of: app, at: call.origin)), "is_test": false,
          "hide_branding": true,
        ],
        "auth": .object(authentication(in: app)),
        "legal": ["policy_documents": []],
      ]
      return Response(.ok, json: body.serialized())
    }
  ]

  /// Returns the issuer: host, port and path, without the scheme.
  private static func issuer(of app: App, at origin: String) -> String {
    let host = origin.split(separator: "/").last ?? ""
    return "\(host)\(ParraWire.prefix)/\(app.name)"
  }

  private static func authentication(in app: App) -> JSONObject {
    let settings = app.accountSettings
    var database = JSONObject()
    if settings.isOpen(.password) {
      let least = settings.passwordMinLength
      database["password"] = [
        "rules": [
          [
            "regular_expression": .string("^.{\(least),}$"),
            "error_message": .string("A password must have at least \(least) characters."),
          ]
        ]
      ]
      database["email"] = [
        "required": true, "require_verification": .bool(settings.signUp == .verifyFirst),
        "allow_signup": .bool(settings.signUp == .immediate),
      ]
    }
    if app.passkeySettings.isOpen { database["passkeys"] = [:] }
    if app.createsAnonymousUsers { database["anonymous_auth"] = [:] }
    var all = JSONObject()
    if settings.isOpen(.emailCode) {
      // The SDK shows its screen for codes only with this configuration.
      let digits = JSONNumber(app.parraSettings.codeDigits)
      all["passwordless"] = ["sms": ["otp_length": .number(digits)]]
    }
    if app.appleConnection != nil { all["sso"] = ["apple": ["scopes": ["full_name", "email"]]] }
    // Without this member, the SDK's first screen accepts no address.
    if database.count > 0 || settings.isOpen(.emailCode) { all["database"] = .object(database) }
    return all
  }
}

extension App {
  /// The connection by which users sign in with Apple; nil without one.
  var appleConnection: Connection? {
    connections.all.first { $0.preset == .apple }
  }

  /// Whether a client without credentials becomes an anonymous user, and not a guest.
  var createsAnonymousUsers: Bool {
    accountSettings.isOpen(.anonymous) && accountSettings.signUp != .closed
  }
}

/// The settings of clients of Parra.
package struct ParraSettings: RecordPart {
  /// Whether the app has clients of Parra.
  let isOffered: Bool
  let bundleID: String
  /// The length of a mailed code that logs in.
  let codeDigits: Int

  package init(_ read: inout RecordReader) {
    isOffered = read.flag(
      "parra", false, safe: false,
      "whether clients of Parra may call the app; they set passwords by codes of 6 digits"
    )
    bundleID = read.text(
      "parra_bundle",
      .text(
        0...155, "bundle_id",
        "This setting must have only letters, digits, hyphens and dots, or be empty.",
        Self.isBundleID
      ),
      "",
      "the bundle id of the application, which clients of Parra receive"
    )
    codeDigits = read.number(
      "parra_code_digits", NetworkCode.digits, AuthenticationFlow.length,
      "digits of the codes by which clients of Parra sign in; a code for a new password has 6"
    )
  }

  private static func isBundleID(_ text: String) -> Bool {
    text.utf8.allSatisfy { $0.isLetterOrDigit || "-.".utf8.contains($0) }
  }
}

extension App {
  var parraSettings: ParraSettings { settings[ParraSettings.self] }
}
