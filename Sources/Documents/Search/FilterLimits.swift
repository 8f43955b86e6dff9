/// The limits of a filter.
package enum FilterLimits {
  /// Bytes of the text, so that a URL with it, percent-encoded, passes through proxies.
  package static let length = 2_000
  /// Nested parentheses and `not`.
  package static let depth = 16
  /// Terms: each may be a lookup for every user that another term finds.
  package static let terms = 32
  /// Values of one `in`.
  package static let values = 100
  /// Characters of a string: one less than an index stores of a value.
  package static let characters = 255
  /// Candidates that a page looks up by their ids.
  ///
  /// If more users satisfy an indexed term, a page walks the users in the order of their ids until
  /// it is full.
  package static let candidates = 10_000
  /// Users of an app that a filter without an index may read, if none of them matches.
  package static let scanned = 50_000
  /// Names in a path.
  package static let names = 8
  /// Characters of a name in a path.
  package static let nameCharacters = 128
}
