import ConsoleKit
import ConsolePages
import EventLoop
import JSON
import Pages
import Runtime
import WireKit

/// The emails to a user: those that wait, and those of the last seven days.
@EventLoop enum UserMailPages {
  nonisolated static let routes = [
    ConsoleVisit.page("/console/{app}/users/{user}/emails", "List the emails to a user", list)
  ]

  private static func list(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    let user = try await visit.read("users", visit.userID).json
    let mails = try await visit.read("users", visit.userID, "mails")
    var page = UserPages.page(of: user, .emails, visit)
    page.commands = ["dossier mail list --user \(visit.userID) --app \(visit.place)"]
    page.body = [
      Part.paragraph(
        "Emails that wait, and those of the last 7 days, without their texts, codes and links. "
          + "“Sent” says that the mail server has accepted the email, not that it was read.",
        isMuted: true)
    ]
    guard !mails.items.isEmpty else {
      page.body.append(Part.empty("No email was sent to this user in the last 7 days."))
      return page
    }
    page.body.append(table(of: mails.items))
    return page
  }

  static func table(of mails: [JSON]) -> Markup {
    var table = MailTable.start("Emails")
    table.rows = mails.map { MailTable.row(of: $0) }
    return table.markup
  }
}
