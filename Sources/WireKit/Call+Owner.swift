import Tenancy
package import Runtime
import EventLoop
import HTTP

/// Counts the loans of a call against its network, and within the network against its user.
///
/// The loans of an API client count against the client, and within it against the user in the path.
/// So a user who sends many requests does not block the app's back end.
extension Call: @EventLoop RequestOwner {
  package var group: Int {
    var hasher = Hasher()
    if let client {
      hasher.combine(1)
      hasher.combine(client.id)
    } else {
      hasher.combine(0)
      hasher.combine(request.clientAddress.network)
    }
    return hasher.finalize()
  }

  package var member: Int? {
    var hasher = Hasher()
    if let user = context.principal.user {
      hasher.combine(2)
      hasher.combine(user)
    } else if let client, let user = captures["user"] {
      hasher.combine(3)
      hasher.combine(client.id)
      hasher.combine(user)
    } else {
      return nil
    }
    return hasher.finalize()
  }

  package var clientAddress: ClientAddress { request.clientAddress }
  package var agent: String? { request.field(.userAgent) }

  package var languages: [String] {
    request.field(.acceptLanguage).map { AcceptedLanguages($0).tags } ?? []
  }

  /// Whether the client has disconnected and the call has written nothing that needs later steps.
  package var isGone: Bool { bodySource.isGone && !context.hasWritten }
}
