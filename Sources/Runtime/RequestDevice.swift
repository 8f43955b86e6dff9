package import EventLoop

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

/// The device of a client whose protocol has device ids but no device secrets.
package struct UnauthenticatedDevice: Sendable {
  /// The device id from an earlier login; nil if the client has none.
  package let named: DeviceID?

  package init(named: DeviceID?) { self.named = named }
}

/// The device of a request; most requests name none.
@EventLoop final class RequestDevice: RequestPart {
  fileprivate var proof: DeviceCredential? { didSet { changes += 1 } }
  fileprivate var changes = 0
  fileprivate var bare: UnauthenticatedDevice?
}

extension RequestContext {
  /// Nil if the client has no device yet.
  package var device: DeviceCredential? {
    get { part(RequestDevice.self)?.proof }
    set { ownRequestDevice.proof = newValue }
  }

  /// How often `device` was set, so that what was read of one device is not used for another.
  package var deviceChanges: Int { part(RequestDevice.self)?.changes ?? 0 }

  /// The device of a client without device credentials.
  package var bareDevice: UnauthenticatedDevice? {
    get { part(RequestDevice.self)?.bare }
    set { ownRequestDevice.bare = newValue }
  }

  private var ownRequestDevice: RequestDevice {
    if let device = part(RequestDevice.self) { return device }
    let device = RequestDevice()
    keep(device)
    return device
  }
}
