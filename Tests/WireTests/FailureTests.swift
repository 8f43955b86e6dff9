import EventLoop
import Postgres
import TestSupport
import Testing

@testable import Runtime

/// Tests the failures that errors of the database become.
@Suite(.fewAtOnce) struct FailureTests {
  init() { LoopThread.start() }

  @Test @EventLoop func `a broken foreign key ends no session of clients and operators`()
    async throws
  {
    let context = try await TestService.shared.value.get().context(of: "default")
    let codes: [(role: Principal.Role, code: String)] = [
      (.anyone, "session_ended"), (.user, "session_ended"), (.client, "not_found"),
      (.operator, "not_found"), (.system, "not_found"),
    ]
    for (role, code) in codes {
      context.principal = Principal(role, in: context.app.id, scopes: .everything)
      #expect(context.failure(DatabaseError(.foreignKeyViolation, "")).type.code == code)
    }
    let other = DatabaseError(.checkViolation, "")
    #expect(context.failure(other).type.code == "internal")
  }
}
