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
  /// The members by which a client gets no more than it has.
  private nonisolated static let harmless = [
    "name", "description", "disabled", "logo_url", "terms_url", "privacy_url",
  ]

  nonisolated static let operations: [Operation] =
    RecordResource<ClientRecord>.operations(
      // All others lead users or tokens elsewhere, or give a program more power.
      sensitive: { members in members.contains { !harmless.contains(String($0.key)) } },
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
