import ArgumentParser
import Configuration
import Dossier
import EventLoop
import JSON

struct UserExportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Writes all users of an app, a line of JSON each, as import reads them.",
    discussion: """
      Not in it: sessions, devices, API keys, pictures, the audit trail, versions and times of \
      changes. Hashes of passwords only where they are asked for; without them users choose a \
      password by mail where they are imported.
      """
  )
  @OptionGroup var settings: ConfigurationOptions

  @Option(help: "The app; without it the one of the setting app.")
  var app: String?

  @Option(help: ArgumentHelp("Where to; without it to standard output.", valueName: "file"))
  var output: String?

  @Flag(help: "Also the hashes of passwords: whoever has them can guess at the passwords.")
  var withPasswordHashes = false

  func run() throws {
    settings.run(.table, isLarge: true) { console async throws(CommandFailure) in
      let app = try await console.app(app)
      let file = if let output { try ResultsFile(output) } else { ResultsFile() }
      var export = try await console.doing { context async throws(Failure) in
        try await UserExport.begin(of: app, withHashes: withPasswordHashes, context)
      }
      let line = ProgressLine()
      var count = 0
      while true {
        let page: (text: [UInt8], count: Int)?
        do throws(Failure) {
          page = try await export.next()
        } catch {
          throw .refused(error)
        }
        guard let page else { break }
        try file.write(page.text)
        count += page.count
        line.update(rows: count, "\(count) users")
      }
      line.clear()
      return CommandOutput(.null, remark: "\(count) users, \(line.rate(of: count)) a second")
    }
  }
}
