import CommandKit
import ArgumentParser
import Documents
import EventLoop
import Runtime
import HTTP
import JSON
import Tenancy

struct IndexCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "index",
    abstract: "Search indexes: paths in documents by which users can be searched.",
    subcommands: [Create.self, List.self, Delete.self]
  )

  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Creates a search index, and fills it from the stored documents.",
      discussion: """
        Users can be searched by the path when the command has ended. If it is interrupted, run it \
        again: it continues. Requests go on meanwhile. More connections are faster, and leave less of \
        PostgreSQL to requests.

        Attributes:
          kind  the type of the values: text (the default), number or boolean; no others are found
        """)
    @OptionGroup var options: AppOptions

    @Argument(help: "The path, as in a filter: metadata.theme, app_metadata.… or custom_data.…")
    var path: String

    @Argument(help: ArgumentHelp("Attributes.", valueName: "attribute=value"))
    var attributes: [NamedValue] = []

    @OptionGroup var work: IndexWorkOptions

    func validate() throws {
      guard attributes.allSatisfy({ $0.name == "kind" }) else {
        throw ValidationError("An index has the attribute kind only, such as kind=number.")
      }
    }

    func run() throws {
      options.common.run(writers: work.connections) { context async throws(CommandFailure) in
        let app = try await context.record(of: options.app)
        let kind = attributes.last?.value ?? "text"
        let index = try await context.run { context async throws(Failure) in
          try await SearchIndexes.add(path, kind: kind, to: app.id, context)
        }
        try await context.finish(index, of: options.app, by: work)
        return CommandOutput([
          "app": .string(app.name), "path": .string(index.path), "kind": .string(kind),
          "state": "ready",
        ])
      }
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the search indexes of an app.")
    @OptionGroup var options: AppOptions

    func run() throws {
      options.send(.get, "/v1/indexes", columns: ["path", "kind", "state", "created_at", "id"])
    }
  }

  struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Deletes a search index. Documents are not changed.")
    @OptionGroup var options: AppOptions
    @OptionGroup var confirmation: Confirmation
    @OptionGroup var work: IndexWorkOptions

    @Argument(help: "The path, as in a filter.")
    var path: String

    func run() throws {
      options.common.run(writers: work.connections) { context async throws(CommandFailure) in
        let app = try await context.record(of: options.app)
        let index = try await context.run { context async throws(Failure) in
          try await SearchIndexes.index(on: path, of: app.id, context)
        }
        try confirmation.ask("Delete the search index on \(path)? Searches by it will fail.")
        let indexes = try await context.run { context async throws(Failure) in
          try await SearchIndexes.remove(index.id, from: app.id, context)
          return try await SearchIndexes.all(of: app.id, context).filter { $0.id == index.id }
        }
        for index in indexes { try await context.finish(index, of: options.app, by: work) }
        return CommandOutput(["app": .string(app.name), "path": .string(path)])
      }
    }
  }
}

/// The options of commands that work on all values of an index.
struct IndexWorkOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The ranges of users to work on at once.", valueName: "number"))
  var connections = 2

  func validate() throws {
    guard (1...16).contains(connections) else {
      throw ValidationError("--connections must be from 1 to 16.")
    }
  }
}

extension CommandContext {
  /// Completes the work on an index and prints progress.
  fileprivate func finish(
    _ index: SearchIndex, of app: String?, by options: IndexWorkOptions
  ) async throws(CommandFailure) {
    let total = try await run(in: app) { context async throws(Failure) in
      try await UserSearch.total(of: nil, context)
    }
    let all = "of \(total.precision == .exact ? "" : "about ")\(total.count) users"
    let lines = PhaseLines()
    try await run { context async throws(Failure) in
      try await SearchIndexes.finish(
        index, connections: options.connections, in: context.database
      ) { done in
        lines.update(done, "\(done.phase.words) \(done.users) \(all)")
      }
    }
    lines.clear()
  }
}

/// The progress of each phase, with a rate of its own.
@EventLoop private final class PhaseLines {
  private var phase: SearchIndexPhase?
  private var line = ProgressLine()

  func update(_ done: SearchIndexProgress, _ words: String) {
    if done.phase != phase {
      line.clear()
      line = ProgressLine()
      phase = done.phase
    }
    line.update(rows: done.ownUsers, words)
  }

  func clear() { line.clear() }
}

extension SearchIndexPhase {
  fileprivate var words: String {
    switch self {
    case .fill: "indexed"
    case .check: "checked"
    case .clear: "removed the values of"
    }
  }
}
