import Accounts
package import Delivery
package import EventLoop
package import Runtime

/// The emails to one user, as support sees them.
@EventLoop package enum UserMails {
  /// Returns the newest emails to a user: those that wait, and those of the last seven days.
  ///
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  package static func list(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> [ListedMail] {
    let email = try await Profiles.read(of: user, context).email
    var keys: [String] = []
    if let email { keys = [try await EmailAddress(email, context).key] }
    return try await MailDeliveries.list(of: user, at: keys, context)
  }
}

extension ListedMail {
  /// Returns the state of the email in one sentence.
  package var sentence: String {
    let name = kind == "code" ? "An email with a code" : "An email (\(kind))"
    switch state {
    case .sent:
      return "\(name) was sent to \(recipient ?? "") at \((endedAt ?? createdAt).text): "
        + "the mail server answered \(answer ?? "nothing")."
    case .waiting:
      return "\(name) to \(recipient ?? "") waits since \(createdAt.text)"
        + "\(answer.map { ": \($0)" } ?? "")."
    case .failed:
      return "\(name) to \(recipient ?? "") of \(createdAt.text) was not delivered"
        + "\(answer.map { ": \($0)" } ?? "")."
    }
  }
}
