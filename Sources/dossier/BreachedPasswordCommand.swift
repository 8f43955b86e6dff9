import CommandKit
import ArgumentParser
import BreachedPasswords
import EventLoop
import Glibc
import JSON

struct BreachedPasswordCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "breached-password",
    abstract: "The set of passwords from data breaches, which no user may choose.",
    subcommands: [Build.self]
  )

  struct Build: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Builds the file of the setting breached_passwords from a list of SHA-1 hashes.",
      discussion: """
        A line of the list is HASH or HASH:COUNT, as the downloader of Have I Been Pwned writes them. \
        The order does not matter. The file takes 8 bytes for each password, and twice that during a \
        run with a list that is not sorted. It is replaced as a whole when it is complete, and workers \
        use it at once. The command needs neither the settings nor the database.
        """)
    @OptionGroup var output: OutputOptions

    @Argument(help: "The list; - is standard input.")
    var list: String

    @Argument(help: "The file to build.")
    var file: String

    func run() throws {
      let (list, file, isJSON) = (list, file, output.isJSON)
      EventLoop.task {
        do {
          let count = try Self.build(file, from: list)
          let value: JSON = ["path": .string(file), "passwords": .number(JSONNumber(count))]
          Output.write(CommandOutput(value).text(asJSON: isJSON), to: 1)
        } catch let error as CommandFailure {
          end([error.reason], error.status)
        } catch let error as HashLineError {
          end(["\(list): \(error)"], .invalid)
        } catch {
          end(["\(error)"], .files)
        }
        end([], .success)
      }
      EventLoop.reactor.run()
    }

    /// Builds the set, in bounded memory.
    ///
    /// - Returns: the number of its passwords.
    @EventLoop private static func build(_ file: String, from list: String) throws -> Int {
      let descriptor = list == "-" ? 0 : open(list, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else {
        throw CommandFailure("\(list): \(systemMessage(errno))", .files)
      }
      defer { if descriptor > 0 { close(descriptor) } }
      var writer = try BreachedPasswordSetWriter(file)
      var lines = HashLines()
      let progress = ProgressLine()
      while true {
        guard let piece = LineReader.read(descriptor) else {
          throw CommandFailure("\(list): \(systemMessage(errno))", .files)
        }
        if piece.isEmpty { break }
        try lines.read(piece) { try writer.add($0) }
        progress.update(rows: lines.count, "\(lines.count) lines")
      }
      try lines.finish { try writer.add($0) }
      progress.clear()
      return try writer.finish()
    }
  }
}
