/// A type of error: a stable code, a kind, and the texts that all errors of the type share.
///
/// Each feature declares its own types, and lists them. A code is never reused for another type.
///
/// - Source: RFC 9457 section 3.1.1.
package struct ErrorType: Sendable {
  package let code: String
  package let kind: ErrorKind
  /// The cause, in one sentence.
  package private(set) var title = ""
  /// The advice for developers and operators.
  package private(set) var remedy = ""

  package init(_ code: String, _ kind: ErrorKind) { (self.code, self.kind) = (code, kind) }

  package func titled(_ title: String) -> ErrorType {
    var type = self
    type.title = title
    return type
  }

  package func remedied(_ remedy: String) -> ErrorType {
    var type = self
    type.remedy = remedy
    return type
  }
}

extension ErrorType: Hashable {
  package static func == (first: ErrorType, second: ErrorType) -> Bool {
    first.code == second.code
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(code) }
}
