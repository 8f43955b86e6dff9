import Crypto
import EventLoop
import FoundationEssentials
import HTTP
import JSON

extension Scenario {
  init(_ route: String, _ status: Int, _ prepare: @escaping Preparation) {
    self.init(route, status, nil, prepare)
  }

  /// Creates an API key of the user: its id is `identity`, its secret `secret`.
  static let apiKey: Preparation = {
    let made = try await $0.expect(201, $0.asUser(.post, "/v1/me/api-keys", #"{"name":"laptop"}"#))
    return ["identity": try made.string("id"), "secret": try made.string("key")]
  }

  /// Creates two API keys, since the last credential cannot be removed.
  static let apiKeys: Preparation = {
    _ = try await apiKey($0)
    return try await apiKey($0)
  }

  /// A user with an address and a password.
  static let member: Preparation = {
    $0.become(try await $0.member("member-\($0.app)@example.com"))
    return [:]
  }

  /// A merge of the neighbor into a user with an address, as `merge`.
  static let merged: Preparation = {
    _ = try await member($0)
    let path = "/v1/users/\($0.user.id)/merge"
    let body = #"{"from":"\#($0.neighbour.id)"}"#
    let made = try await $0.expect(200, $0.asOperator(.post, path, body))
    return ["merge": try made.string("merge_id")]
  }

  /// An abandoned mail, as `mail`.
  static let queuedMail: Preparation = { ["mail": try await $0.world.giveUpMail(of: $0.app)] }

  /// Enables mailed codes in the app.
  static let withCodes: Preparation = {
    try await $0.set(#"{"email_code":true}"#)
    return [:]
  }

  /// Enables the feeds of the app.
  static let feeds: Preparation = {
    try await $0.set(#"{"event_feed":true,"revocation_feed":true}"#)
    return [:]
  }

  /// Sets the property `volume`.
  static let property: Preparation = {
    let body = #"{"value":0.5}"#
    try await $0.expect(200, $0.asUser(.put, "/v1/me/properties/volume", body))
    return [:]
  }

  /// Writes a document in version 1.
  static func stored(_ name: String) -> Preparation {
    { cast in
      let path = "/v1/users/\(cast.user.id)/\(name)"
      let reply = await cast.ask(cast.asProgram(.put, path, #"{"a":1}"#))
      guard reply.status < 300 else { throw Unexpected(reply: reply, wanted: "a stored \(name)") }
      return [:]
    }
  }

  /// Metadata in version 1, which the session `session` has written.
  static let written: Preparation = {
    try await $0.expect(200, $0.asUser(.put, "/v1/me/metadata", #"{"a":1}"#))
    let sessions = try await $0.expect(200, $0.asUser(.get, "/v1/me/sessions"))
    return ["session": sessions.json.array?.first?["id"]?.string ?? ""]
  }

  /// Sets a schema of metadata.
  static let schema: Preparation = {
    try await $0.expect(201, $0.asOperator(.put, "/v1/schemas/metadata", #"{"minProperties":0}"#))
    return [:]
  }

  static let index = #"{"path":"metadata.theme","kind":"text"}"#

  // MARK: An issuer of tokens

  private static let secret = "a secret of the partner that is long enough to be one"

  static let issuer = """
    {"name":"partner","issuer":"https://partner.example","audience":"app","secret":"\(secret)"}
    """

  /// Adds the issuer.
  static let partner: Preparation = {
    try await $0.expect(201, $0.asOperator(.post, "/v1/issuers", issuer))
    return ["issuer": "partner"]
  }

  /// Returns a token of the issuer that is valid for an hour.
  static func token() -> String {
    let now = Int(Date().timeIntervalSince1970)
    let claims = """
      {"iss":"https://partner.example","sub":"7","aud":"app","iat":\(now),"exp":\(now + 3_600)}
      """
    let head = "\(encoded(#"{"alg":"HS256","typ":"JWT"}"#)).\(encoded(claims))"
    let code = HMAC<SHA256>.authenticationCode(
      for: Data(head.utf8), using: SymmetricKey(data: Data(secret.utf8))
    )
    return "\(head).\(encoded(Data(code)))"
  }

  private static func encoded(_ text: String) -> String { encoded(Data(text.utf8)) }

  private static func encoded(_ data: Data) -> String {
    data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
      .replacing("=", with: "")
  }

  // MARK: A picture

  /// A PNG of one pixel.
  static let pixel = Array(
    Data(
      base64Encoded: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
        + "awAAAABJRU5ErkJggg=="
    ) ?? Data()
  )

  /// Uploads a picture of the user: its name is `picture`.
  static let pictured: Preparation = {
    var upload = $0.asUser(.put, "/v1/me/picture")
    upload.body = pixel
    upload.fields[.contentType] = MediaType.png.rawValue
    let path = try await $0.expect(200, upload).string("picture")
    return ["picture": String(path.split(separator: "/").last ?? "")]
  }
}
