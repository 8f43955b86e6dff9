package import Runtime
import JSON
package import Postgres

/// A declared search index on a path of an app's documents.
package struct SearchIndex: RowDecodable {
  package let id: IndexID
  package let document: DocumentKind
  package let names: [String]
  package let kind: FilterValue.Kind
  package let state: State
  /// Nil for an index that is not stored.
  package let createdAt: Timestamp?

  package enum State: String, Sendable {
    /// Existing documents are being indexed.
    case building
    case ready
    case removing
  }

  package init(from row: Row) throws(DatabaseError) {
    id = IndexID(trusted: try row.text(0))
    document = try row.documentKind(1)
    guard let names = try row.json(2).array?.compactMap(\.string),
      let kind = FilterValue.Kind(rawValue: try row.text(3)),
      let state = State(rawValue: try row.text(4))
    else { throw DatabaseError(.unexpectedColumn, "an index of an unknown kind or state") }
    (self.names, self.kind, self.state) = (names, kind, state)
    createdAt = try row.time(5)
  }

  /// Creates an index that is not stored.
  package init(path: String, kind: FilterValue.Kind) throws(FilterError) {
    id = IndexID()
    (document, names) = try Filter.path(path)
    (self.kind, state, createdAt) = (kind, .ready, nil)
  }

  /// Returns whether the index is on a path, compared by bytes as in the database.
  func isOn(_ document: DocumentKind, _ names: [String]) -> Bool {
    self.document == document && self.names.elementsEqual(names) { $0.hasSameBytes(as: $1) }
  }

  /// The path as filters spell it.
  package var path: String { Filter.spelled(document, names) }
}

/// A path that searches can use.
package enum SearchPath: Sendable {
  /// A member of the profile.
  case member(ProfileMember)
  /// A path with a declared index.
  case declared(SearchIndex)
}
