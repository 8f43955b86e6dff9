import Crypto
import EventLoop
import FoundationEssentials
import HTTP
import JSON

extension Scenario {
  /// The scenarios of second factors.
  static let factors = [
    Scenario("GET /v1/me/second-factors", 200, factor),
    Scenario("POST /v1/me/second-factors", 201) {
      try await $0.set(#"{"mfa":"optional"}"#)
      $0.become(try await $0.member("factor-\($0.app)@example.com"))
      return [:]
    },
    Scenario(
      "POST /v1/me/second-factors/{factor}/confirm", 200, #"{"code":"$digits"}"#, unconfirmedFactor
    ),
    Scenario("DELETE /v1/me/second-factors/{factor}", 204, factor),
    Scenario("POST /v1/me/recovery-codes", 200, factor),
    Scenario("POST /v1/login/second-factor", 200, #"{"flow":"$flow","code":"$recovery"}"#) {
      let made = try await factor($0)
      return made.merging(["flow": try await flow($0)]) { $1 }
    },
    Scenario("POST /v1/login/second-factor/enroll", 201, #"{"flow":"$flow"}"#) {
      $0.become(try await $0.member("enroll-\($0.app)@example.com"))
      try await $0.set(#"{"mfa":"required"}"#)
      return ["flow": try await flow($0)]
    },
  ]

  /// Returns the flow that a sign-in with the right password begins.
  @EventLoop static func flow(_ cast: Fixtures) async throws -> String {
    let body = #"{"email":"\#(cast.user.email)","password":"\#(password)"}"#
    let reply = try await cast.expect(401, cast.question(.post, "/v1/login/password", body))
    return try reply.string("flow")
  }

  /// Creates a member with a pending factor: its id is `factor`, its code `digits`.
  private static let unconfirmedFactor: Preparation = {
    try await $0.set(#"{"mfa":"optional"}"#)
    $0.become(try await $0.member("factor-\($0.app)@example.com"))
    let made = try await $0.expect(201, $0.asUser(.post, "/v1/me/second-factors"))
    return ["factor": try made.string("id"), "digits": digits(of: try made.string("secret"))]
  }

  /// Creates a member with a factor: its id is `factor`, a recovery code `recovery`.
  static let factor: Preparation = {
    var made = try await unconfirmedFactor($0)
    let path = "/v1/me/second-factors/\(made["factor"] ?? "")/confirm"
    let confirm = $0.asUser(.post, path, #"{"code":"\#(made["digits"] ?? "")"}"#)
    let reply = try await $0.expect(200, confirm)
    var user = $0.user
    user.access = try reply.string("access_token")
    user.refresh = try reply.string("refresh_token")
    user.secret = try reply.string("device_secret")
    $0.become(user)
    made["recovery"] = reply.json["recovery_codes"]?.array?.first?.string
    return made
  }

  /// Returns the current code of RFC 6238 with SHA-1, six digits and steps of 30 seconds.
  static func digits(of secret: String) -> String {
    let step = UInt64(Date().timeIntervalSince1970 / 30)
    let counter = (0..<8).map { UInt8(truncatingIfNeeded: step >> (56 - 8 * $0)) }
    let code = HMAC<Insecure.SHA1>.authenticationCode(
      for: counter, using: SymmetricKey(data: base32(secret))
    )
    let bytes = Array(code)
    let place = Int(bytes[19] & 0xf)
    let number = bytes[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) } & 0x7fff_ffff
    let text = String(number % 1_000_000)
    return String(repeating: "0", count: 6 - text.count) + text
  }

  /// Decodes base32 (RFC 4648) without padding.
  private static func base32(_ text: String) -> [UInt8] {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
    var bytes: [UInt8] = []
    var rest: UInt64 = 0
    var count = 0
    for letter in text {
      guard let value = letters.firstIndex(of: letter) else { continue }
      rest = rest << 5 | UInt64(value)
      count += 5
      guard count >= 8 else { continue }
      count -= 8
      bytes.append(UInt8(truncatingIfNeeded: rest >> UInt64(count)))
      rest &= (1 << UInt64(count)) - 1
    }
    return bytes
  }
}
