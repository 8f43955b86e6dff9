import Encoding

/// HTML, in which each inserted text is escaped.
///
/// Only literals are markup, so an escape cannot be forgotten: there is no way from a text of the
/// program to markup but through the escape.
///
///     let item: Markup = "<li>\(name)</li>"
///
/// Values of attributes are between double quotes.
package struct Markup: Sendable, Hashable, ExpressibleByStringInterpolation {
  /// The markup as text.
  package let html: String

  package init(stringLiteral value: StaticString) { html = value.description }

  package init(stringInterpolation: StringInterpolation) { html = stringInterpolation.html }

  package struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var html = ""

    package init(literalCapacity: Int, interpolationCount: Int) {
      html.reserveCapacity(literalCapacity + 32 * interpolationCount)
    }

    package mutating func appendLiteral(_ literal: StaticString) { html += literal.description }

    /// Appends a text, escaped.
    package mutating func appendInterpolation(_ text: String) { html += HTML.escaped(text) }

    package mutating func appendInterpolation(_ number: Int) { html += String(number) }

    /// Appends markup; nothing for nil.
    package mutating func appendInterpolation(_ markup: Markup?) { html += markup?.html ?? "" }

    package mutating func appendInterpolation(_ parts: [Markup]) {
      for part in parts { html += part.html }
    }

    /// Appends markup if the condition is true.
    package mutating func appendInterpolation(if condition: Bool, _ markup: Markup) {
      if condition { html += markup.html }
    }

    /// Appends a blank and an attribute; nothing for nil.
    package mutating func appendInterpolation(attribute name: StaticString, _ value: String?) {
      if let value { html += " \(name)=\"\(HTML.escaped(value))\"" }
    }
  }
}
