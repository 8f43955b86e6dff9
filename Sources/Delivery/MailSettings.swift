import Tenancy
package import Runtime
import JSON
import Localization
import Outbound
package import Records

/// The settings of mail.
package struct MailSettings: RecordPart {
  package let sender: String
  /// The name of the sender; empty for the name of the app.
  package let senderName: String
  /// The app's own page that the links of mails lead to; empty for the pages of this deployment.
  package let page: String
  /// Whether an address without a user gets a mail when a client asks for one.
  package let answersUnknown: Bool
  /// Whether users get a mail when they sign in on a new device.
  package let tellsNewDevices: Bool
  /// The operator's texts by setting, without empty ones.
  private let own: [String: String]

  package init(_ read: inout RecordReader) {
    sender = read.text(
      "mail_from",
      .text(1...320, "email", "This setting must be an email address.") {
        MailAddress.fault(in: $0) == nil
      },
      "no-reply@localhost",
      "the email address of the sender"
    )
    senderName = read.text(
      "mail_from_name",
      .text(0...100, "control", "This setting must be one line without control characters.") {
        MailAddress.fault(inName: $0) == nil
      },
      "",
      "the name of the sender; if it is empty, the name of the app on its pages"
    )
    page = read.text(
      "email_link_base_url",
      .text(
        0...1_000,
        "page",
        "This setting must be the URL of a page without a fragment (#), such as "
          + "https://app.example.com/account, or empty. Only this machine may use http.",
        Self.isPage
      ),
      "",
      "a page of the app that the links of mails open, such as https://app.example.com/account; the "
        + "token is in its fragment: #verify=…, #reset=… or #restore=…; if it is empty, links "
        + "open Dossier's own pages, or are the token alone in an app without a host name"
    )
    answersUnknown = read.flag(
      "unknown_address_mail",
      false,
      safe: false,
      "whether an address without a user gets a mail that says so, when a client asks to reset its "
        + "password, or for a code while sign-up is closed"
    )
    tellsNewDevices = read.flag(
      "new_device_mail",
      false,
      safe: false,
      "whether users with a verified address get a mail when they sign in on a device that is new "
        + "to them"
    )
    var own: [String: String] = [:]
    for kind in MailKind.allCases { own.merge(read.texts(of: kind)) { $1 } }
    self.own = own
  }

  /// Returns the subject and text of a mail in one of the recipient's languages.
  ///
  /// The app's text of a language comes first, then the one of the setting, which is in the language
  /// of the app, then the one of the language's file.
  func texts(
    of kind: MailKind, in languages: [String], _ catalogs: Languages, _ own: AppTexts
  ) -> AppMail {
    let (subjectKey, textKey) = kind.texts
    let (subject, text) = (self.own["\(kind.name)_subject"], self.own["\(kind.name)_text"])
    func mail(
      _ found: (text: String, language: String)?, _ catalog: Catalog, in language: String
    ) -> AppMail {
      AppMail(
        subject: own.text(subjectKey, in: language)?.text ?? subject
          ?? catalog.source(of: subjectKey),
        text: found?.text ?? text ?? catalog.source(of: textKey), catalog: catalog,
        language: found?.language ?? catalog.language
      )
    }
    let usual = catalogs.catalogs[0]
    for language in languages {
      let catalog = catalogs.best(for: language)
      if let found = own.text(textKey, in: language) {
        return mail(found, catalog ?? usual, in: language)
      }
      if text == nil, let catalog { return mail(nil, catalog, in: language) }
    }
    return mail(own.text(textKey, in: usual.language), usual, in: usual.language)
  }

  private static func isPage(_ text: String) -> Bool {
    text.isEmpty || ClientURL.isCallable(text) && !text.utf8.contains(UInt8(ascii: "#"))
  }
}

extension App {
  package var mailSettings: MailSettings { settings[MailSettings.self] }
}

extension ColumnRule {
  /// The subject line of a mail.
  static func subject(of kind: MailKind) -> ColumnRule {
    ColumnRule(.text(0...200)) { fault(subject: $0.string ?? "", text: "", kind.subjectPlaces) }
  }

  static func body(of kind: MailKind) -> ColumnRule {
    ColumnRule(.text(0...20_000)) { fault(subject: "", text: $0.string ?? "", kind.places) }
  }

  private static func fault(subject: String, text: String, _ places: Set<String>) -> Fault? {
    do throws(MailTemplateError) {
      _ = try MailTemplate(subject: subject, text: text, names: places)
      return nil
    } catch {
      return ("template", "This text is not a valid template: \(error).")
    }
  }
}

extension RecordReader {
  /// Reads the two settings of a mail; returns those that are not empty.
  fileprivate mutating func texts(of kind: MailKind) -> [String: String] {
    func places(_ names: Set<String>) -> String {
      names.sorted().map { "{{\($0)}}" }.joined(separator: " ")
    }
    let parts = [
      (
        "subject", ColumnRule.subject(of: kind),
        "subject of \(kind.meaning); placeholders: \(places(kind.subjectPlaces))"
      ),
      (
        "text", ColumnRule.body(of: kind),
        "text of \(kind.meaning); placeholders: \(places(kind.places))"
      ),
    ]
    var own: [String: String] = [:]
    for (part, rule, meaning) in parts {
      let name = "\(kind.name)_\(part)"
      let value = text(name, rule, "", meaning + "; if it is empty, the text of its language")
      if !value.isEmpty { own[name] = value }
    }
    return own
  }
}
