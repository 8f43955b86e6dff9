import EventLoop

/// The device of a request; most requests name none.
@EventLoop final class RequestDevice {
  fileprivate var proof: DeviceProof?
  fileprivate var record: DeviceRecord??
  fileprivate var bare: BareDevice?
}

extension RequestContext {
  /// Nil if the client has no device yet.
  package var device: DeviceProof? {
    get { requestDevice?.proof }
    set { ownRequestDevice.proof = newValue }
  }

  /// The record of that device; nil until it is read.
  var deviceRecord: DeviceRecord?? {
    get { requestDevice?.record ?? nil }
    set { ownRequestDevice.record = newValue }
  }

  /// The device of a client without device credentials.
  package var bareDevice: BareDevice? {
    get { requestDevice?.bare }
    set { ownRequestDevice.bare = newValue }
  }

  private var ownRequestDevice: RequestDevice {
    if let requestDevice { return requestDevice }
    let made = RequestDevice()
    requestDevice = made
    return made
  }
}

/// The device of a client whose protocol has device ids but no device secrets.
package struct BareDevice: Sendable {
  private let named: DeviceID?

  /// - Parameter named: the device id from an earlier login; nil if the client has none.
  package init(named: DeviceID?) { self.named = named }

  /// Returns the named device if it has no credential and room for the user, else a new device.
  ///
  /// Ids that clients make up therefore create no devices.
  @EventLoop func admitted(_ user: UserID, _ context: RequestContext) async throws(Failure)
    -> DeviceProof
  {
    guard let named else { return DeviceProof(bare: DeviceID()) }
    let proof = DeviceProof(bare: named)
    let record = try await Devices.record(of: proof, context)
    guard let record, record.isRight, record.hasRoom(for: user) else {
      return DeviceProof(bare: DeviceID())
    }
    return proof
  }
}
