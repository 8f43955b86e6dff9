import EventLoop
import JSON
package import Postgres
package import Runtime
import Tenancy
import WebAuthn

/// A passkey as it is stored, and whether its user is blocked.
struct StoredPasskey: RowDecodable {
  let user: UserID
  let record: CredentialRecord
  let isBlocked: Bool
  /// The app of the user.
  let app: AppID

  init(from row: Row) throws(DatabaseError) {
    user = try row.id(0)
    record = CredentialRecord(
      id: try row.binary(1), publicKey: try row.binary(2), userHandle: try row.binary(3),
      aaguid: try row.binary(4), relyingPartyID: try row.text(5),
      isBackupEligible: try row.bool(6), isBackedUp: try row.bool(7),
      signCount: UInt32(truncatingIfNeeded: try row.int(8)))
    isBlocked = try row.bool(9)
    app = try row.id(10)
  }
}

/// A passkey of a user, as lists show it.
package struct PasskeyInfo: RowDecodable, Sendable {
  package let id: IdentityID
  package let name: String
  package let createdAt: Timestamp
  package let lastUsedAt: Timestamp?
  /// Whether it is on several devices, or can come to others.
  package let isBackedUp: Bool
  /// How clients reach its authenticator.
  package let transports: [String]
  /// The model of the authenticator; zeros if it does not state one.
  package let aaguid: [UInt8]
  package let relyingPartyID: String
  package let credentialID: [UInt8]
  /// The key in the format of COSE.
  package let publicKey: [UInt8]
  package let userHandle: [UInt8]
  /// Whether it may be on several devices.
  package let isBackupEligible: Bool

  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    name = try row.text(1)
    createdAt = try row.time(2)
    lastUsedAt = try row.time(ifAny: 3)
    isBackedUp = try row.bool(4)
    transports = try row.transports(5)
    aaguid = try row.binary(6)
    relyingPartyID = try row.text(7)
    credentialID = try row.binary(8)
    publicKey = try row.binary(9)
    userHandle = try row.binary(10)
    isBackupEligible = try row.bool(11)
  }

  /// The passkey as options name it.
  var descriptor: CredentialDescriptor {
    CredentialDescriptor(credentialID, transports)
  }

  /// The AAGUID in the form of a UUID.
  package var model: String { AuthenticatorModel.text(of: aaguid) }
}

/// A passkey of a user, as options name it.
struct NamedPasskey: RowDecodable {
  let descriptor: CredentialDescriptor

  init(from row: Row) throws(DatabaseError) {
    descriptor = CredentialDescriptor(try row.binary(0), try row.transports(1))
  }
}

extension Row {
  /// Returns how clients reach an authenticator, which a column has with spaces between the words.
  fileprivate func transports(_ column: Int) throws(DatabaseError) -> [String] {
    try text(column).split(separator: " ").map(String.init)
  }
}

extension CredentialDescriptor {
  fileprivate init(_ id: [UInt8], _ transports: [String]) {
    self.init(id: id, transports: transports.compactMap(AuthenticatorTransport.init))
  }
}

/// The passkeys that a user has, as they concern a new one.
struct StandingPasskeys: RowDecodable {
  let count: Int
  /// Whether the new one is among them.
  let hasIt: Bool

  init(from row: Row) throws(DatabaseError) {
    count = try row.int(0)
    hasIt = try row.bool(1)
  }
}

/// The names of a user, for the options of a new passkey.
struct PasskeyOwner: RowDecodable {
  let email: String?
  let name: String?

  init(from row: Row) throws(DatabaseError) {
    (email, name) = (row.text(ifAny: 0), row.text(ifAny: 1))
  }
}

package enum PasskeyQueries {
  /// Returns the names of a user.
  static let owner = Statement<PasskeyOwner, UserID>(
    "passkeys.owner", "select email, name from users where user_id = $1"
  )

  /// Returns a passkey of a user, who may be of another app.
  ///
  /// Served by the primary key.
  static let find = Statement<StoredPasskey, UserID, IdentityID>(
    "passkeys.find",
    """
    select p.user_id, p.credential, p.public_key, p.user_handle, p.aaguid, p.rp_id,
      p.backup_eligible, p.backed_up, p.sign_count, u.blocked_at is not null, u.app_id
    from passkeys p join users u on u.user_id = $1
    where p.user_id = $1 and p.passkey_id = $2
    """)

  /// Returns a passkey of a user that was made for a domain.
  ///
  /// Served by the primary key.
  static let descriptor = Statement<NamedPasskey, UserID, IdentityID, String>(
    "passkeys.descriptor",
    """
    select credential, transports from passkeys
    where user_id = $1 and passkey_id = $2 and rp_id = $3
    """)

  /// Counts the passkeys of a user.
  ///
  /// - Parameter 2: the new one.
  static let standing = Statement<StandingPasskeys, UserID, IdentityID>(
    "passkeys.standing",
    """
    select count(*), count(*) filter (where passkey_id = $2) > 0 from passkeys where user_id = $1
    """)

  /// Writes a passkey of a user.
  ///
  /// - Parameter 3: the credential id.
  /// - Parameter 4: the key in COSE's format.
  /// - Parameter 9: the signature counter.
  /// - Parameter 10: whether it may be on several devices.
  /// - Parameter 11: whether it is.
  static let make = Statement<
    NoRow, UserID, IdentityID, BinaryBytes, BinaryBytes, BinaryBytes, BinaryBytes, String, String,
    Int, Bool, Bool, String
  >(
    "passkeys.make",
    """
    insert into passkeys (user_id, passkey_id, credential, public_key, user_handle, aaguid,
      rp_id, transports, sign_count, backup_eligible, backed_up, name)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9::bigint, $10, $11, $12)
    """)

  /// Stores what a sign-in has stated; undoes the transaction if the passkey is gone, or if another
  /// sign-in has stated a counter that is not smaller.
  ///
  /// - Parameter 3: the signature counter.
  static let use = Statement<NoRow, UserID, IdentityID, Int, Bool>(
    "passkeys.use",
    """
    with used as (
      update passkeys set sign_count = $3::bigint, backed_up = $4::boolean, last_used_at = now()
      where user_id = $1 and passkey_id = $2
        and (backup_eligible or $3::bigint > sign_count or $3::bigint = 0 and sign_count = 0)
      returning 1
    )
    select require((select count(*) from used) = 1)
    """)

  /// Returns whether a user has a passkey.
  static let exists = Statement<Bool, UserID>(
    "passkeys.exists", "select exists (select 1 from passkeys where user_id = $1)"
  )

  /// Returns at least one row if the principal may see the user.
  static let list = Statement<Found<PasskeyInfo>, UserID, Principal>(
    "passkeys.list",
    """
    select p.passkey_id, p.name, p.created_at, p.last_used_at, p.backed_up, p.transports, p.aaguid,
      p.rp_id, p.credential, p.public_key, p.user_handle, p.backup_eligible
    from users c left join passkeys p on p.user_id = $1
    where \(.isAuthorized)
    order by p.created_at desc, p.passkey_id
    """)

  /// Renames a passkey; returns no row if the user has none with that id, or no live session.
  static let rename = Statement<String, UserID, Principal, IdentityID, String>(
    "passkeys.rename",
    """
    update passkeys p set name = $4 from users c
    where \(.isAuthorized) and p.user_id = $1 and p.passkey_id = $3
    returning p.passkey_id
    """)

  /// Sets the profile of a new user.
  static let setProfile = Statement<NoRow, UserID, TextBytes>(
    "passkeys.set_profile",
    """
    update users set name = $2::jsonb ->> 'name', given_name = $2::jsonb ->> 'given_name',
      family_name = $2::jsonb ->> 'family_name', nickname = $2::jsonb ->> 'nickname',
      phone = $2::jsonb ->> 'phone', picture_url = $2::jsonb ->> 'picture_url'
    where user_id = $1
    """)
}
