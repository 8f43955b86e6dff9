import ArgumentParser
import Documents
import HTTP
import JSON

extension UserCommand {
  struct Document: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows a document of a user, or changes it.",
      discussion: """
        Members are changed one by one; null removes one. A value that is JSON is taken \
        as JSON, any other as text. --from replaces the whole document.

          dossier user document ada@example.com metadata
          dossier user document ada@example.com app-metadata plan=pro display_announcement=true
          echo '{"theme": "dark"}' | dossier user document ada@example.com metadata --from -
        """)
    @OptionGroup var user: UserArgument
    @Argument(help: .document) var document: DocumentKind

    @Option(
      help: ArgumentHelp("The new document, in JSON; - is standard input.", valueName: "file")
    )
    var from: String?

    @Option(help: "Changes nothing unless the stored version is this one.")
    var ifVersion: Int?

    @Argument(help: ArgumentHelp("Members to change.", valueName: "member=value"))
    var members: [NamedValue] = []

    func validate() throws {
      guard from == nil || members.isEmpty else {
        throw ValidationError("Give either --from or members.")
      }
    }

    func run() throws {
      user.run { context, path async throws(CommandFailure) in
        var request = APIRequest(.get, "\(path)/\(document.pathName)")
        (request.app, request.ifVersion) = (user.options.app, ifVersion)
        if let from {
          // The text is sent as it is, which keeps its numbers.
          (request.method, request.body) = (.put, .text(try InputFile.read(from)))
        } else if !members.isEmpty {
          let patch = JSONObject(members.map { ($0.name, $0.json) })
          (request.method, request.body) = (.patch, .mergePatch(.object(patch)))
        }
        return CommandOutput(try await context.send(request).json)
      }
    }
  }
}
