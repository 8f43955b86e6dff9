package import EventLoop
import JSON
import Postgres

/// Who administers: for the audit trail.
package enum Actor: Sendable, Equatable {
  /// The command line.
  case `operator`
  /// A program with a key.
  case client(ClientID)

  package var text: String {
    switch self {
    case .operator: "operator"
    case .client(let id): "client:\(id)"
    }
  }
}

/// Somebody who administers, and what it is done on: an act on an app, on the deployment, or on a user
/// as a whole.
///
/// Who works on the data of a user is a `Caller`, which an administrator makes of itself; what a call
/// brings besides, whoever makes it, is its `Context`.
@EventLoop package struct Administrator: Sendable {
  package nonisolated let actor: Actor
  package nonisolated let scopes: Scopes
  package let store: Store
  package nonisolated let origin: Origin

  package init(_ actor: Actor, scopes: Scopes, store: Store, origin: Origin) {
    self.actor = actor
    self.scopes = scopes
    self.store = store
    self.origin = origin
  }

  /// The administrator as one who works on the data of a user.
  func caller(on user: UserID, of app: AppID) -> Caller {
    Caller(actor, scopes: scopes, on: user, of: app)
  }

  /// - Throws: `.forbidden`.
  func require(_ scope: String) throws(Failure) {
    guard scopes.contains(scope) else { throw .forbidden(scope: scope) }
  }

  func transaction<Value>(
    _ body: @EventLoop (Transaction) async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    try await store.transaction(body)
  }

  /// Records an act in the transaction that does it.
  ///
  /// - Parameters:
  ///   - action: as for `AuditEvent`.
  ///   - user: whom it is about; nil when it is about the app.
  ///   - app: of which it is; `AppID.deployment` when it is about none.
  ///   - detail: what else there is to tell; no secrets, no addresses of mail.
  ///   - transaction: of the act.
  /// - Throws: what the database says.
  func record(
    _ action: String,
    of user: UserID? = nil,
    app: AppID,
    detail: JSON = [:],
    in transaction: Transaction
  ) async throws(Failure) {
    try await AuditEvent(action, of: user, by: actor.text, detail: detail).record(
      in: transaction,
      app: app,
      from: origin
    )
  }
}

extension Administrator {
  /// Does what answers with what it found, and records it in the same transaction.
  ///
  /// - Parameters:
  ///   - action: as for `AuditEvent`.
  ///   - statement: what is done.
  ///   - fact: of what app it is, and what else there is to tell.
  /// - Throws: `.notFound` when nothing was found.
  func act<Found>(
    _ action: String,
    _ statement: @EventLoop (Transaction) async throws(Failure) -> Found?,
    recording fact: @EventLoop (Found) -> (app: AppID, detail: JSON)
  ) async throws(Failure) {
    try await transaction { transaction async throws(Failure) in
      guard let found = try await statement(transaction) else { throw .notFound }
      let (app, detail) = fact(found)
      try await record(action, app: app, detail: detail, in: transaction)
    }
  }

  /// Tells the owner of a change that the administrator makes; the command line sends no mail.
  func queueNotice(
    of change: WayInChange,
    to user: UserID,
    in app: AppID,
    _ transaction: Transaction
  ) async throws(Failure) {
    try await change.notice(of: user, in: transaction, store.apps.known(app), store)
      .queue(in: transaction)
  }
}

extension AppID {
  /// Stands for the deployment in the audit trail, where an act is about no app.
  package static let deployment = AppID(trusted: String(repeating: "0", count: 24))
}

/// The names by which an operator tells things apart.
enum OperatorName {
  /// What is wrong with the name of an app or an issuer, which is also part of a path.
  static func fault(in name: String, at pointer: String) -> Fault? {
    let bytes = Array(name.utf8)
    let isFit =
      (1...63).contains(bytes.count) && bytes.first != UInt8(ascii: "-")
      && bytes.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
          UInt8(ascii: "-"):
          true
        default: false
        }
      }
    guard !isFit else { return nil }
    return Fault(pointer, "name", "A name is 1 to 63 of a-z, 0-9 and -, and does not begin with -.")
  }

  /// What is wrong with a label that people read.
  static func labelFault(in label: String, at pointer: String) -> Fault? {
    let isFit =
      (1...100).contains(label.unicodeScalars.count)
      && label.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    return isFit ? nil : Fault(pointer, "length", "A name has 1 to 100 characters in one line.")
  }
}
