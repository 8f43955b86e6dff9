import ReferenceData
import Runtime

/// The default texts of all mails in one language.
protocol MailCatalog: Sendable {
  /// The language tag, such as `de`.
  var language: String { get }

  /// Returns the subject and the text of a mail, with placeholders.
  func texts(of kind: MailKind) -> (subject: String, text: String)

  /// Returns the label of the button that opens the link of a mail.
  func label(of purpose: EmailToken.Purpose) -> String

  /// Returns the title of a mail with a code.
  func title(of code: CodePurpose, _ app: String) -> String

  /// Returns the name of the device of a request.
  ///
  /// It has only known names: the client chooses the text of its `User-Agent`.
  func device(_ name: BrowserName?) -> String

  /// Returns the title of a notice, and what has changed on which device.
  func notice(
    of change: SecurityNotice, on device: String, _ app: String
  ) -> (title: String, text: String)

  /// Returns the advice to a user who has not made the change of a notice.
  func advice(_ remedy: SecurityNotice.Remedy, _ app: String) -> String
}

/// The purpose of a mailed code.
package enum CodePurpose: Sendable {
  case signIn
  case registration
  case newAddress
  case newPassword
}

enum MailCatalogs {
  static let english: any MailCatalog = EnglishMails()
  static let all = Language.allCases.map(catalog)

  private static func catalog(of language: Language) -> any MailCatalog {
    switch language {
    case .english: EnglishMails()
    case .german: GermanMails()
    }
  }

  /// Returns the texts for a language tag; nil if its language has none.
  static func best(for tag: String) -> (any MailCatalog)? {
    LanguageTag.lookup(tag) { tag in
      all.first { $0.language.utf8.elementsEqual(tag.utf8) }
    }
  }
}

enum LanguageTag {
  /// Returns what is found for a tag in lower case or for its longest prefix, as `de` of `de-AT`.
  ///
  /// - Source: RFC 4647 section 3.4.
  static func lookup<Found>(_ tag: String, _ find: (String) -> Found?) -> Found? {
    var tag = tag.lowercased()
    while true {
      if let found = find(tag) { return found }
      guard let end = tag.lastIndex(of: "-") else { return nil }
      tag = String(tag[..<end])
    }
  }
}
