package import Pages

/// A chart of numbers by day, with the same numbers in a table.
package struct Chart: Sendable {
  /// A number on each day.
  package struct Series: Sendable {
    let label: String
    /// The numbers by day; nil where none is known yet.
    let values: [Int?]

    package init(_ label: String, _ values: [Int?]) { (self.label, self.values) = (label, values) }

    fileprivate var greatest: Int { values.reduce(0) { max($0, $1 ?? 0) } }
  }

  private let title: String
  private let days: [String]
  private let series: [Series]

  /// The most days of a chart.
  package static let limit = 90
  private static let (width, height) = (400, 120)

  /// - Parameters:
  ///   - title: what the numbers are.
  ///   - days: the days; the last one is not over yet.
  ///   - series: one series, drawn as bars, or two, drawn as lines.
  package init(_ title: String, days: [String], _ series: [Series]) {
    (self.title, self.days, self.series) = (title, days, series)
  }

  private var isOfLines: Bool { series.count > 1 }
  private var greatest: Int { series.reduce(0) { max($0, $1.greatest) } }

  /// Returns a place in the picture, with two digits of its fraction.
  ///
  /// The unit of `numerator` is a hundredth.
  private func place(_ numerator: Int) -> String {
    let rest = numerator % 100
    return rest == 0 ? "\(numerator / 100)" : "\(numerator / 100).\(rest < 10 ? "0" : "")\(rest)"
  }

  /// Returns the top of a value, in hundredths.
  private func top(_ value: Int) -> Int {
    let room = Self.height * 100
    guard greatest > 0 else { return room }
    return room - Int((Double(value) / Double(greatest) * Double(room)).rounded())
  }

  private var bars: Markup {
    let step = Self.width * 100 / max(1, days.count)
    let items = series[0].values.enumerated().map { index, value -> Markup in
      guard let value, value > 0 else { return "" }
      // A small value is still seen.
      let top = min(top(value), Self.height * 100 - 150)
      return """
        <rect class="\(index == days.count - 1 ? "open" : "one")" x="\(place(index * step))" \
        y="\(place(top))" width="\(place(step * 4 / 5))" height="\(place(Self.height * 100 - top))"/>
        """
    }
    return "\(items)"
  }

  /// Returns the lines of a series, which a missing number breaks.
  private func lines(_ one: Series, _ style: String) -> Markup {
    let step = days.count > 1 ? Self.width * 100 / (days.count - 1) : 0
    var pieces: [[String]] = [[]]
    for (index, value) in one.values.enumerated() {
      if let value {
        pieces[pieces.count - 1].append("\(place(index * step)),\(place(top(value)))")
      } else if !pieces[pieces.count - 1].isEmpty {
        pieces.append([])
      }
    }
    let items = pieces.filter { !$0.isEmpty }.map { piece -> Markup in
      // A line of one point has no length.
      let points = piece.count == 1 ? piece + piece : piece
      return #"<polyline class="\#(style)" points="\#(points.joined(separator: " "))"/>"#
    }
    return "\(items)"
  }

  private var picture: Markup {
    let content: Markup =
      isOfLines
      ? "\(zip(series, ["one", "two"]).map { lines($0, $1) })" : bars
    return """
      <svg class="chart" role="img" viewBox="0 -4 \(Self.width) \(Self.height + 8)" \
      preserveAspectRatio="none"><title>\(summary)</title>\
      <path class="axis" d="M0 \(Self.height)H\(Self.width)M0 0H\(Self.width)"/>\(content)</svg>
      """
  }

  /// The text in place of the picture.
  private var summary: String {
    let totals = series.map { one in
      "\(one.label): at most \(one.greatest) on a day"
    }
    return "\(title). \(totals.joined(separator: "; "))"
  }

  private var table: Markup {
    let heads = series.map { #"<th scope="col" class="number">\#($0.label)</th>"# as Markup }
    let rows = days.enumerated().reversed().map { index, day -> Markup in
      let cells = series.map { one -> Markup in
        #"<td class="number">\#(one.values[index].map { "\($0)" } ?? "–")</td>"#
      }
      return """
        <tr><th scope="row">\(day)\(if: index == days.count - 1, " so far")</th>\(cells)</tr>

        """
    }
    // Ninety rows need a shorter markup than that of lists.
    return """
      <table><caption class="hidden">\(title)</caption>
      <thead><tr><th scope="col">Day</th>\(heads)</tr></thead>
      <tbody>\(rows)</tbody></table>
      """
  }

  package var markup: Markup {
    let keys = zip(series, ["one", "two"]).map { one, style -> Markup in
      #"<li class="\#(style)">\#(one.label)</li>"#
    }
    let legend: Markup? = isOfLines ? #"<ul class="keys">\#(keys)</ul>"# : nil
    return """
      <section class="card figure"><h2>\(title)</h2>\(legend)\
      <p class="scale" aria-hidden="true">\(greatest == 0 ? "None on these days" : "\(greatest)")</p>\
      \(picture)\
      <p class="ends" aria-hidden="true"><span>\(days.first ?? "")</span>\
      <span>\(days.last ?? "")</span></p>\
      <details><summary>Table</summary>\(table)</details></section>
      """
  }
}

extension Part {
  /// Returns a few important numbers, each with what it counts and a remark.
  package static func numbers(
    _ items: [(label: String, value: String, remark: String)]
  ) -> Markup {
    let cells = items.map { item -> Markup in
      """
      <div><dt>\(item.label)</dt><dd><strong>\(item.value)</strong> \
      <span class="muted">\(item.remark)</span></dd></div>
      """
    }
    return #"<dl class="numbers">\#(cells)</dl>"#
  }
}
