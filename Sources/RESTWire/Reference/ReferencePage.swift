/// The readers for whom the reference is rendered.
enum ReferenceAudience: Sendable {
  case all
  /// Without the routes for API clients and operators.
  case users

  /// The query of the reference's links.
  var query: String { self == .users ? "?for=users" : "" }

  /// Returns the address of a page, or of a place in it.
  func link(_ page: String, _ place: String? = nil) -> String {
    "/reference/\(page)\(query)\(place.map { "#\($0)" } ?? "")"
  }

  /// The address of the start.
  var start: String { "/reference\(query)" }
}

/// One chapter of the reference, which has a page of its own.
struct ReferencePage: Sendable {
  /// The last part of the address.
  let slug: String
  let title: String
  /// One line on what the chapter is about.
  let summary: String
  /// Other words for the chapter, for the search.
  var words = ""
  /// The markup beside the title, such as an example; empty without one.
  var example = ""
  /// The markup below the summary.
  var introduction = ""
  var sections: [ReferenceSection] = []

  static func slug(_ title: String) -> String {
    title.lowercased().split(separator: " ").joined(separator: "-")
  }
}

/// One part of a chapter, such as a route or a type.
struct ReferenceSection: Sendable {
  /// The fragment of the address.
  let id: String
  let title: String
  /// The kind of callers, where two routes have the same title.
  var tag: String?
  /// The route, or a sentence; search results show it.
  let detail: String
  /// Whether the detail is code.
  var isRoute = false
  /// The words that find the section before other parts of its text do.
  var words = ""
  var prose = ""
  /// The markup of the examples; empty without one.
  var example = ""
  /// The list below the prose.
  var rows: [ReferenceRow] = []
}

/// One item of a list in a section, which the search finds by itself.
struct ReferenceRow: Sendable {
  /// The fragment of the address.
  let id: String
  let title: String
  /// The sentence in search results.
  let detail: String
  /// The markup of the item.
  let markup: String
  /// The address, if the item has a page of its own.
  var address: String?
}
