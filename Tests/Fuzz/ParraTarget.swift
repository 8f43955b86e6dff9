@testable import ParraWire

extension FuzzTarget {
  /// An id of a user in a path of the wire for Parra.
  static let parraIDs = FuzzTarget(
    "parra-ids", words: ["-", "8000", "0", "f", "F", "g", "\u{e9}"],
    bound: MemoryBound(factor: 40, base: 16_384)
  ) { input in
    let text = text(input[...])
    guard let user = UserUUID.user(text) else { return }
    expect(UserUUID(user).text == text.lowercased(), "another user's id")
  }
}
