import Notation

/// The parts of a language tag whose codes are listed somewhere.
///
/// Left out of what the grammar allows are tags without a language of ISO 639: those that are all
/// private use (`x-…`), and irregular ones that were registered before there was a grammar.
/// - Source: RFC 5646 section 2.1.
struct LanguageTag {
  /// The language, and an extended one behind it.
  let languages: [Substring]
  let script: Substring?
  let region: Substring?

  /// The languages that extended ones belong to; `en-USA` is no Usarufa of English.
  ///
  /// - Source: the IANA registry of language subtags, and RFC 5646 section 2.2.2, which forbids
  ///   others, and more than one.
  private static let extended: Set<String> = ["ar", "kok", "lv", "ms", "sgn", "sw", "uz", "zh"]

  /// Nil when it is not well-formed.
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
    // What is for private use has a form and nothing else.
    if parts.take({ $0.lowercased() == "x" }) != nil {
      guard parts.take({ _ in true }) != nil else { return nil }
    } else {
      guard parts.take({ _ in true }) == nil else { return nil }
    }
  }

  /// The subtags, from the left.
  private struct Parts {
    private var rest: ArraySlice<Substring>

    /// None when one of them is empty, too long, or has something else than letters and digits.
    init(_ text: String) {
      let all = text.split(separator: "-", omittingEmptySubsequences: false)
      let isFit = all.allSatisfy { part in
        (1...8).contains(part.utf8.count) && part.utf8.allSatisfy { $0.isLetter || $0.isDigit }
      }
      rest = isFit ? all[...] : []
    }

    /// The next one, if it is such a one.
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
