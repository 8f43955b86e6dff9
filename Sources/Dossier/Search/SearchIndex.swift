import JSON
package import Postgres

/// A path of an app's documents that can be searched by.
package struct SearchIndex: RowDecodable {
  package let id: IndexID
  package let document: DocumentClass
  package let names: [String]
  package let kind: FilterValue.Kind
  package let state: State
  /// Nil for one that no database knows.
  package let createdAt: Timestamp?

  package enum State: String, Sendable {
    /// Documents of before are being looked at.
    case building
    case ready
    case removing
  }

  package init(from row: Row) throws(DatabaseError) {
    id = IndexID(trusted: try row.text(0))
    guard let document = DocumentClass(rawValue: try row.text(1)),
      let names = try row.json(2).array?.compactMap(\.string),
      let kind = FilterValue.Kind(rawValue: try row.text(3)),
      let state = State(rawValue: try row.text(4))
    else { throw DatabaseError(.unexpectedColumn, "an index of an unknown class, kind or state") }
    (self.document, self.names, self.kind, self.state) = (document, names, kind, state)
    createdAt = try row.time(5)
  }

  /// One that no database knows.
  init(path: String, kind: FilterValue.Kind) throws(FilterError) {
    id = IndexID()
    (document, names) = try Filter.path(path)
    (self.kind, state, createdAt) = (kind, .ready, nil)
  }

  /// As a filter spells it.
  package var path: String { Filter.spelled(document, names) }
}

/// What users can be searched by.
package enum SearchPath: Sendable {
  /// A member of the profile.
  case member(ProfileMember)
  /// What was declared.
  case declared(SearchIndex)
}
