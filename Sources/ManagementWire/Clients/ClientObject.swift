import Documents
import Encoding
import JSON
import OpenID
import Records
import Runtime
import Tenancy
import WireKit

/// A client as the Management API shows and takes it.
enum ClientObject {
  /// Returns a client, with a secret that it has just got.
  static func json(_ client: StoredClient, secret: String? = nil) -> JSONObject {
    let settings = client.settings
    func list(_ texts: [String]) -> JSON { .array(texts.map(JSON.string)) }
    var json = JSONObject()
    json["tenant"] = .string(client.appName)
    json["global"] = false
    json["client_id"] = .string(client.key)
    json["client_secret"] = (client.newSecret ?? secret).map(JSON.string)
    for (name, value) in RecordObject.members(of: client) { json[name] = value }
    json["app_type"] = .string(client.kind.auth0Name)
    json["oidc_conformant"] = true
    json["grant_types"] = list(grants(of: client.kind, settings))
    json["token_endpoint_auth_method"] = client.kind.isPublic ? "none" : "client_secret_post"
    json["jwt_configuration"] = ["alg": "RS256"]
    json["oidc_logout"] = settings.backchannelLogoutURL.map {
      ["backchannel_logout_urls": .array([.string($0)])]
    }
    return json
  }

  // MARK: Grants

  /// Returns the grants that a client may use.
  private static func grants(of kind: ClientKind, _ settings: ClientSettings) -> [String] {
    let direct = DirectGrant.allCases.filter {
      // Clients have those of services and passkeys by settings of the app.
      $0.isOpen(
        password: settings.allowsPasswordGrant, emailCode: settings.allowsEmailCodeGrant,
        service: false, passkey: false)
    }
    return kind.grants.map(\.rawValue) + direct.map(\.rawValue)
  }

  /// Returns whether the server has a grant.
  static func isGrant(_ name: String) -> Bool {
    StandardGrant(rawValue: name) != nil || DirectGrant(rawValue: name) != nil
  }

  /// Returns the settings that allow grants.
  static func settings(for grants: [String]) -> [(String, JSON)] {
    func has(_ all: DirectGrant...) -> JSON { .bool(all.contains { grants.contains($0.rawValue) }) }
    return [
      ("password_grant", has(.password, .passwordRealm)), ("email_code_grant", has(.emailCode)),
    ]
  }
}

extension ClientKind {
  var auth0Name: String {
    switch self {
    case .native: "native"
    case .singlePage: "spa"
    case .web: "regular_web"
    case .machine: "non_interactive"
    }
  }
}

/// The body of a creation or a change of a client.
struct ClientBody {
  /// The attributes, by the names of their columns.
  private(set) var members = JSONObject()
  private var kind: ClientKind?
  /// Whether the client has no secret; nil if the body does not say.
  private var isPublic: Bool?
  /// Nil if the body does not say.
  private var grants: [String]?
  private var id: String?
  private var secret: GivenSecret?
  /// The members that this server lacks.
  private(set) var ignored: [String] = []
  private var reader = MemberReader()

  /// - Throws: `.invalid` with every fault.
  init(_ body: JSONObject) throws(Failure) {
    for (name, value) in body { take(name, value) }
    try reader.check()
  }

  private mutating func take(_ member: String, _ value: JSON) {
    switch member {
    case "name": members[member] = reader.string(member, value).map(JSON.string)
    case "app_type":
      if value == .null { return }
      kind = ClientKind.allCases.first { value.string?.hasSameBytes(as: $0.auth0Name) == true }
      guard kind == nil else { return }
      let all = ClientKind.allCases.map(\.auth0Name).joined(separator: ", ")
      reader.refuse(member, "choice", "An application must be one of \(all).")
    case "token_endpoint_auth_method":
      if value == .null { return }
      switch value.string {
      case "none": isPublic = true
      case "client_secret_post", "client_secret_basic": isPublic = false
      default:
        let rule = "The method must be none, client_secret_post or client_secret_basic."
        reader.refuse(member, "choice", rule)
      }
    case "grant_types":
      guard let all = reader.strings(member, value) else { return }
      let grants = all.filter(ClientObject.isGrant)
      ignored += all.filter { !ClientObject.isGrant($0) }.map { "\(member).\($0)" }
      for (name, value) in ClientObject.settings(for: grants) { members[name] = value }
      self.grants = grants
    case "oidc_conformant":
      if value != true { reader.refuse(member, "choice", "This member must be true.") }
    case "jwt_configuration":
      guard let configuration = reader.object(member, value) else { return }
      if let algorithm = configuration["alg"], algorithm != "RS256" {
        reader.refuse(member, "choice", "The member alg must be RS256.")
      }
      ignore(configuration, but: "alg", in: member)
    case "oidc_logout": takeLogout(member, value)
    case "organization_usage":
      guard value == "require" else { return ignored.append(member) }
      let rule = "Dossier has no organizations, so users without one could sign in too."
      reader.refuse(member, "choice", rule)
    case "require_pushed_authorization_requests", "require_proof_of_possession":
      guard value == true else { return ignored.append(member) }
      reader.refuse(member, "choice", "Dossier cannot require this. Send false.")
    case "client_authentication_methods":
      guard value != .null else { return }
      let rule = "Omit it, and give the client its keys by dossier client set ID assertion_keys=…."
      reader.refuse(member, "choice", rule)
    // Back ends send what they have read.
    case "ignored_members", "tenant", "global": break
    case "client_id": if value != .null { id = reader.string(member, value) }
    case "client_secret", "client_secret_sha256": takeSecret(member, value)
    // A slash is that of a path below.
    case _ where member.utf8.contains(UInt8(ascii: "/")): ignored.append(member)
    default: takeColumn(member, value)
    }
  }

  /// Takes a member that a column stores, or an object of such members; null resets all of them.
  ///
  /// A change of an object keeps the members that it does not name.
  private mutating func takeColumn(_ path: String, _ value: JSON) {
    if let column = RecordObject<ClientRecord>.column(of: path) {
      members[column.name] = value
      return
    }
    let columns = RecordObject<ClientRecord>.columns(in: path)
    if columns.isEmpty { return ignored.append(path.replacing("/", with: ".")) }
    if value == .null {
      for column in columns { members[column.name] = .null }
      return
    }
    guard let object = value.object else {
      return reader.refuse(.wrongType("/\(path)", "an object"))
    }
    for (name, value) in object { takeColumn("\(path)/\(name)", value) }
  }

  private mutating func takeSecret(_ member: String, _ value: JSON) {
    guard value != .null, let text = reader.string(member, value) else { return }
    guard secret == nil else {
      return reader.refuse(member, "secret", "Send either client_secret or client_secret_sha256.")
    }
    secret = member == "client_secret" ? .text(text) : .digest(text)
  }

  private mutating func takeLogout(_ member: String, _ value: JSON) {
    guard value != .null else { return members["backchannel_logout_url"] = .null }
    guard let logout = reader.object(member, value) else { return }
    ignore(logout, but: "backchannel_logout_urls", in: member)
    guard let urls = logout["backchannel_logout_urls"] else { return }
    guard let list = urls.array, list.count < 2 else {
      return reader.refuse(member, "choice", "Dossier calls one URL: send a list of at most one.")
    }
    members["backchannel_logout_url"] = list.first ?? .null
  }

  private mutating func ignore(_ object: JSONObject, but known: String, in member: String) {
    ignored += object.map(\.key).filter { !$0.hasSameBytes(as: known) }.map { "\(member).\($0)" }
  }

  /// Returns the client that a body describes, and the secret that it brings.
  ///
  /// Auth0 gives each client a secret. Here, one of a public kind has none, so it is ignored.
  /// - Throws: `.invalid`.
  func description() throws(Failure) -> Description {
    guard let name = members["name"]?.string else { throw .invalid([.missingProperty("name")]) }
    let kind = kind ?? (isPublic == true ? .native : .web)
    try check(against: kind)
    var described = members
    described["kind"] = .string(kind.rawValue)
    described["id"] = id.map(JSON.string)
    described["claims_profile"] = .string(ClientSettings.ClaimsProfile.auth0.rawValue)
    var text: String?
    switch kind.isPublic ? nil : secret {
    case .text(let secret): (described["secret"], text) = (.string(secret), secret)
    case .digest(let digest): described["secret_sha256"] = .string(digest)
    case nil: break
    }
    let needless = kind.isPublic && secret != nil ? ["client_secret"] : []
    return Description(
      name: name, kind: kind, id: id, secret: text, members: described,
      ignored: ignored + needless + remainingGrants(of: kind))
  }

  /// A client to create.
  struct Description {
    let name: String
    let kind: ClientKind
    /// The id and the secret that it had at another server.
    let id: String?
    let secret: String?
    /// The attributes, by the names of their columns.
    let members: JSONObject
    /// The members that this server lacks.
    let ignored: [String]
  }

  /// Whether the body has a secret.
  var bringsSecret: Bool { secret != nil }

  /// Returns a remark for each grant that a client of a kind always has, and that the body leaves out.
  func remainingGrants(of kind: ClientKind) -> [String] {
    guard let grants else { return [] }
    return kind.grants.map(\.rawValue).filter { !grants.contains($0) }
      .map { "grant_types (\($0) stays)" }
  }

  /// Checks that the body leaves the id, the secret and the kind of a client.
  ///
  /// - Throws: `.invalid`.
  func check(against stored: StoredClient) throws(Failure) {
    if let id, !id.hasSameBytes(as: stored.key) {
      throw .invalid([FieldError("/client_id", "id", "The id of an application cannot change.")])
    }
    if secret != nil {
      let rule = "A change takes no secret. Send rotate-secret, or create the application with it."
      throw .invalid([FieldError("/client_secret", "secret", rule)])
    }
    try check(against: stored.kind)
  }

  /// Checks that the body leaves the kind of a client.
  ///
  /// - Throws: `.invalid`.
  func check(against stored: ClientKind) throws(Failure) {
    if let kind, kind != stored {
      throw .invalid([FieldError("/app_type", "kind", "The type of an application cannot change.")])
    }
    if let isPublic, isPublic != stored.isPublic {
      let detail = "The type of the application decides whether it has a secret."
      throw .invalid([FieldError("/token_endpoint_auth_method", "kind", detail)])
    }
  }
}
