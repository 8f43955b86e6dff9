import Accounts
import Administration
import Documents
import Encoding
import EventLoop
import Runtime
import Sessions

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
      let all = try await Users.signIns(of: profiles.map(\.id), context)
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
