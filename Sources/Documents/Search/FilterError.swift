/// The place and the reason of an error in a filter.
package struct FilterError: Error, Sendable, Equatable {
  package enum Rule: String, Sendable {
    case length = "filter.length"
    case utf8 = "filter.utf8"
    case depth = "filter.depth"
    case terms = "filter.terms"
    case syntax = "filter.syntax"
    case path = "filter.path"
    case member = "filter.member"
    case `operator` = "filter.operator"
    case value = "filter.value"
    case kind = "filter.kind"
  }

  package let rule: Rule
  /// The offset in the text, in bytes from 0.
  package let position: Int
  /// The rule, in one sentence.
  package let detail: String
}
