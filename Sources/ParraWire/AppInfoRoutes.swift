import Accounts
import Runtime
import Tenancy
import EventLoop
import HTTP
import JSON
import WireKit

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
    if app.createsAnonymousUsers { database["anonymous_auth"] = [:] }
    var all = JSONObject()
    if settings.isOpen(.emailCode) {
      // The SDK shows its screen for codes only with this configuration.
      let digits = JSONNumber(app.parraSettings.codeDigits)
      all["passwordless"] = ["sms": ["otp_length": .number(digits)]]
    }
    // Without this member, the SDK's first screen accepts no address.
    if database.count > 0 || settings.isOpen(.emailCode) { all["database"] = .object(database) }
    return all
  }
}

extension App {
  /// Whether a client without credentials becomes an anonymous user, and not a guest.
  var createsAnonymousUsers: Bool {
    accountSettings.isOpen(.anonymous) && accountSettings.signUp != .closed
  }
}
