import Accounts
import Encoding
import EventLoop
import HTTP
import Runtime

/// The query of a list of users.
struct ListParameters {
  let page: PageParameters
  let selection: FieldSelection
  /// Nil for all users.
  let search: LuceneQuery?
  private let order: UserOrder?

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
      text.isEmpty ? nil : try UserOrder(text)
    }
  }

  /// Returns users in the wanted order.
  ///
  /// - Throws: `.queryMalformed` if there are more than the profiles, whose order would be wrong;
  ///   `.databaseUnavailable`.
  @EventLoop func sorted(
    _ profiles: [Profile], isComplete: Bool, _ context: RequestContext
  ) async throws(Failure) -> [Profile] {
    guard let order else { return profiles }
    guard isComplete else {
      throw .queryMalformed("Dossier sorts at most 1000 users. Search for fewer with q.")
    }
    return try await order.sorted(profiles, context)
  }
}
