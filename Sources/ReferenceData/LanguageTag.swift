import Encoding

/// The parts of a language tag that come from lists of codes.
///
/// Tags without a language of ISO 639 are not supported, although the grammar allows them. These
/// are private-use tags (`x-…`) and irregular tags registered before the grammar existed.
/// - Source: RFC 5646 section 2.1.
struct LanguageTag {
  /// The language, followed by the extended language if there is one.
  let languages: [Substring]
  let script: Substring?
  let region: Substring?

  /// The languages that may have an extended language.
  ///
  /// So `en-USA` does not mean Usarufa within English.
  ///
  /// - Source: the IANA registry of language subtags, and RFC 5646 section 2.2.2, which forbids
  ///   other languages and a second extended language.
  private static let extended: Set<String> = ["ar", "kok", "lv", "ms", "sgn", "sw", "uz", "zh"]

  /// Parses a tag.
  ///
  /// Returns nil if it is not well-formed.
  init?(_ text: String) {
    var parts = Parts(text)
    guard let language = parts.take({ (2...3).contains($0.count) && $0.isLetters }) else {
      return nil
    }
    var languages = [language]
    if Self.extended.contains(language.lowercased()),
      let part = parts.take({ $0.count == 3 && $0.isLetters })
    {
      languages.append(part)
    }
    self.languages = languages
    script = parts.take { $0.count == 4 && $0.isLetters }
    region = parts.take { $0.count == 2 && $0.isLetters || $0.count == 3 && $0.isDigits }
    var variants: Set<String> = []
    while let variant = parts.take({ $0.count >= 5 || $0.count == 4 && $0.prefix(1).isDigits }) {
      guard variants.insert(variant.lowercased()).inserted else { return nil }
    }
    var singletons: Set<String> = []
    while let singleton = parts.take({ $0.count == 1 && $0.lowercased() != "x" }) {
      guard singletons.insert(singleton.lowercased()).inserted,
        parts.take({ $0.count >= 2 }) != nil
      else { return nil }
      while parts.take({ $0.count >= 2 }) != nil {}
    }
    // Private-use subtags have no meaning to check, only a form.
    if parts.take({ $0.lowercased() == "x" }) != nil {
      guard parts.take({ _ in true }) != nil else { return nil }
    } else {
      guard parts.take({ _ in true }) == nil else { return nil }
    }
  }

  /// The remaining subtags, from the left.
  private struct Parts {
    private var rest: ArraySlice<Substring>

    /// Splits a text into subtags.
    ///
    /// The result is empty if one is empty, too long, or not alphanumeric.
    init(_ text: String) {
      let all = text.split(separator: "-", omittingEmptySubsequences: false)
      let isFit = all.allSatisfy { part in
        (1...8).contains(part.utf8.count) && part.utf8.allSatisfy { $0.isLetter || $0.isDigit }
      }
      rest = isFit ? all[...] : []
    }

    /// Takes the next subtag if it meets the condition.
    mutating func take(_ isSuch: (Substring) -> Bool) -> Substring? {
      guard let part = rest.first, isSuch(part) else { return nil }
      return rest.removeFirst()
    }
  }
}

extension Substring {
  fileprivate var isLetters: Bool { utf8.allSatisfy(\.isLetter) }
  fileprivate var isDigits: Bool { utf8.allSatisfy(\.isDigit) }
}

extension UInt8 {
  fileprivate var isLetter: Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
  }
}
