import ArgumentParser
import Documents
import Runtime
import HTTP
import JSON

struct IndexCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "index",
    abstract: "The paths of documents that users can be searched by.",
    subcommands: [Add.self, List.self, Remove.self]
  )

  struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Declares a path, and looks at all documents stored before.",
      discussion: """
        Users can be searched by it when the command has ended. If it is interrupted, run it again: \
        it goes on where it was.
        """
    )
    @OptionGroup var options: AppOptions

    @Option(help: "The type of the values: text, number or boolean. Others are not found.")
    var kind = "text"

    @Argument(help: "As filters spell it: metadata.theme, app_metadata.…, custom_data.… .")
    var path: String

    func run() throws {
      options.common.run { context async throws(CommandFailure) in
        let app = options.app ?? context.defaultApp
        let index = try await context.run { context async throws(Failure) in
          try await SearchIndexes.add(path, kind: kind, to: app, context)
        }
        try await context.finish(index, "users")
        return CommandOutput([
          "app": .string(app), "path": .string(index.path), "kind": .string(kind), "state": "ready",
        ])
      }
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists what an app's users can be searched by."
    )
    @OptionGroup var options: AppOptions

    func run() throws {
      options.send(.get, "/v1/indexes", columns: ["path", "kind", "state", "created_at", "id"])
    }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Ends the use of an index, and removes its values; documents stay."
    )
    @OptionGroup var options: AppOptions

    @Argument(help: "As filters spell it.")
    var path: String

    func run() throws {
      options.common.run { context async throws(CommandFailure) in
        let app = options.app ?? context.defaultApp
        let indexes = try await context.run { context async throws(Failure) in
          let index = try await SearchIndexes.index(on: path, of: app, context)
          try await SearchIndexes.remove(index.id, from: app, context)
          return try await SearchIndexes.all(of: app, context).filter {
            $0.id == index.id
          }
        }
        for index in indexes { try await context.finish(index, "values") }
        return CommandOutput(["app": .string(app), "path": .string(path)])
      }
    }
  }
}

extension CommandContext {
  /// Completes the work on an index and prints progress.
  fileprivate func finish(_ index: SearchIndex, _ what: String) async throws(CommandFailure) {
    try await run { context async throws(Failure) in
      var shown = 0
      try await SearchIndexes.finish(index, in: context.database) { done in
        guard done - shown >= 50_000 else { return }
        shown = done
        say("\(done) \(what)")
      }
    }
  }
}
