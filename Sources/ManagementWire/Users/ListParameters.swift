import Accounts
import Encoding
import HTTP
import Runtime

/// The query of a list of users.
struct ListParameters {
  let page: PageParameters
  let selection: FieldSelection
  /// Nil for all users.
  let search: LuceneQuery?
  private let order: (field: String, ascends: Bool)?

  /// Whether the response needs all users, for their number or their order.
  var readsAll: Bool { page.hasTotals || order != nil }

  /// - Throws: `.queryMalformed`, `.pageTooFar`.
  init(_ query: FormValues) throws(Failure) {
    selection = try FieldSelection(query)
    page = try PageParameters(query)
    if let engine = query["search_engine"], !engine.isEmpty, engine != "v3" {
      throw .queryMalformed("The search engine \(engine.excerpt(20)) is not supported. Use v3.")
    }
    if let text = query["q"], !text.isEmpty {
      search = try LuceneQuery(text)
    } else {
      search = nil
    }
    order = try query["sort"].flatMap { (text) throws(Failure) in
      text.isEmpty ? nil : try Self.order(text)
    }
  }

  private static let sortable: Set<String> = [
    "created_at", "updated_at", "email", "name", "given_name", "family_name", "nickname",
  ]

  private static func order(_ text: String) throws(Failure) -> (field: String, ascends: Bool) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, sortable.contains(String(parts[0])),
      parts[1] == "1" || parts[1] == "-1"
    else {
      let names = sortable.sorted().joined(separator: ", ")
      throw .queryMalformed("sort is field:1 or field:-1, with one of \(names).")
    }
    return (String(parts[0]), parts[1] == "1")
  }

  /// Returns users in the wanted order.
  ///
  /// - Throws: `.queryMalformed` if there are more than the profiles, whose order would be wrong.
  func sorted(_ profiles: [Profile], isComplete: Bool) throws(Failure) -> [Profile] {
    guard let order else { return profiles }
    guard isComplete else {
      throw .queryMalformed("Dossier sorts at most 1000 users. Search for fewer with q.")
    }
    let keyed = profiles.map { (key: Self.key(order.field, $0), profile: $0) }
    return keyed.sorted { first, second in
      let (a, b) = (Array(first.key.utf8), Array(second.key.utf8))
      return order.ascends ? a.lexicographicallyPrecedes(b) : b.lexicographicallyPrecedes(a)
    }.map(\.profile)
  }

  private static func key(_ field: String, _ profile: Profile) -> String {
    switch field {
    case "created_at": profile.createdAt.milliseconds
    case "updated_at": profile.updatedAt.milliseconds
    case "email": profile.email?.lowercased() ?? ""
    case "name": profile.name ?? ""
    case "given_name": profile.givenName ?? ""
    case "family_name": profile.familyName ?? ""
    default: profile.nickname ?? ""
    }
  }
}
