import Accounts
import Administration
import Documents
import Encoding
import EventLoop
import HTTP
import IdentitySubjects
import JSON
import Runtime
import WireKit

/// A user as the Management API shows it.
struct UserObject {
  let json: JSONObject

  @EventLoop init(_ record: UserRecord, _ call: Call) {
    let profile = record.profile
    let id = record.foreignID ?? ForeignIDs.id(of: profile.id)
    var user = JSONObject()
    user["user_id"] = .string(id)
    user["email"] = profile.email.map { .string($0.lowercased()) }
    user["email_verified"] = profile.email.map { _ in .bool(profile.isEmailVerified) }
    user["phone_number"] = profile.phone.map(JSON.string)
    user["name"] = .string(profile.shownName)
    user["nickname"] = .string(profile.shownNickname)
    user["given_name"] = profile.givenName.map(JSON.string)
    user["family_name"] = profile.familyName.map(JSON.string)
    user["picture"] = .string(record.pictureURL ?? call.pictureURL(of: profile))
    user["created_at"] = .string(profile.createdAt.milliseconds)
    user["updated_at"] = .string(profile.updatedAt.milliseconds)
    user["identities"] = .array(IdentityObject.all(of: record, in: call.context.app).map(\.json))
    user["last_login"] = record.lastLogin.map { .string($0.milliseconds) }
    user["last_password_reset"] = record.passwordChangedAt.map { .string($0.milliseconds) }
    user["logins_count"] =
      record.loginCount > 0 ? .number(JSONNumber(record.loginCount)) : nil
    user["blocked"] = profile.isBlocked ? true : nil
    user["user_metadata"] = record.metadata
    user["app_metadata"] = record.appMetadata
    json = user
  }

  /// Returns the object with the fields that a query selects.
  func selected(by selection: FieldSelection) -> JSON { selection.applied(to: json) }
}

/// The parameters `fields` and `include_fields`.
struct FieldSelection {
  /// Nil for all fields.
  let names: [String]?
  let includes: Bool

  private static let most = 100

  /// Selects the fields of a user in a list of another resource.
  init(only names: [String]) { (self.names, includes) = (names, true) }

  /// - Throws: `.queryMalformed`.
  init(_ query: FormValues) throws(Failure) {
    let fields = query["fields"] ?? ""
    let list = fields.split(separator: ",").map(String.init)
    guard list.count <= Self.most else {
      throw .queryMalformed("fields may have at most \(Self.most) names.")
    }
    names = fields.isEmpty ? nil : list
    includes = try query.flag("include_fields") ?? true
  }

  /// Returns an object with the selected fields.
  func applied(to object: JSONObject) -> JSON {
    guard let names else { return .object(object) }
    var chosen = JSONObject()
    for (name, value) in object
    where names.contains(where: { $0.hasSameBytes(as: name) }) == includes {
      chosen[name] = value
    }
    return .object(chosen)
  }
}

extension FormValues {
  /// Returns a parameter that is `true` or `false`; nil if it is absent.
  ///
  /// - Throws: `.queryMalformed`.
  func flag(_ name: String) throws(Failure) -> Bool? {
    switch self[name] {
    case nil, "": nil
    case "true": true
    case "false": false
    default: throw .queryMalformed("\(name) must be true or false.")
    }
  }
}

extension FormValues {
  /// Returns a parameter that is a number in a range, or the usual number if it is absent.
  ///
  /// - Throws: `.queryMalformed`.
  func number(_ name: String, in range: ClosedRange<Int>, usual: Int) throws(Failure) -> Int {
    guard let text = self[name], !text.isEmpty else { return usual }
    guard let number = Int(text), range.contains(number) else {
      throw .queryMalformed(
        "Query validation error: '\(name) must be from \(range.lowerBound) to \(range.upperBound)'."
      )
    }
    return number
  }
}

extension FormValues {
  /// Refuses filters that are not supported, unless they are empty: a client would see too much.
  ///
  /// - Throws: `.queryMalformed`.
  func refuse(_ names: String...) throws(Failure) {
    for name in names where !(self[name] ?? "").isEmpty {
      throw .queryMalformed("The filter \(name) is not supported.")
    }
  }
}

extension Call {
  /// The parameters of the query.
  ///
  /// - Throws: `.queryMalformed`.
  var query: FormValues { get throws(Failure) { try query(repeating: .none) } }

  /// Returns the parameters of the query.
  ///
  /// - Throws: `.queryMalformed`.
  func query(repeating repetition: FormValues.Repetition) throws(Failure) -> FormValues {
    guard let query = FormValues(request.query, repeating: repetition) else {
      throw .queryMalformed(
        "The query must be percent-encoded UTF-8, and each parameter may occur once."
      )
    }
    return query
  }
}

/// The parameter `sort` of a list of users.
struct UserOrder {
  private let field: Field
  private let ascends: Bool

  private enum Field: String, CaseIterable {
    case blocked, email, name, nickname
    case createdAt = "created_at"
    case emailVerified = "email_verified"
    case familyName = "family_name"
    case givenName = "given_name"
    case lastLogin = "last_login"
    case loginCount = "logins_count"
    case phone = "phone_number"
    case updatedAt = "updated_at"
    case userID = "user_id"
  }

  /// - Throws: `.queryMalformed`.
  init(_ text: String) throws(Failure) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, let field = Field(rawValue: parts[0]),
      parts[1] == "1" || parts[1] == "-1"
    else {
      let names = Field.allCases.map(\.rawValue).sorted().joined(separator: ", ")
      throw .queryMalformed("sort must be field:1 or field:-1, with one of \(names).")
    }
    (self.field, ascends) = (field, parts[1] == "1")
  }

  /// Returns users in this order.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop func sorted(
    _ profiles: [Profile], _ context: RequestContext
  ) async throws(Failure) -> [Profile] {
    var signIns: [UserID: UserSignIns] = [:]
    if [.lastLogin, .loginCount, .userID].contains(field) {
      let all = try await UserRecords.signIns(of: profiles.map(\.id), context)
      for one in all { signIns[one.user] = one }
    }
    let keyed = profiles.map { profile in
      (key: Array(key(profile, signIns[profile.id]).utf8), profile: profile)
    }
    return keyed.sorted { first, second in
      let (a, b) = ascends ? (first.key, second.key) : (second.key, first.key)
      return a.lexicographicallyPrecedes(b)
    }.map(\.profile)
  }

  /// Returns a text whose bytes are in the order of the field.
  private func key(_ profile: Profile, _ signIns: UserSignIns?) -> String {
    switch field {
    case .blocked: profile.isBlocked ? "1" : "0"
    case .createdAt: profile.createdAt.milliseconds
    case .email: profile.email?.lowercased() ?? ""
    case .emailVerified: profile.isEmailVerified ? "1" : "0"
    case .familyName: profile.familyName?.lowercased() ?? ""
    case .givenName: profile.givenName?.lowercased() ?? ""
    case .lastLogin: signIns?.lastLogin?.milliseconds ?? ""
    // No number has more digits, so the bytes are in the order of the numbers.
    case .loginCount: String(signIns?.loginCount ?? 0, digits: 19)
    case .name: profile.name?.lowercased() ?? ""
    case .nickname: profile.nickname?.lowercased() ?? ""
    case .phone: profile.phone ?? ""
    case .updatedAt: profile.updatedAt.milliseconds
    case .userID: signIns?.foreignID ?? ForeignIDs.id(of: profile.id)
    }
  }
}
