package import Runtime
import JSON
import Outbound

/// The settings of mail.
package struct MailSettings: SettingsSection {
  package let sender: String
  package let senderName: String
  /// The app's own page that the links of mails lead to; empty for the pages of this deployment.
  package let page: String
  private let mails: [MailKind: AppMail]
  private let translations: MailTranslations

  package init(_ read: inout SettingsReader) {
    sender = read.text(
      "mail_from",
      .text(1...320, "email", "This setting is an email address.") {
        MailAddress.fault(in: $0) == nil
      },
      "no-reply@localhost",
      "the email address of the sender"
    )
    senderName = read.text(
      "mail_from_name",
      .text(1...100, "control", "This setting is one line without control characters.") {
        MailAddress.fault(inName: $0) == nil
      },
      "Dossier",
      "the name of the sender"
    )
    page = read.text(
      "email_link_base_url",
      .text(
        0...1_000,
        "page",
        "This setting is the URL of a page without a fragment (#), such as "
          + "https://app.example.com/account, or empty. Only this machine may use http.",
        Self.isPage
      ),
      "",
      "a page of the app that the links of mails open, such as https://app.example.com/account; the "
        + "token is in its fragment: #verify=…, #reset=… or #restore=…; if it is empty, links "
        + "open Dossier's own pages, or are the token alone in an app without a host name"
    )
    translations = MailTranslations(
      read.object(
        "mail_translations",
        SettingRule(.object) { value in
          MailTranslations.fault(in: value).map { ("translation", $0) }
        },
        "texts of mails in other languages, for users with such a locale: "
          + "{\"de\": {\"reset_subject\": …, \"reset_text\": …}}"
      )
    )
    var mails: [MailKind: AppMail] = [:]
    for kind in MailKind.allCases { mails[kind] = read.mail(kind) }
    self.mails = mails
  }

  /// Returns the subject and text of a mail in the recipient's language.
  package func texts(of kind: MailKind, in language: String?) -> AppMail {
    let usual = mails[kind]
    func text(_ part: String) -> String? {
      translations.text("\(kind.rawValue)_\(part)", in: language)
    }
    return AppMail(
      subject: text("subject") ?? usual?.subject ?? "",
      text: text("text") ?? usual?.text ?? ""
    )
  }

  private static func isPage(_ text: String) -> Bool {
    guard !text.isEmpty else { return true }
    let starts = ["https://", "http://127.0.0.1", "http://localhost"]
    return starts.contains { text.hasPrefix($0) && text != "https://" }
      && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "#") }
  }
}

extension App {
  package var mailSettings: MailSettings { settings[MailSettings.self] }
}

extension SettingRule {
  /// The subject line of a mail.
  static func subject(of kind: MailKind) -> SettingRule {
    SettingRule(.text(1...200)) { fault(subject: $0.string ?? "", text: "", kind) }
  }

  static func body(of kind: MailKind) -> SettingRule {
    SettingRule(.text(1...20_000)) { fault(subject: "", text: $0.string ?? "", kind) }
  }

  private static func fault(subject: String, text: String, _ kind: MailKind) -> Fault? {
    do throws(MailTemplateError) {
      _ = try MailTemplate(subject: subject, text: text, names: kind.places)
      return nil
    } catch {
      return ("template", "This text is not a valid template: \(error).")
    }
  }
}

extension SettingsReader {
  /// Reads the two settings of a mail.
  fileprivate mutating func mail(_ kind: MailKind) -> AppMail {
    let places = kind.places.sorted().map { "{{\($0)}}" }.joined(separator: " ")
    return AppMail(
      subject: text(
        "\(kind.rawValue)_subject",
        .subject(of: kind),
        kind.usualSubject,
        "subject of \(kind.meaning)"
      ),
      text: text(
        "\(kind.rawValue)_text",
        .body(of: kind),
        kind.usualText,
        "its text; Dossier fills in \(places)"
      )
    )
  }
}
