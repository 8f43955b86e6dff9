internal import DomainNames
package import Encoding

/// A text of a page or an email.
package enum Text: Sendable, Equatable {
  /// A sentence of the catalog, with a value for each of its placeholders.
  ///
  /// `{app}` needs none, since the renderer has the name of the app.
  case message(MessageKey, [String: Argument] = [:])
  /// A text from outside, such as a name. It may be in another language and direction.
  case name(String)

  /// The value of a placeholder.
  package enum Argument: Sendable, Equatable {
    case name(String)
    /// A number, which also selects the plural form of the sentence.
    case count(Int)
    case day(CalendarDay)
    /// A day and a time of day, in the zone of the value.
    case time(CalendarTime)
    /// A time to wait, rounded up.
    case wait(Duration)
    /// Another text, such as a value that is a word of the catalog or a name.
    case text(Text)

    /// Returns an address, with the domain in the form that people read.
    package static func address(_ email: String) -> Argument {
      .name(DomainName.shown(inAddress: email))
    }
  }
}

/// A part of a text: words of the catalog, or a name that is isolated from them.
package enum TextPart: Hashable {
  case words(String)
  case name(String)

  package var text: String {
    switch self {
    case .words(let text), .name(let text): text
    }
  }
}

extension String {
  /// The text without control characters and without those that change the direction of others.
  ///
  /// - Source: Unicode Standard Annex 9 section 2.
  package var withoutControls: String {
    let scalars = unicodeScalars.filter { scalar in
      switch scalar.value {
      case 0x00...0x08, 0x0b...0x1f, 0x7f...0x9f, 0x200e, 0x200f, 0x061c, 0x202a...0x202e,
        0x2066...0x2069:
        false
      default: true
      }
    }
    return String(String.UnicodeScalarView(scalars))
  }
}
