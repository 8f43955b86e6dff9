import Glibc
import Encoding
import Outbound

/// The name of this machine, in characters that need no escaping.
package enum HostName {
  package static let own: String = {
    var bytes = [CChar](repeating: 0, count: 256)
    gethostname(&bytes, bytes.count - 1)
    let name = bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    let isPlain = name.allSatisfy { byte in
      byte.isVisible && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }
    return isPlain ? String(decoding: name, as: UTF8.self) : "unnamed"
  }()

  /// Returns the name of this host for mail relays, many of which refuse one that is not fully
  /// qualified.
  ///
  /// - Parameter issuer: the deployment's URL.
  /// - Returns: the host of the issuer or the name of this host, if it is fully qualified; else an
  ///   address literal.
  package static func forRelays(issuer: String) -> String {
    let start = issuer.firstRange(of: "://")?.upperBound ?? issuer.startIndex
    let host = String(issuer[start...].prefix { $0 != "/" && $0 != ":" })
    return [host, own].first { $0.contains(".") && MailAddress.isClientName($0) } ?? "[127.0.0.1]"
  }
}
