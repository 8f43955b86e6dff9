import Dossier
import EventLoop
import HTTP

/// What a call takes counts against its network and there its user.
///
/// What a program asks for counts against the program, and there against the user whom it is about:
/// a user whose own requests are many does not keep its app's back end from acting.
extension Call: @EventLoop JobOwner {
  package var group: Int {
    var hasher = Hasher()
    if let client {
      hasher.combine(1)
      hasher.combine(client.id)
    } else {
      hasher.combine(0)
      hasher.combine(request.origin.network)
    }
    return hasher.finalize()
  }

  package var member: Int? {
    var hasher = Hasher()
    if let user {
      hasher.combine(2)
      hasher.combine(user.user)
    } else if let client, let user = captures["user"] {
      hasher.combine(3)
      hasher.combine(client.id)
      hasher.combine(user)
    } else {
      return nil
    }
    return hasher.finalize()
  }

  /// Whether nobody waits for the answer, and nothing has been written that something must follow.
  package var isGone: Bool { bodySource.isGone && !store.hasWritten }
}
