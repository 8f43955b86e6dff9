import Declarations
import Passkeys
import Representations
import Runtime
import Tenancy
import EventLoop
import HTTP
import JSON
import WireKit

/// `/v1/apps`, for the operator.
@EventLoop enum AppResource {
  nonisolated static let operations: [Operation] = [
    Operation(.get, "/v1/apps", access: .operator, gives: [.ok(.apps)], summary: "List the apps") {
      (call) async throws(Failure) in
      let administrator = call.context.principal.administrator
      let apps = try await Apps.list(call.context).filter { administrator?.mayUse($0.id) ?? true }
      return Response(.ok, list: apps, \.summary)
    },
    Operation(
      .post,
      "/v1/apps",
      access: .operator,
      takes: .body(
        .json(limit: 1_024), Fields("NewApp", "An app to create.", .text("name", .slug))
      ),
      gives: [.created(.app, "The app.", fields: [.location])],
      refuses: [.appExists],
      summary: "Create an app"
    ) { (call, name) async throws(Failure) in
      let app = try await Apps.create(name, call.context)
      var response = Self.response(.created, app, call.context)
      response.add(.location, "/v1/apps/\(app.name)")
      return response
    }.needing(.deployment),
    Operation(
      .get, "/v1/apps/{app}", access: .operator, versions: .read, gives: [.ok(.app)],
      summary: "Read an app with its hosts and the settings in force"
    ) { (call) async throws(Failure) in
      let app = try await Apps.record(of: call.text("app"), call.context)
      try call.requireAccess(to: app.id)
      return response(.ok, app, call.context)
    },
    Operation(
      .patch,
      "/v1/apps/{app}",
      access: .operator,
      takes: .body(
        .mergePatch(limit: 131_072),
        Fields(
          "AppPatch", "Changes of an app.", .optional(.object("settings", .settingsPatch)),
          .optional(.textsOrNull("hosts"))
        ).like(["settings": ["session_days": 30], "hosts": ["users.example.com"]])
      ).query(.force),
      versions: .write,
      gives: [.ok(.app)],
      refuses: [.hostTaken, .passkeyDomainInUse],
      summary: "Change settings and hosts of an app; null resets a setting to its default",
      patch
    ),
  ]

  /// The settings that lead users, links of emails or passkeys to another host.
  private static let sensitive = [
    "allowed_origins", "email_link_base_url", "passkey_origins", "passkey_rp_id",
  ]

  private static func patch(
    _ call: Call, _ settings: JSONObject?, _ hosts: [String]?
  ) async throws(Failure) -> Response {
    if call.context.principal.administrator != nil {
      try call.requireAccess(to: await Apps.record(of: call.text("app"), call.context).id)
    }
    var change = AppChange()
    if let settings {
      if settings.contains(where: { sensitive.contains(String($0.key)) }) {
        try call.requireRecent()
      }
      change.settings = settings
    }
    if let hosts {
      // A host leads browsers of users here, so it is no setting of one app.
      try call.context.require(.deployment)
      change.hosts = hosts
    }
    if try !call.isForced {
      try await Passkeys.requireSameDomain(
        after: change.settings, of: call.text("app"), call.context)
    }
    let app = try await Apps.change(call.text("app"), change, if: call.condition, call.context)
    return response(.ok, app, call.context)
  }

  private static func response(
    _ status: Status, _ app: AppRecord, _ context: RequestContext
  ) -> Response {
    let json = app.json(context.apps.catalog.settings)
    return Response(status, json: json.serialized(), tag: EntityTag(app.app.version))
  }
}
