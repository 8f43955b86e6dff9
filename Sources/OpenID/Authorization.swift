import JSON
import Postgres
package import Runtime

package typealias AuthorizationID = ID<Authorization>

/// An authorization request whose user is at the pages.
package struct Authorization: Sendable {
  package let id: AuthorizationID
  package let request: AuthorizationRequest
  package internal(set) var state: AuthorizationState
  /// The number of the next form; each form is handled only once.
  package let step: Int
  /// Whether the last form was sent within the last ten seconds.
  package let isRecent: Bool

  /// The code that has ended it; nil while the user is at the pages.
  package var code: String? { state.code }

  /// Creates an authorization that is not stored, to find its first step.
  package init(unstored request: AuthorizationRequest) {
    self.init(
      id: AuthorizationID(), request: request, state: AuthorizationState(), step: 0, isRecent: true
    )
  }

  init(
    id: AuthorizationID, request: AuthorizationRequest, state: AuthorizationState, step: Int,
    isRecent: Bool
  ) {
    (self.id, self.request, self.state) = (id, request, state)
    (self.step, self.isRecent) = (step, isRecent)
  }

  /// How long the user may take.
  package static let lifetime = Duration.seconds(3_600)
}

/// A row of the table.
struct AuthorizationRow: RowDecodable {
  let request: [UInt8]
  let state: [UInt8]?
  let step: Int
  let isSettled: Bool
  let isRecent: Bool

  init(from row: Row) throws(DatabaseError) {
    request = try row.bytes(0)
    state = row.isNull(1) ? nil : try row.binary(1)
    step = try row.int(2)
    isSettled = try row.bool(3)
    isRecent = try row.bool(4)
  }

  /// Returns the authorization; nil if it is damaged, or sealed with a lost master key.
  func authorization(_ id: AuthorizationID, _ master: MasterKey) -> Authorization? {
    guard let json = try? JSON.parse(request), let request = AuthorizationRequest(json) else {
      return nil
    }
    var state = AuthorizationState()
    if let sealed = self.state {
      guard let json = master.openedJSON(sealed, as: id.text) else { return nil }
      state = AuthorizationState(json)
    }
    return Authorization(id: id, request: request, state: state, step: step, isRecent: isRecent)
  }
}
