import Encoding
import JSON
import Runtime

extension FuzzTarget {
  /// The text of `state`, or a change of one: the bytes that differ.
  ///
  /// No text opens that the server has not sealed itself, under the same name.
  static let redirectStates = FuzzTarget(
    "redirect-states",
    words: ["A", "-", "_", "=", ".", "%3D", "\u{0}", "{\"path\":\"/\"}"],
    bound: MemoryBound(factor: 80, base: 262_144)
  ) { input in
    expect(key.openedText(text(input), as: sealName) == nil, "a forged text opens: \(text(input))")
    var changed = sealed
    for (place, byte) in zip(changed.indices, input) { changed[place] ^= byte }
    let isOurs = changed == sealed
    let opened = key.openedText(changed.base64URL, as: sealName)
    expect((opened != nil) == isOurs, "a change at a place of the text is not seen")
    expect(opened.map { $0.json["path"] == "/u/a/connected" } ?? true, "another content")
    expect(key.openedText(changed.base64URL, as: "\(sealName)b") == nil, "it opens for another app")
    let cut = Array(sealed.prefix(input.count % sealed.count))
    expect(key.openedText(cut.base64URL, as: sealName) == nil, "a part of a text opens")
  }

  private static let key = MasterKey([UInt8](repeating: 7, count: 32))
  private static let sealName = "redirect a"

  /// A genuine text.
  private static let sealed: [UInt8] = {
    let content = JSONObject([
      ("connection", "google"), ("path", "/u/a/connected"), ("id", "i"),
    ])
    let text = try? key.sealedText(content, as: sealName, for: .seconds(86_400))
    guard let sealed = text.flatMap({ [UInt8](base64URL: $0) }) else { fatalError("no seal") }
    return sealed
  }()
}
