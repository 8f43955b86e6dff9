/// The scripts of letters, marks and digits, for the detection of lookalike text.
package enum Script {
  /// Returns whether a word uses one script, or scripts that are commonly mixed.
  ///
  /// This is the level Highly Restrictive of Unicode Technical Standard #39, section 5.2: one
  /// script, or Latin with the scripts of Japanese, Chinese or Korean. Digits and marks common to
  /// all scripts are ignored.
  package static func isOneWriting(_ word: some Sequence<Unicode.Scalar>) -> Bool {
    var found: Set<Substring> = []
    for scalar in word {
      if let script = of(scalar) { found.insert(script) }
    }
    return found.count < 2 || together.contains { found.isSubset(of: $0) }
  }

  private static let together: [Set<Substring>] = [
    ["Latn", "Hani", "Hira", "Kana"], ["Latn", "Hani", "Bopo"], ["Latn", "Hani", "Hang"],
  ]

  /// Returns the ISO 15924 code of a character's script, or nil if all scripts share the character.
  package static func of(_ scalar: Unicode.Scalar) -> Substring? {
    if scalar.isASCII { return scalar.properties.isAlphabetic ? "Latn" : nil }
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
      .nonspacingMark, .spacingMark, .enclosingMark, .decimalNumber, .letterNumber, .otherNumber:
      break
    default: return nil
    }
    var (low, high) = (0, starts.count)
    while high - low > 1 {
      let middle = (low + high) / 2
      if starts[middle].first <= scalar.value { low = middle } else { high = middle }
    }
    return starts[low].script == "Zyyy" ? nil : starts[low].script
  }

  private static let starts: [(first: UInt32, script: Substring)] = table.split(separator: ",")
    .compactMap { entry in
      let words = entry.split { $0 == " " || $0 == "\n" }
      return words.count == 2 ? UInt32(words[0], radix: 16).map { ($0, words[1]) } : nil
    }

  /// The characters at which the script changes, among letters, marks and numbers in code point
  /// order.
  ///
  /// - Source: Unicode 14, property Script, with Inherited treated as Common (`Zyyy`).
  private static let table = """
    30 Zyyy, 41 Latn, b2 Zyyy, ba Latn, bc Zyyy, c0 Latn, 2b9 Zyyy, 2e0 Latn, 2ec Zyyy, 370 Grek,
    374 Zyyy, 376 Grek, 3e2 Copt, 3f0 Grek, 400 Cyrl, 485 Zyyy, 487 Cyrl, 531 Armn, 591 Hebr,
    610 Arab, 640 Zyyy, 641 Arab, 64b Zyyy, 656 Arab, 670 Zyyy, 671 Arab, 710 Syrc, 750 Arab,
    780 Thaa, 7c0 Nkoo, 800 Samr, 840 Mand, 860 Syrc, 870 Arab, 900 Deva, 951 Zyyy, 955 Deva,
    980 Beng, a01 Guru, a81 Gujr, b01 Orya, b82 Taml, c00 Telu, c80 Knda, d00 Mlym, d81 Sinh,
    e01 Thai, e81 Laoo, f00 Tibt, 1000 Mymr, 10a0 Geor, 1100 Hang, 1200 Ethi, 13a0 Cher, 1401 Cans,
    1681 Ogam, 16a0 Runr, 1700 Tglg, 1720 Hano, 1740 Buhd, 1760 Tagb, 1780 Khmr, 180b Mong,
    18b0 Cans, 1900 Limb, 1950 Tale, 1980 Talu, 1a00 Bugi, 1a20 Lana, 1ab0 Zyyy, 1b00 Bali,
    1b80 Sund, 1bc0 Batk, 1c00 Lepc, 1c50 Olck, 1c80 Cyrl, 1c90 Geor, 1cd0 Zyyy, 1d00 Latn,
    1d26 Grek, 1d2b Cyrl, 1d2c Latn, 1d5d Grek, 1d62 Latn, 1d66 Grek, 1d6b Latn, 1d78 Cyrl,
    1d79 Latn, 1dbf Grek, 1dc0 Zyyy, 1e00 Latn, 1f00 Grek, 2070 Zyyy, 2071 Latn, 2074 Zyyy,
    207f Latn, 2080 Zyyy, 2090 Latn, 20d0 Zyyy, 2126 Grek, 2128 Zyyy, 212a Latn, 212c Zyyy,
    2132 Latn, 2133 Zyyy, 214e Latn, 2150 Zyyy, 2160 Latn, 2189 Zyyy, 2c00 Glag, 2c60 Latn,
    2c80 Copt, 2d00 Geor, 2d30 Tfng, 2d80 Ethi, 2de0 Cyrl, 2e2f Zyyy, 3005 Hani, 3006 Zyyy,
    3007 Hani, 302a Zyyy, 302e Hang, 3031 Zyyy, 3038 Hani, 303c Zyyy, 3041 Hira, 3099 Zyyy,
    309d Hira, 30a1 Kana, 30fc Zyyy, 30fd Kana, 3105 Bopo, 3131 Hang, 3192 Zyyy, 31a0 Bopo,
    31f0 Kana, 3220 Zyyy, 3400 Hani, a000 Yiii, a4d0 Lisu, a500 Vaii, a640 Cyrl, a6a0 Bamu,
    a717 Zyyy, a722 Latn, a788 Zyyy, a78b Latn, a800 Sylo, a830 Zyyy, a840 Phag, a880 Saur,
    a8e0 Deva, a900 Kali, a930 Rjng, a960 Hang, a980 Java, a9cf Zyyy, a9d0 Java, a9e0 Mymr,
    aa00 Cham, aa60 Mymr, aa80 Tavt, aae0 Mtei, ab01 Ethi, ab30 Latn, ab65 Grek, ab66 Latn,
    ab70 Cher, abc0 Mtei, ac00 Hang, f900 Hani, fb00 Latn, fb13 Armn, fb1d Hebr, fb50 Arab,
    fe00 Zyyy, fe2e Cyrl, fe70 Arab, ff10 Zyyy, ff21 Latn, ff66 Kana, ff70 Zyyy, ff71 Kana,
    ff9e Zyyy, ffa0 Hang, 10000 Linb, 10107 Zyyy, 10140 Grek, 101fd Zyyy, 10280 Lyci, 102a0 Cari,
    102e0 Zyyy, 10300 Ital, 10330 Goth, 10350 Perm, 10380 Ugar, 103a0 Xpeo, 10400 Dsrt, 10450 Shaw,
    10480 Osma, 104b0 Osge, 10500 Elba, 10530 Aghb, 10570 Vith, 10600 Lina, 10780 Latn, 10800 Cprt,
    10840 Armi, 10860 Palm, 10880 Nbat, 108e0 Hatr, 10900 Phnx, 10920 Lydi, 10980 Mero, 109a0 Merc,
    10a00 Khar, 10a60 Sarb, 10a80 Narb, 10ac0 Mani, 10b00 Avst, 10b40 Prti, 10b60 Phli, 10b80 Phlp,
    10c00 Orkh, 10c80 Hung, 10d00 Rohg, 10e60 Arab, 10e80 Yezi, 10f00 Sogo, 10f30 Sogd, 10f70 Ougr,
    10fb0 Chrs, 10fe0 Elym, 11000 Brah, 11080 Kthi, 110d0 Sora, 11100 Cakm, 11150 Mahj, 11180 Shrd,
    111e1 Sinh, 11200 Khoj, 11280 Mult, 112b0 Sind, 11300 Gran, 1133b Zyyy, 1133c Gran, 11400 Newa,
    11480 Tirh, 11580 Sidd, 11600 Modi, 11680 Takr, 11700 Ahom, 11800 Dogr, 118a0 Wara, 11900 Diak,
    119a0 Nand, 11a00 Zanb, 11a50 Soyo, 11ab0 Cans, 11ac0 Pauc, 11c00 Bhks, 11c72 Marc, 11d00 Gonm,
    11d60 Gong, 11ee0 Maka, 11fb0 Lisu, 11fc0 Taml, 12000 Xsux, 12f90 Cpmn, 13000 Egyp, 14400 Hluw,
    16800 Bamu, 16a40 Mroo, 16a70 Tnsa, 16ad0 Bass, 16b00 Hmng, 16e40 Medf, 16f00 Plrd, 16fe0 Tang,
    16fe1 Nshu, 16fe3 Hani, 16fe4 Kits, 16ff0 Hani, 17000 Tang, 18b00 Kits, 18d00 Tang, 1aff0 Kana,
    1b001 Hira, 1b120 Kana, 1b150 Hira, 1b164 Kana, 1b170 Nshu, 1bc00 Dupl, 1cf00 Zyyy, 1d242 Grek,
    1d2e0 Zyyy, 1da00 Sgnw, 1df00 Latn, 1e000 Glag, 1e100 Hmnp, 1e290 Toto, 1e2c0 Wcho, 1e7e0 Ethi,
    1e800 Mend, 1e900 Adlm, 1ec71 Zyyy, 1ee00 Arab, 1f100 Zyyy, 20000 Hani
    """
}
