import Declarations
import EventLoop
import HTTP
import JSON
import Records
import Runtime
import Sessions
import Tenancy
import WireKit

/// `/v1/clients`, for the operator.
@EventLoop enum ClientResource {
  nonisolated static let operations: [Operation] =
    RecordResource<ClientRecord>.operations(
      // These give a program a secret, or more that it may do with the one it has.
      sensitive: { members in
        let kind = members["kind"]?.string.flatMap(ClientKind.init)
        return kind?.isPublic == false || members["scopes"] != nil
      },
      change: ClientRecord.changeEndingSessions, delete: ClientRecord.deleteEndingSessions) + [
      Operation(
        .post, "/v1/clients/{client}/secret", access: .operator, gives: [.ok(ClientRecord.made)],
        refuses: [.publicClient],
        summary: "Replace the secret of a client; the old one is refused at once"
      ) { (call) async throws(Failure) in
        let client = try await ClientRecord.rotateSecret(
          of: call.text("client"), in: call.onlyApp?.id, call.context)
        return RecordResource.response(.ok, client)
      }.needing(.owner, stepUp: true)
    ]
}
