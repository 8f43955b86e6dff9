import CommandKit
import Tenancy
import ArgumentParser
import Runtime
import Transfer
import EventLoop
import JSON

struct UserExportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Writes all that is stored about a user, or all users of an app.",
    discussion: """
      For one user, it writes one JSON document, the same as `GET /v1/me/export`. Give it to a user \
      who asks for their data. The audit log records the export.

      With --all, it writes a line of JSON for each user, which import reads. It leaves out sessions, \
      devices, API keys, pictures, the audit log, versions and times of changes. It writes hashes of \
      passwords only with --with-password-hashes. Without them, imported users choose a password by \
      mail.
      """)
  @OptionGroup var options: AppOptions

  @Flag(help: "All users of the app.")
  var all = false

  @Option(help: ArgumentHelp("The file to write; by default standard output.", valueName: "file"))
  var output: String?

  @Flag(help: "With --all: also the hashes of passwords, which allow guessing at the passwords.")
  var withPasswordHashes = false

  @Argument(help: "The user's id or email address, verified or not.")
  var user: String?

  func validate() throws {
    guard all == (user == nil) else { throw ValidationError("Name a user, or --all.") }
    guard all || !withPasswordHashes else {
      throw ValidationError("--with-password-hashes goes with --all.")
    }
  }

  func run() throws {
    options.common.run(isLarge: all) { context async throws(CommandFailure) in
      let file = if let output { try ResultsFile(output) } else { ResultsFile() }
      guard let user else { return try await exportAll(context, to: file) }
      let path = "/v1/users/\(try await context.user(user, of: options.app))/export"
      let text = try await context.text(of: path, in: options.app)
      try file.write(text + [UInt8(ascii: "\n")])
      return CommandOutput(.null)
    }
  }

  @EventLoop private func exportAll(
    _ context: CommandContext, to file: ResultsFile
  ) async throws(CommandFailure) -> CommandOutput {
    let app = try await context.record(of: options.app).id
    var export = try await context.run { context async throws(Failure) in
      try await UserExport.begin(of: app, withHashes: withPasswordHashes, context)
    }
    let line = ProgressLine()
    var count = 0
    while true {
      let next = try await context.run { _ async throws(Failure) in try await export.next() }
      guard let page = next else { break }
      try file.write(page.text)
      count += page.count
      line.update(rows: count, "\(count) users")
    }
    line.clear()
    return CommandOutput(.null, remark: "\(count) users, \(line.rate(of: count)) a second")
  }
}
