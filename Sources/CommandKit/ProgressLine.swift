package import EventLoop
import Glibc

/// The progress of a long command, on standard error.
///
/// On a terminal, one line is overwritten once a second. Elsewhere, a new line is written every ten
/// seconds.
@EventLoop package final class ProgressLine {
  private let isTerminal = isatty(2) == 1
  private let start = EventLoop.now()
  private var last = EventLoop.now()
  private var isShown = false

  package init() {}

  /// Shows the line if it is time.
  ///
  /// - Parameters:
  ///   - rows: the number of rows that this run has processed.
  ///   - words: additional text.
  package func update(rows: Int, _ words: String) {
    let now = EventLoop.now()
    guard now - last >= (isTerminal ? 1 : 10) * 1_000_000_000 else { return }
    last = now
    let line = "\(words), \(rate(of: rows)) a second"
    if isTerminal {
      Output.write("\r\u{1b}[K\(line)", to: 2)
      isShown = true
    } else {
      say(line)
    }
  }

  package func rate(of rows: Int) -> Int {
    Int(Double(rows) * 1e9 / Double(max(1, EventLoop.now() - start)))
  }

  /// Clears the line for other output.
  package func clear() {
    if isShown { Output.write("\r\u{1b}[K", to: 2) }
    isShown = false
  }
}
