import Encoding
import JSON
import Pages

/// Finds places of the reference by words.
///
/// A place matches if each typed word begins one of its words. If no place has them in its title, its
/// detail or its everyday words, the search reads the whole text.
struct SearchIndex {
  /// A place that a search can find.
  struct Place {
    let title: String
    var tag: String?
    let detail: String
    var isRoute = false
    let chapter: String
    let address: String
  }

  /// The parts of a place, by their weight in the order of results.
  private enum Rank: Int { case title, words, text }

  /// The maximum number of typed words; further ones are ignored.
  static let wordLimit = 10

  private var places: [Place] = []
  /// All words, by their bytes.
  private var words: [[UInt8]] = []
  /// The best rank of each word, by place.
  private var ranks: [[Int: Rank]] = []

  init(_ pages: [Page], _ audience: Reference.Audience) {
    var found: [[UInt8]: [Int: Rank]] = [:]
    func note(_ text: String, _ rank: Rank) {
      for word in Self.words(of: text) where found[word]?[places.count - 1] == nil {
        found[word, default: [:]][places.count - 1] = rank
      }
    }
    for page in pages {
      let link = audience.link(page.slug)
      places.append(
        Place(title: page.title, detail: page.summary, chapter: "Chapter", address: link)
      )
      note(page.title, .title)
      note("\(page.summary) \(page.words)", .words)
      note(page.introduction.words, .text)
      for section in page.sections {
        places.append(
          Place(
            title: section.title, tag: section.tag, detail: section.detail,
            isRoute: section.isRoute, chapter: page.title,
            address: audience.link(page.slug, section.id)
          ))
        note("\(section.title) \(section.tag ?? "")", .title)
        note("\(section.detail) \(section.words)", .words)
        note(EverydayWords.synonyms(of: "\(section.title) \(section.words)"), .words)
        for part in [section.content] + section.examples { note(part.words, .text) }
        for item in section.items {
          places.append(
            Place(
              title: item.title, detail: item.detail, chapter: page.title,
              address: item.address ?? audience.link(page.slug, item.id)
            ))
          note(item.title, .title)
          note(item.detail, .words)
          note(item.content.words, .text)
        }
      }
    }
    let sorted = found.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    words = sorted.map(\.key)
    ranks = sorted.map(\.value)
  }

  /// The places, each with its words by rank, for a search without a server.
  var json: JSON {
    var found = places.map { _ in Array(repeating: [String](), count: 3) }
    for (word, ranks) in zip(words, ranks) {
      for (place, rank) in ranks {
        found[place][rank.rawValue].append(String(decoding: word, as: UTF8.self))
      }
    }
    return .array(
      zip(places, found).map { place, words in
        [
          "title": .string(place.title), "tag": place.tag.map(JSON.string) ?? .null,
          "detail": .string(place.detail), "isRoute": .bool(place.isRoute),
          "chapter": .string(place.chapter), "address": .string(place.address),
          "words": .array(words.map { .string($0.joined(separator: " ")) }),
        ]
      })
  }

  /// Words that say nothing about what a person looks for.
  private static let fillers = Set(
    """
    a an and are can do does for get how i in is mean means my of on the through to what when with
    """.split(separator: " ").map(String.init))

  /// Returns the places that match, the best first.
  ///
  /// If none has all words, fillers and the endings of plurals do not count. If still none has all, the
  /// places with the most words match.
  /// - Complexity: O(*n*) in the number of places, for each of at most `wordLimit` words.
  func places(matching query: String) -> [Place] {
    var typed: [[UInt8]] = []
    for word in Self.words(of: query) where typed.count < Self.wordLimit && !typed.contains(word) {
      typed.append(word)
    }
    let found = places(withAllOf: typed)
    guard found.isEmpty else { return found }
    let telling = typed.filter { !Self.fillers.contains(String(decoding: $0, as: UTF8.self)) }
      .map { $0.count > 3 && $0.last == UInt8(ascii: "s") ? Array($0.dropLast()) : $0 }
    let better = places(withAllOf: telling)
    return better.isEmpty ? places(withMostOf: telling) : better
  }

  private func places(withAllOf typed: [[UInt8]]) -> [Place] {
    guard let first = typed.first else { return [] }
    var sums = self.ranks(of: first)
    var isInText = sums.mapValues { $0 == Rank.text.rawValue }
    for word in typed.dropFirst() {
      let ranks = self.ranks(of: word)
      sums = sums.reduce(into: [:]) { all, entry in
        if let rank = ranks[entry.key] { all[entry.key] = entry.value + rank }
      }
      for (place, rank) in ranks where rank == Rank.text.rawValue { isInText[place] = true }
    }
    let exact = sums.filter { isInText[$0.key] != true }
    return (exact.isEmpty ? sums : exact)
      .sorted { ($0.value, $0.key) < ($1.value, $1.key) }
      .map { places[$0.key] }
  }

  /// Returns the places that have the most of several words, in their titles or their details.
  private func places(withMostOf typed: [[UInt8]]) -> [Place] {
    var found: [Int: (words: Int, sum: Int)] = [:]
    for word in typed {
      for (place, rank) in ranks(of: word) where rank != Rank.text.rawValue {
        let before = found[place] ?? (0, 0)
        found[place] = (before.words + 1, before.sum + rank)
      }
    }
    let most = found.values.map(\.words).max() ?? 0
    return found.filter { $0.value.words == most }
      .sorted { ($0.value.sum, $0.key) < ($1.value.sum, $1.key) }
      .map { places[$0.key] }
  }

  /// Returns the best rank of each place with a word that begins like this.
  private func ranks(of start: [UInt8]) -> [Int: Int] {
    var best: [Int: Int] = [:]
    for index in firstIndex(from: start)..<words.count {
      guard words[index].starts(with: start) else { break }
      for (place, rank) in ranks[index] {
        best[place] = min(best[place] ?? rank.rawValue, rank.rawValue)
      }
    }
    return best
  }

  /// Returns the index of the first word that is not before this one.
  private func firstIndex(from word: [UInt8]) -> Int {
    var range = words.indices
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      range =
        words[middle].lexicographicallyPrecedes(word)
        ? middle + 1..<range.upperBound : range.lowerBound..<middle
    }
    return range.lowerBound
  }

  /// Returns the words of a text in lower case: letters, digits and dollars.
  private static func words(of text: String) -> [[UInt8]] {
    text.lowercased().utf8
      .split { !$0.isLetterOrDigit && $0 != UInt8(ascii: "$") && $0 < 0x80 }
      .map(Array.init)
  }
}
