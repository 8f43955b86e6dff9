/// What a filter may hold at most.
package enum FilterLimits {
  /// Bytes of the text: a URL with it, percent-encoded, passes through proxies.
  package static let length = 2_000
  /// Parentheses and `not` within each other.
  package static let depth = 16
  /// Terms: each may be a look-up for every user that another term found.
  package static let terms = 32
  /// Values of one `in`.
  package static let values = 100
  /// Characters of a string: one less than an index keeps of a stored one.
  package static let characters = 255
  /// Names in a path.
  package static let names = 8
  /// Characters of a name in a path.
  package static let nameCharacters = 128
}
