import Accounts
import Administration
import Documents
import EventLoop
import JSON
import Permissions
import Postgres
package import Runtime
import Sessions

extension JobRun {
  /// The length of results in the row of the job, in bytes, before they become a part.
  private static let tailLimit = 8_192
  /// The most bytes of an export; the command line exports more.
  private static let exportLimit = 536_870_912

  // MARK: Changes

  /// Changes the users one by one, each in a transaction of its own.
  ///
  /// If the worker dies between a change and its progress, the next one changes that user again,
  /// which has no further effect.
  /// - Throws: `.preconditionFailed` if the job is lost, errors that concern more than one user.
  func changeUsers() async throws(Failure) {
    guard let action = job.parameters.action else {
      throw .internalError(reason: "a job without an action")
    }
    let users = try await users()
    while progress.done < users.count {
      let user = users[progress.done]
      var failure: Failure?
      do throws(Failure) {
        try await change(user, action)
      } catch let error where error.isOfOneRow {
        failure = error
      }
      var result = JSONObject([("id", .string(user.text))])
      // A user who is deleted already is no error: the worker before may have deleted it.
      let isGone = action == .delete && failure?.is(.notFound) == true
      let outcome = failure == nil ? "done" : isGone ? "skipped" : "failed"
      result["outcome"] = .string(outcome)
      if let failure { result["error"] = .string(failure.type.code) }
      progress.done += 1
      progress.count(outcome)
      if outcome == "failed" { progress.note(.object(result)) }
      progress.tail += JSON.object(result).text + "\n"
      try await store(adding: progress.tail.utf8.count > Self.tailLimit ? takeTail() : [])
    }
  }

  private func change(_ user: UserID, _ action: BulkAction) async throws(Failure) {
    let context = context
    switch action {
    case .block, .unblock:
      try await UserAdministration.change(user, context) {
        (transaction, found) async throws(Failure) in
        try await UserAdministration.setBlocked(
          action == .block, user, found, in: transaction)
      }
    case .endSessions: try await Sessions.end(nil, by: user, context)
    case .addRole: try await UserRoles.assign(roles, to: user, context)
    case .removeRole: try await UserRoles.remove(roles, from: user, context)
    case .delete: try await Users.delete(user, context)
    }
  }

  private var roles: [RoleID] { [job.parameters.role].compactMap(\.self) }

  /// Returns the users of the job, which it stores first if a filter selects them.
  ///
  /// So a change that removes users from those that match does not change who is next.
  private func users() async throws(Failure) -> [UserID] {
    if let filter = job.parameters.filter, !progress.isCollected {
      let users = try await matches(of: Filter(filter))
      let context = context
      let input = try await parts.sealed(
        JobInput.bytes(of: users), named: { JobParts.name(ofUpload: 1, $0) }, context)
      (progress.isCollected, progress.total) = (true, users.count)
      try await store(input: input)
    }
    return try await JobInput.users(of: job.id, context)
  }

  private func matches(of filter: Filter) async throws(Failure) -> [UserID] {
    var users: [UserID] = []
    var position: UserPosition?
    repeat {
      let page = try await UserSearch.page(
        of: filter, after: position, count: PageLimit.most, context)
      users += page.items.map(\.profile.id)
      guard users.count <= Jobs.mostUsers else { throw .tooManyMatches }
      position = page.next
      try await store()
    } while position != nil
    return users
  }

  // MARK: Exports

  /// Exports users, all of the app or those of the job, as lines for an import.
  ///
  /// - Throws: as `changeUsers`; `.jobInputTooLarge` if the export becomes too large.
  func exportUsers() async throws(Failure) {
    let chosen = job.parameters.filter != nil || job.parameters.count != nil
    let users = chosen ? try await users() : []
    var size = PageSize(1, upTo: 64)
    while true {
      let rows: [ExportedUser]
      let isLast: Bool
      if chosen {
        let page = users[progress.done...].prefix(size.count)
        rows = try await context.read(
          UserExportQueries.some, app.id, TextArray(page.map(\.text)), false, on: .search)
        progress.done += page.count
        isLast = progress.done == users.count
      } else {
        rows = try await context.read(
          UserExportQueries.page, app.id, progress.last, size.count, false, on: .search)
        progress.done += rows.count
        progress.last = rows.last?.user ?? progress.last
        isLast = rows.count < size.count
      }
      for _ in rows { progress.count("exported") }
      let text = rows.flatMap { $0.line + [UInt8(ascii: "\n")] }
      if !rows.isEmpty { size.fit(text.count, in: rows.count) }
      guard progress.resultBytes + text.count <= Self.exportLimit else {
        throw .exportTooLarge
      }
      try await store(adding: text)
      if isLast { return }
    }
  }
}

extension Failure {
  package static let exportTooLarge = Failure("export_too_large", .tooLarge)
    .titled("The export is too large for a job.")
    .remedied("Export by the command line: dossier user export --all.")
}
