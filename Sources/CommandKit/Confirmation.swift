import EventLoop
import ArgumentParser
import Glibc

/// The confirmation of an operation that cannot be undone.
package struct Confirmation: ParsableArguments {
  package init() {}

  @Flag(name: .shortAndLong, help: "Does not ask for confirmation.")
  package var yes = false

  /// Asks the operator.
  ///
  /// Throws an error if the answer is no, or if there is neither a terminal nor --yes.
  package func ask(_ question: String) throws(CommandFailure) {
    if yes { return }
    guard isatty(0) == 1 else { throw Self.failure(question) }
    Output.write("\(question) [y/N] ", to: 2)
    guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else {
      throw Self.failure(question)
    }
  }
  private static func failure(_ question: String) -> CommandFailure {
    CommandFailure("not done: \(question) Pass --yes to confirm.", .unconfirmed)
  }
}
