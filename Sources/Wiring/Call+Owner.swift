import Dossier
import EventLoop

/// What a call asks to be calculated counts against its program, or its network and there its user.
extension Call: @EventLoop JobOwner {
  package var group: [UInt8] {
    if let client { Array("client:\(client.id)".utf8) } else { request.origin.network }
  }

  package var member: [UInt8]? { user.map { Array("user:\($0.user)".utf8) } }

  package var isGone: Bool { bodySource.isGone }
}
