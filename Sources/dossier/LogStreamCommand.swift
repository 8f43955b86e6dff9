import ArgumentParser
import CommandKit
import HTTP
import LogStreams
import Records

extension LogStreamRecord: CommandRecord {
  static var furtherCommands: [any ParsableCommand.Type] { [LogStreamTest.self] }
  static var lists: [String] { ["status"] }
  static var guide: String {
    "\n  dossier log-stream create siem kind=http url=https://logs.example.com/ingest\n"
  }
}

struct LogStreamTest: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "test",
    abstract: "Sends an event of the type log_stream.test, and prints the result.")
  @OptionGroup var stream: RecordArgument<LogStreamRecord>

  func run() throws { stream.send(.post, at: "/test") }
}
