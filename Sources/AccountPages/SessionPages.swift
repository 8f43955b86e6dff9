import Documents
import Encoding
import EventLoop
import HTTP
import HostedPages
import Localization
import OpenID
import Pages
import Runtime
import Sessions
import WireKit

/// The devices and sessions: `/account/sessions`.
@EventLoop enum SessionPages {
  nonisolated static let path = "/account/sessions"
  private nonisolated static let endPath = "/account/sessions/end"
  private nonisolated static let othersPath = "/account/sessions/end-others"
  private nonisolated static let page = LocalPath(checked: path)

  nonisolated static let routes = [
    AccountVisit.show(path, "List the sessions", show),
    AccountVisit.handle(endPath, from: page, isFresh: true, "End a session") {
      (visit, form) async throws(Failure) in
      guard let session = form["session"].flatMap({ SessionID($0) }) else {
        return visit.call.redirect(to: page)
      }
      try await AccountSessions.end(session, by: visit.user, visit.context)
      return try visit.report(.sessionEnded, on: page)
    },
    AccountVisit.handle(othersPath, from: page, isFresh: true, "End all other sessions") {
      (visit, _) async throws(Failure) in
      try await Sessions.end(nil, by: visit.user, visit.context)
      return try visit.report(.otherSessionsEnded, on: page)
    },
  ]

  private static func show(_ visit: AccountVisit) async throws(Failure) -> Response {
    var batch = ReadBatch()
    let readSessions = AccountSessions.addList(of: visit.user, to: &batch, visit.context)
    let keepsVersions = visit.app.documentSettings.versionsKept > 0
    let readWriters =
      keepsVersions ? SessionUndo.addWriters(of: visit.user, to: &batch, visit.context) : nil
    let results = try await visit.context.read(batch)
    let sessions = try readSessions(results)
    let writers = try readWriters?(results) ?? []
    let own = visit.browserUser.session
    let shown = sessions.map { session in
      let agent = session.agent.map(BrowserName.init)
      let used = session.usedAt.microseconds
      return SessionDescription(
        device: session.isOfSupport ? .message(.support) : agent?.title ?? .message(.unknownDevice),
        place: session.address,
        clients: ([session.client] + session.ofClients.map(\.client)).compactMap(\.self).unique,
        time: CalendarTime(session.usedAt),
        isUsed: used > session.createdAt.microseconds,
        isCurrent: session.id == own,
        undos: undos(of: ([session] + session.ofClients).filter { writers.contains($0.id) }),
        end: session.id == own
          ? nil
          : session.isOfSupport
            ? visit.target(SupportPages.endPath)
            : visit.target(endPath, [HiddenField("session", session.id.text)])
      )
    }
    return visit.response(
      with: .sessions(
        shown, endOthers: shown.count > 1 ? visit.target(othersPath) : nil, back: .account
      )
    )
  }

  /// Returns the undos of sessions that have written documents.
  private static func undos(of writers: [AccountSession]) -> [SessionDescription.Undo] {
    writers.map { session in
      .init(of: writers.count > 1 ? session.client : nil, UndoPages.path(of: session.id))
    }
  }
}

extension BrowserName {
  /// The browser on its system, as a title; nil for an empty `User-Agent`.
  fileprivate var title: Text? {
    guard let program, let system else { return (program ?? system).map { .name($0) } }
    return .message(.deviceOnSystem, ["browser": .name(program), "system": .name(system)])
  }
}

extension [String] {
  /// The texts without repetitions, in order.
  fileprivate var unique: [String] {
    var seen: Set<String> = []
    return filter { seen.insert($0).inserted }
  }
}
