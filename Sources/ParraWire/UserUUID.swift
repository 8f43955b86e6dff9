import Encoding
import Runtime

/// The id of a user as a UUID, which the SDK expects.
///
/// The 12 bytes of the id are its custom bits, so no table is needed to find the user.
/// - Source: RFC 9562 section 5.8, version 8.
struct UserUUID {
  private let bytes: [UInt8]

  /// The version, the variant and the unused bits, between the halves of the id.
  private static let middle: [UInt8] = [0x80, 0, 0x80, 0]

  init(_ user: UserID) {
    let id = user.bytes
    bytes = id.prefix(6) + Self.middle + id.dropFirst(6)
  }

  var text: String {
    let digits = Array(String(hexadecimal: bytes).utf8)
    let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32]
    return groups.map { String(decoding: digits[$0], as: UTF8.self) }.joined(separator: "-")
  }

  /// Returns the user of a text; nil unless it is such a UUID.
  static func user(_ text: String) -> UserID? {
    guard text.utf8.count == 36,
      let bytes = [UInt8](hexadecimal: text.utf8.filter { $0 != UInt8(ascii: "-") }),
      bytes.count == 16, bytes[6..<10].elementsEqual(middle)
    else { return nil }
    let user = UserID(bytes: bytes[..<6] + bytes[10...])
    return UserUUID(user).text == text.lowercased() ? user : nil
  }
}
