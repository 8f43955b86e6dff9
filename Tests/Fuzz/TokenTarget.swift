import Crypto
import FoundationEssentials
import Glibc
import JSON
import Notation
@testable import Dossier

extension FuzzTarget {
  /// Lines: the head and the claims of a token, its signature, a set of keys.
  ///
  /// A single line is a
  /// token as it came.
  static let tokens = FuzzTarget(
    "tokens",
    isJSON: true,
    words: [
      "alg", "typ", "kid", "crit", "b64", "jku", "jwk", "JWT", "HS256", "HS384", "HS512", "RS256",
      "PS256", "ES256", "EdDSA", "none", "iss", "sub", "aud", "exp", "nbf", "iat", "email", "name",
      "keys", "kty", "use", "sig", "RSA", "EC", "OKP", "oct", "crv", "P-256", "Ed25519", "x", "y",
      "n", "e", "k", "AQAB", "https://issuer.example", "one",
    ],
    bound: MemoryBound(factor: 200, base: 1_048_576)
  ) { input in
    let lines = lines(input)
    guard lines.count >= 3 else { return read(text(input)) }
    let signed = "\(Data(lines[0]).base64URL).\(Data(lines[1]).base64URL)"
    if (try? JSON.parse(lines[0]))?["alg"] == "HS256" {
      let code = HMAC<SHA256>.authenticationCode(
        for: Data(signed.utf8),
        using: SymmetricKey(data: secret)
      )
      let token = "\(signed).\(Data(code).base64URL)"
      let isValid = onAnotherThread { await IssuerKeys.secret(secret).verify(token) }
      expect(isValid == true, "a rightful signature is not valid: \(token)")
    }
    for token in ["\(signed).\(Data(lines[2]).base64URL)", "\(signed).\(text(lines[2]))"] {
      read(token)
    }
    guard lines.count > 3, let set = try? JSON.parse(lines[3]) else { return }
    let token = "\(signed).\(Data(lines[2]).base64URL)"
    guard (try? ExternalToken(token)) != nil else { return }
    let isValid = onAnotherThread { await IssuerKeys(set: set).verify(token) }
    expect(isValid == false, "a signature that nobody made is valid: \(token) \(set.text)")
  }

  private static func read(_ token: String) {
    let isValid = onAnotherThread { await IssuerKeys.secret(secret).verify(token) }
    expect(isValid == false, "a signature that nobody made is valid: \(token)")
    guard let read = try? ExternalToken(token) else { return }
    expectStorable(.object(read.members), "the claims of a token")
    expect(
      read.members["iss"]?.string.map { Array($0.utf8) } == Array(read.claims.iss.utf8)
        && read.members["sub"]?.string.map { Array($0.utf8) } == Array(read.claims.sub.utf8),
      "two readers find different claims in \(token)"
    )
  }

  private static let secret = [UInt8](repeating: 7, count: 64)
}

/// Waits for what must be awaited, where nobody can.
private func onAnotherThread<Value: Sendable>(
  _ body: @escaping @Sendable () async -> Value
) -> Value? {
  let result = Handover<Value>()
  Task.detached { result.put(await body()) }
  return result.take()
}

/// A value that one thread makes and another waits for.
@safe private final class Handover<Value: Sendable>: @unchecked Sendable {
  private let isThere = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
  private var value: Value?

  init() { unsafe sem_init(isThere, 0, 0) }

  deinit {
    unsafe sem_destroy(isThere)
    unsafe isThere.deallocate()
  }

  func put(_ value: Value) {
    self.value = value
    unsafe sem_post(isThere)
  }

  func take() -> Value? {
    // A signal, such as libFuzzer's every second, ends a wait.
    while unsafe sem_wait(isThere) != 0 {}
    return value
  }
}
