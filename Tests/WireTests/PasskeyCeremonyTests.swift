import EventLoop
import JSON
import Runtime
import Sessions
import TestSupport
import Testing

@testable import Passkeys

/// Tests the texts of ceremonies that clients bring back.
@Suite(.fewAtOnce) struct PasskeyCeremonyTests {
  init() { LoopThread.start() }

  /// Returns the context of a request to a new app with passkeys.
  @EventLoop private func app() async throws -> RequestContext {
    let cast = try await TestService.shared.value.get().cast()
    try await cast.set(#"{"passkey":"optional","passkey_rp_id":"example.org"}"#)
    return try await cast.world.context(of: cast.app)
  }

  @EventLoop private func isRefused(
    _ text: String, for purpose: PasskeyCeremony.Purpose = .signIn, by client: ClientID? = nil,
    _ context: RequestContext
  ) -> Bool {
    let failure = #expect(throws: Failure.self) {
      _ = try PasskeyCeremony(text, for: [purpose], by: client, context)
    }
    return failure?.is(.passkeyFlowExpired) == true
  }

  @Test @EventLoop func `a flow is valid for ten minutes, and then refused`() async throws {
    let context = try await app()
    let ceremony = PasskeyCeremony(.signIn, in: context.app)
    let read = try PasskeyCeremony(try ceremony.text(context), for: [.signIn, .add], context)
    #expect(read.challenge == ceremony.challenge && read.purpose == .signIn)
    #expect(PasskeyCeremony.lifetime == .seconds(600))
    for lifetime in [Duration.zero, .seconds(-1)] {
      #expect(isRefused(try ceremony.text(lifetime: lifetime, context), context))
    }
  }

  @Test @EventLoop func `a flow is of one app, client and purpose`() async throws {
    let (context, other) = (try await app(), try await app())
    let (client, another) = (ClientID(), ClientID())
    let text = try PasskeyCeremony(.signIn, by: client, in: context.app).text(context)
    _ = try PasskeyCeremony(text, for: [.signIn], by: client, context)
    #expect(isRefused(text, by: client, other))
    #expect(isRefused(text, by: another, context) && isRefused(text, context))
    #expect(isRefused(text, for: .register, by: client, context))
    #expect(isRefused(text, for: .add, by: client, context))
    let unbound = try PasskeyCeremony(.signIn, in: context.app).text(context)
    #expect(isRefused(unbound, by: client, context))
  }

  @Test @EventLoop func `the code of a passkey is valid for a minute`() async throws {
    let context = try await app()
    #expect(Passkeys.codeLifetime == .seconds(60))
    let json = JSONObject([("flow", "x"), ("credential", [:])])
    func failure(_ lifetime: Duration, at name: String) async throws -> Failure? {
      let code = try context.keys.master.sealedText(json, as: name, for: lifetime)
      return await #expect(throws: Failure.self) {
        _ = try await Passkeys.finish(byCode: code, as: .native, context)
      }
    }
    let name = "passkey code \(context.app.id)"
    #expect(try await failure(.zero, at: name)?.is(.invalidCode) == true)
    #expect(try await failure(.seconds(60), at: "passkey code")?.is(.invalidCode) == true)
    // The flow in it is checked next.
    #expect(try await failure(.seconds(60), at: name)?.is(.passkeyFlowExpired) == true)
  }
}
