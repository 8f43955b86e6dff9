import CommandKit
import ArgumentParser
import EventLoop
import HTTP
import JSON
import Runtime

struct AuditCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit",
    abstract: "Lists the events of the audit log, newest first.",
    discussion: """
      Without --app and --user, lists the events of all apps and of the deployment itself (clients of the operator).

        dossier audit --action 'login*' --from 2026-01-31 --to 2026-02-01
        dossier audit --network 203.0.113.0/24
        dossier audit --app game --follow

      A filter by session, request or network, or by several of action, actor and user, reads at most 100,000 \
      events, and says where it stopped.
      """)
  @OptionGroup var options: AppOptions
  @OptionGroup var list: ListOptions

  @Option(help: "Only events of this user, by id or email address; deleted users by id.")
  var user: String?

  @Option(help: "Only events with this action; with * at its end, with this start.")
  var action: String?

  @Option(
    help: "Only events of this actor: user, operator (the command line), operator:NAME, client:ID …"
  )
  var actor: String?

  @Option(help: ArgumentHelp("Only events of this session.", valueName: "id"))
  var session: String?

  @Option(help: ArgumentHelp("Only events of the request with this id.", valueName: "id"))
  var request: String?

  @Option(
    help: ArgumentHelp("Only events of callers in this network.", valueName: "IP address"))
  var network: String?

  @Option(help: ArgumentHelp("Only events from this time or day on.", valueName: "time"))
  var from: String?

  @Option(help: ArgumentHelp("Only events up to this time or day, included.", valueName: "time"))
  var to: String?

  @Option(help: "newest or oldest: which events come first.")
  var order: AuditOrder?

  @Flag(help: "Prints new events as they come, until it is ended.")
  var follow = false

  private static let columns = [
    "id", "at", "app", "user_id", "action", "actor", "address", "detail",
  ]

  func validate() throws {
    guard !follow || (from ?? to ?? list.cursor) == nil && order == nil && !list.all else {
      throw ValidationError("--follow takes no part of the list.")
    }
  }

  func run() throws {
    options.common.run { context async throws(CommandFailure) in
      var query = filters
      if let user, query.isEmpty, !follow {
        return try await context.list(
          "/v1/users/\(context.user(user, of: options.app))/audit", of: options.app, options: list,
          columns: Self.columns.filter { $0 != "app" && $0 != "user_id" }
        )
      }
      if let user { query.append(("user", try await context.user(user, of: options.app))) }
      if let app = options.app { query.append(("app", app)) }
      if follow {
        try await printNew(query, context)
        return CommandOutput(.null)
      }
      return try await page(query, context)
    }
  }

  private var filters: [(name: String, value: String)] {
    let all = [
      ("action", action), ("actor", actor), ("session", session), ("request", request),
      ("network", network), ("from", from), ("to", to), ("order", order?.rawValue),
    ]
    return all.compactMap { name, value in value.map { (name: name, value: $0) } }
  }

  /// Returns the events, up to the limit or to where a page has stopped.
  @EventLoop private func page(
    _ query: [(name: String, value: String)], _ context: CommandContext
  ) async throws(CommandFailure) -> CommandOutput {
    let limit = list.all ? Int.max : list.limit
    var rows: [JSON] = []
    var (cursor, isPartial) = (list.cursor, false)
    repeat {
      let size = min(PageLimit.most, limit - rows.count)
      let page = try await context.events(query, size: size, after: cursor)
      let found = page.json.array ?? []
      rows += found
      cursor = page.next
      isPartial = cursor != nil && found.count < size
    } while cursor != nil && rows.count < limit && (!isPartial || list.all)
    let remark = cursor.map { cursor in
      let read = Timestamp(microseconds: (Int(cursor.prefix(8), radix: 16) ?? 0) * 1_000_000)
      return isPartial
        ? "read \(Audit.scanned) events, up to \(read.text); continue: --cursor \(cursor), or --all"
        : "there may be more: --cursor \(cursor), or --all"
    }
    return CommandOutput(.array(rows), columns: Self.columns, remark: remark)
  }

  /// Prints new events until the reader of the output has gone.
  ///
  /// An event may be stored some seconds after one with a greater id. So each look reads the last 15
  /// seconds again, and prints only the events that were not printed.
  @EventLoop private func printNew(
    _ query: [(name: String, value: String)], _ context: CommandContext
  ) async throws(CommandFailure) {
    let overlap = 15
    var start = Timestamp.now.seconds
    var known: Set<String> = []
    for row in try await context.allEvents(query, from: start - overlap) { known.insert(row.id) }
    say("follows the audit log; end it with Ctrl+C")
    while true {
      let rows = try await context.allEvents(query, from: start - overlap)
      for row in rows where !known.contains(row.id) {
        let text =
          options.common.output.isJSON
          ? row.json.text + "\n"
          : CommandOutput(.array([row.json]), columns: Self.columns).text(asJSON: false)
            .split(separator: "\n").dropFirst().joined(separator: " ") + "\n"
        guard Output.write(Array(text.utf8), to: 1) else { return }
      }
      known = Set(rows.map(\.id))
      start = Timestamp.now.seconds
      await EventLoop.sleep(for: .seconds(1))
    }
  }
}

extension AuditOrder: ExpressibleByArgument {}

extension CommandContext {
  /// Returns a page of events.
  func events(
    _ query: [(name: String, value: String)], size: Int, after cursor: String?
  ) async throws(CommandFailure) -> APIResponse {
    var request = APIRequest(.get, "/v1/audit")
    request.query = query + [("limit", "\(size)")]
    if let cursor { request.query.append(("cursor", cursor)) }
    return try await send(request)
  }

  /// Returns all events from a second on, the oldest first.
  fileprivate func allEvents(
    _ query: [(name: String, value: String)], from second: Int
  ) async throws(CommandFailure) -> [(id: String, json: JSON)] {
    let period: [(name: String, value: String)] = [
      ("from", Timestamp(microseconds: second * 1_000_000).text), ("order", "oldest"),
    ]
    var rows: [(id: String, json: JSON)] = []
    var cursor: String?
    repeat {
      let page = try await events(query + period, size: PageLimit.most, after: cursor)
      for row in page.json.array ?? [] { rows.append((row["id"]?.string ?? "", row)) }
      cursor = page.next
    } while cursor != nil
    return rows
  }
}
