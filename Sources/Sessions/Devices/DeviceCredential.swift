package import EventLoop
package import Runtime

/// The credential of a device, as a client sends it.
package struct DeviceCredential: Sendable {
  package let id: DeviceID
  package let secret: Credential
  /// Whether it came in a cookie, which a browser sends unasked.
  package let isCookie: Bool
  /// Whether the client has sent only an id; the secret then never leaves the server.
  package let isBare: Bool

  /// A device known by its id alone.
  ///
  /// Its secret is derived from the id, and no client gets it. Devices with a credential have other
  /// secrets.
  package init(bare id: DeviceID) {
    self.id = id
    secret = Credential(.device, of: id, salt: [UInt8](repeating: 0, count: 16))
    isCookie = false
    isBare = true
  }

  /// Reads a credential; returns nil if this master key never issued it.
  @EventLoop package init?(_ text: String, isCookie: Bool = false, _ context: RequestContext) {
    guard let secret = Credential(.device, text, context.keys.master) else { return nil }
    self.secret = secret
    self.isCookie = isCookie
    isBare = false
    id = secret.owner()
  }
}

/// The choice of the next active user of a device, after its active user logs out.
package enum NextActive: String, CaseIterable, Sendable {
  /// The logged-in user who logged in, or was chosen, last.
  case mostRecent = "most_recent"
  case none
}
