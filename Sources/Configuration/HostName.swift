import Glibc
import Encoding

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
}
