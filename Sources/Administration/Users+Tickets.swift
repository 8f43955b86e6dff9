package import Accounts
package import Delivery
import EventLoop
import JSON
package import Runtime

extension Users {
  /// Makes a link to a page that resets the password or verifies the address of a user.
  ///
  /// A back end hands it over, so no mail is sent. It is used once.
  /// - Parameters:
  ///   - purpose: `.reset` or `.verify`.
  ///   - ticket: how long it is valid, and what its use does.
  ///   - user: the user.
  ///   - context: the context of the request.
  /// - Returns: the link.
  /// - Throws: `.noEmail` if the user has no address, or does not sign in by the one that the reset
  ///   does not verify; `.noHostName`, `.notFound`, `.loginMethodDisabled`, `.databaseUnavailable`.
  @EventLoop package static func link(
    for purpose: EmailToken.Purpose, _ ticket: EmailToken.Ticket, of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> String {
    try context.requireOpen(.password)
    return try await change(user, context) { (transaction, found) async throws(Failure) in
      guard let address = found.address, address.isCredential || ticket.verifies else {
        throw .noEmail
      }
      let token = EmailToken(purpose, to: address.text, of: user, in: nil, context)
      guard let link = token.issue(ticket, in: transaction) else {
        throw Failure(.noHostName)
      }
      Event("ticket_create", of: user, detail: ["purpose": .string(purpose.rawValue)])
        .record(in: transaction)
      return link
    }
  }
}
