/// The kinds of OAuth clients.
package enum ClientKind: String, CaseIterable, Sendable {
  /// A program on the user's machine, such as a mobile app.
  case native
  /// A web page without a server of its own.
  case singlePage = "single_page"
  /// A web application with a server.
  case web
  /// A program without users.
  case machine

  /// Whether the program cannot keep a secret, and so has none.
  ///
  /// - Source: RFC 6749 section 2.1.
  package var isPublic: Bool {
    switch self {
    case .native, .singlePage: true
    case .web, .machine: false
    }
  }
}
