import ArgumentParser
import Documents
import HTTP
import JSON

extension UserCommand {
  struct Document: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows a document of a user, or changes it.",
      discussion: """
        Members are changed one by one; null removes one. A value is JSON where it is JSON, else text. \
        --from replaces the whole document.

          dossier user document ada@example.com metadata
          dossier user document ada@example.com app-metadata plan=pro display_announcement=true
          echo '{"theme": "dark"}' | dossier user document ada@example.com metadata --from -
        """
    )
    @OptionGroup var user: UserArgument
    @Argument(help: .document) var document: DocumentKind

    @Option(
      help: ArgumentHelp("The new document, in JSON; - is standard input.", valueName: "file")
    )
    var from: String?

    @Option(help: "Changes nothing unless the stored version is this one.")
    var ifVersion: Int?

    @Argument(help: ArgumentHelp("Members to change.", valueName: "member=value"))
    var members: [String] = []

    func validate() throws {
      try MemberArguments.validate(members)
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
          let patch = JSON.object(MemberArguments.object(of: members))
          (request.method, request.body) = (.patch, .mergePatch(patch))
        }
        return CommandOutput(try await context.send(request).json)
      }
    }
  }
}

/// Members that an operator types as `member=value`.
enum MemberArguments {
  static func validate(_ arguments: [String]) throws {
    for text in arguments where !text.contains("=") {
      throw ValidationError("\(text) is not member=value.")
    }
  }

  /// Returns the members; a value is JSON where it is JSON, else text.
  ///
  /// Values of the members in `texts` are always text.
  static func object(of arguments: [String], texts: Set<String> = []) -> JSONObject {
    var object = JSONObject()
    for text in arguments {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let (name, value) = (String(parts[0]), String(parts[1]))
      let json = texts.contains(name) ? nil : try? JSON.parse(Array(value.utf8))
      object[name] = json ?? .string(value)
    }
    return object
  }
}
