import Declarations
import EventLoop
import HTTP
import RESTWire
import WireKit

/// The kinds of unauthorized callers.
enum UnauthorizedCaller: String, CaseIterable, Sendable {
  case withoutCredentials
  case withCredentialsThatAreNone
  /// A caller with forged credentials of the right form.
  case withForgedCredentials
  /// A caller with valid credentials of another kind, such as a client secret instead of a token.
  case withCredentialsOfAnotherKind
  case ofAnotherApp
  case withoutTheScope
  /// A user whose session has ended, or a disabled API client.
  case whoWasSentAway
  /// A blocked user, or a deleted API client.
  case whoIsNoMore
  case withAnExpiredToken
  /// A caller whose session is not fresh.
  case withoutAFreshProof
  /// A page of a foreign origin with the user's cookie.
  case onAForeignPage
  case fromElsewhere

  /// Returns the error for such a caller, or nil if no such caller exists.
  ///
  /// The switch has no default, so that each new kind of access or caller must be added.
  func refusal(at access: Access) -> (status: Int, code: String)? {
    switch (access, self) {
    case (.anyOf(let all), _): all.first.flatMap(refusal)
    // No route of these wires accepts another kind of token.
    case (.bearer, _): nil
    case (.user(_, .fresh), .withoutAFreshProof): (401, "reauthentication_required")
    case (.user, .withoutAFreshProof), (.open, .withoutAFreshProof),
      (.device, .withoutAFreshProof), (.client, .withoutAFreshProof),
      (.operator, .withoutAFreshProof), (.loopback, .withoutAFreshProof):
      nil
    case (.open, .withCredentialsThatAreNone), (.open, .withForgedCredentials),
      (.open, .withCredentialsOfAnotherKind):
      (401, "device_unknown")
    case (.open, .onAForeignPage), (.device, .onAForeignPage): (403, "origin_forbidden")
    case (.open, .withoutCredentials), (.open, .ofAnotherApp), (.open, .withoutTheScope),
      (.open, .whoWasSentAway), (.open, .whoIsNoMore), (.open, .withAnExpiredToken),
      (.open, .fromElsewhere):
      nil
    case (.user, .withoutCredentials): (401, "token_missing")
    case (.user, .withCredentialsThatAreNone), (.user, .withForgedCredentials),
      (.user, .withCredentialsOfAnotherKind), (.user, .ofAnotherApp):
      (401, "token_invalid")
    case (.user, .withoutTheScope): (403, "insufficient_scope")
    case (.user, .whoWasSentAway), (.user, .whoIsNoMore): (401, "session_ended")
    case (.user, .withAnExpiredToken): (401, "token_expired")
    case (.user, .onAForeignPage), (.user, .fromElsewhere): nil
    case (.device, .withoutCredentials), (.device, .withCredentialsThatAreNone),
      (.device, .withForgedCredentials), (.device, .withCredentialsOfAnotherKind),
      (.device, .ofAnotherApp):
      (401, "device_unknown")
    case (.device, .withoutTheScope), (.device, .whoWasSentAway), (.device, .whoIsNoMore),
      (.device, .withAnExpiredToken), (.device, .fromElsewhere):
      nil
    case (.client, .withoutCredentials), (.client, .withCredentialsThatAreNone),
      (.client, .withForgedCredentials), (.client, .withCredentialsOfAnotherKind),
      (.client, .ofAnotherApp), (.client, .whoWasSentAway), (.client, .whoIsNoMore):
      (401, "client_unknown")
    case (.client, .withoutTheScope), (.operator, .withoutTheScope): (403, "insufficient_scope")
    case (.client, .withAnExpiredToken), (.client, .onAForeignPage), (.client, .fromElsewhere),
      (.operator, .withAnExpiredToken), (.operator, .onAForeignPage),
      (.operator, .fromElsewhere):
      nil
    case (.operator, .withoutCredentials), (.operator, .withCredentialsThatAreNone),
      (.operator, .withForgedCredentials), (.operator, .withCredentialsOfAnotherKind),
      (.operator, .whoWasSentAway), (.operator, .whoIsNoMore):
      (401, "client_unknown")
    // A client of an app never has the operator's rights.
    case (.operator, .ofAnotherApp): (403, "insufficient_scope")
    case (.loopback, .fromElsewhere): (403, "internal_only")
    case (.loopback, .withoutCredentials), (.loopback, .withCredentialsThatAreNone),
      (.loopback, .withForgedCredentials), (.loopback, .withCredentialsOfAnotherKind),
      (.loopback, .ofAnotherApp), (.loopback, .withoutTheScope), (.loopback, .whoWasSentAway),
      (.loopback, .whoIsNoMore), (.loopback, .withAnExpiredToken), (.loopback, .onAForeignPage):
      nil
    }
  }

  /// Whether such a caller changes the state of the cast.
  var isDestructive: Bool {
    switch self {
    case .whoWasSentAway, .whoIsNoMore, .withoutTheScope, .withoutAFreshProof: true
    default: false
    }
  }

  /// Gives a request the credentials of such a caller, derived from those of the cast.
  @EventLoop func disguise(_ question: inout TestRequest, at access: Access, _ cast: Fixtures)
    async throws
  {
    switch access {
    case .open, .device: try await disguiseDevice(&question, cast)
    case .user: try await disguiseUser(&question, cast)
    case .client(let scope): try await disguiseProgram(&question, without: scope, cast)
    case .operator: try await disguiseProgram(&question, without: nil, cast)
    case .loopback: question.address = "192.0.2.1"
    case .anyOf(let all):
      if let first = all.first { try await disguise(&question, at: first, cast) }
    case .bearer: break
    }
  }

  @EventLoop private func disguiseDevice(_ question: inout TestRequest, _ cast: Fixtures)
    async throws
  {
    switch self {
    case .withCredentialsThatAreNone: question.fields[.device] = "x"
    case .withForgedCredentials: question.fields[.device] = Self.forged(cast.user.secret)
    case .withCredentialsOfAnotherKind: question.fields[.device] = cast.user.refresh
    case .ofAnotherApp: question.fields[.device] = try await cast.world.foreigners().user.secret
    case .onAForeignPage:
      question.fields[.cookie] = "\(DeviceCookie.name)=\(cast.user.secret)"
      question.fields[.origin] = "https://evil.example"
    default: break
    }
  }

  @EventLoop private func disguiseUser(_ question: inout TestRequest, _ cast: Fixtures) async throws
  {
    switch self {
    case .withCredentialsThatAreNone: question.fields[.authorization] = "Basic x"
    case .withForgedCredentials: question.authorize(Self.forged(cast.user.access))
    case .withCredentialsOfAnotherKind: question.authorize(cast.program.secret)
    case .ofAnotherApp: question.authorize(try await cast.world.foreigners().user.access)
    case .withoutTheScope: question.authorize(try await cast.poorToken())
    case .whoWasSentAway:
      try await cast.expect(204, cast.asUser(.post, "/v1/logout"))
      question.authorize(cast.user.access)
    case .whoIsNoMore:
      var block = cast.asProgram(.patch, "/v1/users/\(cast.user.id)", #"{"blocked":true}"#)
      block.fields[.contentType] = MediaType.mergePatch.rawValue
      try await cast.expect(200, block)
      question.authorize(cast.user.access)
    case .withoutAFreshProof:
      // Anonymous users are exempt from reauthentication, even with API keys.
      if cast.user.email.isEmpty { try await cast.link("\(cast.user.id)@example.com") }
      try await cast.world.age(cast.user.id)
      question.authorize(cast.user.access)
    case .withAnExpiredToken:
      question.authorize(cast.user.access)
      question.isLate = true
    default: break
    }
  }

  @EventLoop private func disguiseProgram(
    _ question: inout TestRequest, without scope: String?, _ cast: Fixtures
  ) async throws {
    let path = "/v1/clients/\(cast.program.id)"
    switch self {
    case .withCredentialsThatAreNone: question.authorize("x")
    case .withForgedCredentials: question.authorize(Self.forged(cast.program.secret))
    case .withCredentialsOfAnotherKind: question.authorize(cast.user.access)
    case .ofAnotherApp: question.authorize(try await cast.world.foreigners().program.secret)
    case .withoutTheScope:
      let scopes = Fixtures.scopes.filter { $0 != scope }.map { "\"\($0)\"" }.joined(separator: ",")
      let body =
        #"{"name":"poor","app":"\#(cast.app)","kind":"machine","scopes":[\#(scopes)]}"#
      question.authorize(try await cast.makeClient(body).secret)
    case .whoWasSentAway:
      try await cast.expect(200, cast.patch(path, #"{"disabled":true}"#))
      question.authorize(cast.program.secret)
    case .whoIsNoMore:
      try await cast.expect(204, cast.asOperator(.delete, path))
      question.authorize(cast.program.secret)
    default: break
    }
  }

  /// Returns the text with another second-to-last character, which contains no padding bits.
  private static func forged(_ text: String) -> String {
    let place = text.index(text.endIndex, offsetBy: -2)
    return text[..<place] + (text[place] == "A" ? "B" : "A") + text[text.index(after: place)...]
  }
}
