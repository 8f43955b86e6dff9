import EventLoop
import Federation
import HTTP
import Runtime
import TestSupport
import Testing

/// Tests what a service brings back in `state`.
@Suite(.fewAtOnce) struct RedirectStateTests {
  init() { LoopThread.start() }

  /// Returns the context of a request to an app with a connection, and the connection.
  @EventLoop private func upstream() async throws -> (RequestContext, Connection) {
    let cast = try await TestService.shared.value.get().cast()
    try await cast.expect(
      201,
      cast.asOperator(
        .post, "/v1/connections",
        #"{"name":"upstream","issuer":"https://127.0.0.1:1","client_id":"app"}"#))
    let context = try await cast.world.context(of: cast.app)
    return (context, try #require(context.app.connections.named("upstream")))
  }

  private static let path = "/account/connected"

  /// Returns whether a state, and the response that brings it back, are refused.
  @EventLoop private func isRefused(_ text: String, _ context: RequestContext) -> Bool {
    let query = FormValues("code=c&state=\(text)"[...])
    let failures = [
      #expect(throws: Failure.self) { _ = try RedirectState(text, context) },
      #expect(throws: Failure.self) {
        _ = try RedirectResponse.forwarding(try #require(query), of: "upstream", context)
      },
    ]
    return failures.allSatisfy { $0?.is(.redirectStateInvalid) == true }
  }

  @Test @EventLoop func `a state is valid for its hour, and then refused`() async throws {
    let (context, connection) = try await upstream()
    let state = RedirectState(connection, to: Self.path, note: "user", needsProof: true)
    let text = try state.text(for: "browser", context)
    let read = try RedirectState(text, context)
    #expect(read.path == Self.path && read.note == "user" && read.needsProof)
    #expect(read.connection == "upstream" && read.isOf("browser", context))
    #expect(!read.isOf("another", context) && !read.isOf(nil, context))
    #expect(RedirectState.lifetime == .seconds(3_600))
    for lifetime in [Duration.zero, .seconds(-1), .seconds(-86_400)] {
      #expect(isRefused(try state.text(for: "browser", lifetime: lifetime, context), context))
    }
  }

  @Test @EventLoop func `an altered state, and one of another app, are refused`() async throws {
    let (context, connection) = try await upstream()
    let (other, _) = try await upstream()
    let text = try RedirectState(connection, to: Self.path).text(for: "browser", context)
    _ = try RedirectState(text, context)
    #expect(isRefused(text, other))
    let middle = text.index(text.startIndex, offsetBy: text.count / 2)
    let letter = text[middle] == "A" ? "B" : "A"
    let altered = text[..<middle] + letter + text[text.index(after: middle)...]
    let cut = String(text.dropLast())
    for wrong in [String(altered), cut, text + "A", "x", String(text.reversed())] {
      #expect(isRefused(wrong, context))
    }
  }
}
