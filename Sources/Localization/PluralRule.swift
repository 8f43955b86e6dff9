/// A category of the plural rules of a language.
///
/// - Source: Unicode Technical Standard 35 part 3, "Language Plural Rules".
package enum PluralCategory: String, Sendable, CaseIterable {
  case zero, one, two, few, many, other
}

/// The rule by which a language chooses the form of a text for a whole number.
///
/// A language that is not listed has a form for one, and another for all other numbers. A text
/// without the form of a category has the one of `other`.
///
/// - Source: Unicode CLDR 46, `plurals.xml`, for whole numbers.
package struct PluralRule: Sendable {
  private let family: Family

  /// Languages with the same rule, by one of them.
  private enum Family {
    case japanese, english, hindi, french, spanish, hebrew, inuktitut, arabic, russian, polish
    case serbian, czech, slovenian, lithuanian, latvian, romanian, icelandic, filipino, irish
    case scottish, welsh, maltese
  }

  /// - Parameter tag: a language tag, of which the language counts.
  package init(ofLanguage tag: String) {
    family =
      switch tag.lowercased().prefix(while: { $0 != "-" }) {
      case "bm", "bo", "dz", "id", "ig", "ii", "ja", "jv", "km", "ko", "lo", "ms", "my", "nqo",
        "sah", "ses", "sg", "su", "th", "to", "tpi", "vi", "wo", "yo", "yue", "zh":
        .japanese
      case "ak", "am", "as", "bho", "bn", "doi", "fa", "ff", "gu", "guw", "hi", "hy", "kab", "kn",
        "ln", "mg", "nso", "pa", "pcm", "si", "ti", "wa", "zu":
        .hindi
      case "fr", "pt": .french
      case "ca", "es", "it", "lld", "scn", "vec": .spanish
      case "he", "iw": .hebrew
      case "iu", "naq", "sat", "se", "sma", "smi", "smj", "smn", "sms": .inuktitut
      case "ar", "ars": .arabic
      case "be", "ru", "uk": .russian
      case "pl": .polish
      case "bs", "hr", "sh", "sr": .serbian
      case "cs", "sk": .czech
      case "dsb", "hsb", "sl": .slovenian
      case "lt": .lithuanian
      case "lv", "prg": .latvian
      case "mo", "ro": .romanian
      case "is", "mk": .icelandic
      case "ceb", "fil", "tl": .filipino
      case "ga": .irish
      case "gd": .scottish
      case "cy": .welsh
      case "mt": .maltese
      default: .english
      }
  }

  /// Returns the category of a number.
  package func category(of number: Int) -> PluralCategory {
    let count = number.magnitude
    let (ten, hundred) = (count % 10, count % 100)
    let isTeen = (11...19).contains(hundred)
    return switch family {
    case .japanese: .other
    case .english: count == 1 ? .one : .other
    case .hindi: count <= 1 ? .one : .other
    case .french: count <= 1 ? .one : count % 1_000_000 == 0 ? .many : .other
    case .spanish:
      count == 1 ? .one : count != 0 && count % 1_000_000 == 0 ? .many : .other
    case .hebrew, .inuktitut: count == 1 ? .one : count == 2 ? .two : .other
    case .arabic:
      switch (count, hundred) {
      case (0, _): .zero
      case (1, _): .one
      case (2, _): .two
      case (_, 3...10): .few
      case (_, 11...99): .many
      default: .other
      }
    case .russian:
      if ten == 1, hundred != 11 {
        .one
      } else if (2...4).contains(ten), !isTeen {
        .few
      } else {
        .many
      }
    case .polish: count == 1 ? .one : (2...4).contains(ten) && !isTeen ? .few : .many
    case .serbian:
      ten == 1 && hundred != 11 ? .one : (2...4).contains(ten) && !isTeen ? .few : .other
    case .czech: count == 1 ? .one : (2...4).contains(count) ? .few : .other
    case .slovenian:
      switch hundred {
      case 1: .one
      case 2: .two
      case 3, 4: .few
      default: .other
      }
    case .lithuanian: isTeen || ten == 0 ? .other : ten == 1 ? .one : .few
    case .latvian: isTeen || ten == 0 ? .zero : ten == 1 ? .one : .other
    case .romanian:
      count == 1 ? .one : count == 0 || (1...19).contains(hundred) ? .few : .other
    case .icelandic: ten == 1 && hundred != 11 ? .one : .other
    case .filipino: (1...3).contains(count) || ![4, 6, 9].contains(ten) ? .one : .other
    case .irish:
      switch count {
      case 1: .one
      case 2: .two
      case 3...6: .few
      case 7...10: .many
      default: .other
      }
    case .scottish:
      switch count {
      case 1, 11: .one
      case 2, 12: .two
      case 3...19: .few
      default: .other
      }
    case .welsh:
      switch count {
      case 0: .zero
      case 1: .one
      case 2: .two
      case 3: .few
      case 6: .many
      default: .other
      }
    case .maltese:
      if count == 1 {
        .one
      } else if count == 2 {
        .two
      } else if count == 0 || (3...10).contains(hundred) {
        .few
      } else {
        isTeen ? .many : .other
      }
    }
  }

  /// The categories of the language, and `other`, which each text has.
  package var categories: [PluralCategory] {
    let found = Set((0...200).map(category) + [category(of: 1_000_000)])
    return PluralCategory.allCases.filter { found.contains($0) || $0 == .other }
  }
}
