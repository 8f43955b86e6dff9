import Administration
import Declarations
import EventLoop
import HTTP
import JSON
import Runtime
import WireKit

/// `/v1/administrators`, for the operator and owners of all apps.
@EventLoop enum AdministratorResource {
  nonisolated static let operations: [Operation] =
    RecordResource<AdministratorRecord>.operations(
      right: .deployment, keeping: [.lastOwner], refusing: [.lastOwner, .ownRole]) + [
      Operation(
        .post, "/v1/administrators/{administrator}/link", access: .operator, gives: [.ok(link)],
        summary:
          "Make a link by which an administrator sets a password and an authenticator app, and "
          + "end all sessions of the administrator"
      ) { (call) async throws(Failure) in
        let link = try await AdministratorLinks.make(
          for: call.captured("administrator"), call.context)
        let start = call.context.dependencies[ConsoleAddress.self].start(with: link.token)
        let body: JSON = [
          "link": .string(start), "expires_at": .string(link.expiresAt.text),
        ]
        return Response(.ok, json: body.serialized()).sentOnce()
      }.needing(.deployment, stepUp: true)
    ]

  private nonisolated static let link = Shape.object([
    "link": .text.saying("valid for 15 minutes, and once").like(.string(Example.administratorLink)),
    "expires_at": .time(Example.played),
  ]).named("AdministratorLink", "A link by which an administrator begins to use the console.")
    .sentOnce()
}
