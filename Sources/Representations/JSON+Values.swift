package import JSON
package import Runtime

extension JSON {
  /// Creates a string, or null for nil.
  package init(_ text: String?) { self = text.map(JSON.string) ?? .null }

  package init(_ time: Timestamp?) { self.init(time?.text) }
}
