import JSON
package import Postgres
import Runtime

/// An authorization with a code.
struct CodeRow: RowDecodable {
  let client: ClientID
  let user: UserID
  let session: SessionID
  let device: DeviceID
  let scope: String
  private let stored: [UInt8]
  /// Whether the code can be exchanged.
  let isValid: Bool
  /// The session that came of an exchange.
  let redeemed: SessionID?
  /// The seconds since that exchange.
  let age: Int

  init(from row: Row) throws(DatabaseError) {
    client = ClientID(trusted: try row.text(0))
    user = UserID(trusted: try row.text(1))
    session = SessionID(trusted: try row.text(2))
    device = DeviceID(trusted: try row.text(3))
    scope = try row.text(4)
    stored = try row.bytes(5)
    isValid = try row.bool(6)
    redeemed = row.id(ifAny: 7)
    age = try row.int(8)
  }

  var request: AuthorizationRequest? {
    (try? JSON.parse(stored)).flatMap(AuthorizationRequest.init)
  }

  /// The user in a session of the pages.
  func principal(in session: SessionID, of app: AppID) -> Principal {
    Principal(user, session, device, in: app, scopes: Scopes(scope))
  }
}

package enum AuthorizationCodeQueries {
  /// Returns no row if the authorization has a code, or has expired.
  ///
  /// Only the pages needed the hints, which name a user.
  static let issue = Statement<
    String, AppID, AuthorizationID, String, String, String, String, BinaryBytes, BinaryBytes,
    Duration
  >(
    "authorization_codes.issue",
    """
    update authorizations set user_id = $3, session_id = $4, device_id = $5, scope = $6,
      code_hash = $7, state = $8, is_settled = true, expires_at = now() + $9::interval,
      request = request - '{login_hint,hinted_user}'::text[]
    where app_id = $1 and authorization_id = $2 and code_hash is null and expires_at > now()
    returning authorization_id
    """)

  /// Returns an authorization with a code that no client has exchanged yet.
  static let ended = Statement<AuthorizationRow, AppID, AuthorizationID>(
    "authorization_codes.ended",
    """
    select request, state, step, is_settled,
      coalesce(claimed_at > now() - interval '10 seconds', false)
    from authorizations
    where app_id = $1 and authorization_id = $2 and code_hash is not null and redeemed_at is null
      and expires_at > now()
    """)

  /// Locks the authorization of a code.
  static let lock = Statement<CodeRow, AppID, AuthorizationID, BinaryBytes>(
    "authorization_codes.lock",
    """
    select client_id, user_id, session_id, device_id, scope, request, expires_at > now(),
      redeemed_as, coalesce(ceil(extract(epoch from now() - redeemed_at)), 0)::bigint
    from authorizations
    where app_id = $1 and authorization_id = $2 and code_hash = $3
    for no key update
    """)

  static let redeem = Statement<NoRow, AppID, AuthorizationID, SessionID, Duration>(
    "authorization_codes.redeem",
    """
    update authorizations set redeemed_at = now(), redeemed_as = $3, state = null,
      request = request - 'state', expires_at = now() + $4::interval
    where app_id = $1 and authorization_id = $2
    """)

  package static let all: [any PreparedStatement] = [issue, ended, lock, redeem]
}
