package import Runtime
import EventLoop

/// The device of a request; most requests name none.
@EventLoop final class RequestDevice: RequestPart {
  fileprivate var proof: DeviceCredential?
  fileprivate var record: DeviceRecord??
  fileprivate var bare: UnauthenticatedDevice?
}

extension RequestContext {
  /// Nil if the client has no device yet.
  package var device: DeviceCredential? {
    get { part(RequestDevice.self)?.proof }
    set { ownRequestDevice.proof = newValue }
  }

  /// The record of that device; nil until it is read.
  package var deviceRecord: DeviceRecord?? {
    get { part(RequestDevice.self)?.record ?? nil }
    set { ownRequestDevice.record = newValue }
  }

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

/// The device of a client whose protocol has device ids but no device secrets.
package struct UnauthenticatedDevice: Sendable {
  /// The device id from an earlier login; nil if the client has none.
  package let named: DeviceID?

  package init(named: DeviceID?) { self.named = named }
}
