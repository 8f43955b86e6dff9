import ArgumentParser
import Glibc

/// The question before what cannot be taken back.
struct Consent: ParsableArguments {
  @Flag(name: .shortAndLong, help: "Does not ask first.")
  var yes = false

  /// Asks a person; a program that does not say --yes is refused.
  func ask(_ question: String) throws(CommandFailure) {
    if yes { return }
    guard isatty(0) == 1 else { throw .unconfirmed(question) }
    write("\(question) [y/N] ", to: 2)
    guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else {
      throw .unconfirmed(question)
    }
  }
}
