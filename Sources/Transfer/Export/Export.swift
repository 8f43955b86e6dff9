package import Accounts
import Documents
import EventLoop
import JSON
package import Postgres
package import Runtime

/// All data of a user.
package struct Export: RowDecodable {
  package let profile: Profile
  /// The name of the picture, and when it was stored; nil without one.
  package let picture: (name: String, createdAt: Timestamp)?
  /// Members of a JSON object with all other data, without the braces.
  ///
  /// The text may have megabytes, and passes through as the database wrote it. The export is a file
  /// for the user, independent of protocols: its content and form are the same on every wire.
  package private(set) var members: [UInt8]
  /// The user's devices, without the members that the rows of the devices have.
  private let devices: [JSON]

  package init(from row: Row) throws(DatabaseError) {
    profile = try Profile(from: row)
    picture = try row.isNull(16) ? nil : (row.text(16), row.time(17))
    members = Array(try row.bytes(18).dropFirst().dropLast())
    devices = Array(try row.json(19).array ?? [])
  }
}

extension Export {
  /// Returns the user's data, without secrets or their hashes, and without unreadable app metadata.
  ///
  /// Lists without a limit of their own are truncated, newest first: 1,000 sessions, 10,000 audit
  /// events, and 8 MiB of the bodies of earlier versions. `left_out` counts the rest, which their
  /// own routes return.
  ///
  /// An API client needs the scopes of all parts. An export by the operator is recorded as an
  /// event.
  /// - Throws: `.insufficientScope`, `.sessionEnded`, `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func all(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> Export {
    if context.principal.user == nil {
      for document in DocumentKind.allCases {
        try document.requireReadable(context)
      }
      try Audit.requireReadable(context)
    }
    var export = try await context.read(
      ExportQueries.everything, user, context.principal,
      DocumentKind.appMetadata.isReadable(context), on: .large
    ).first.orGone(context)
    try await export.hideMembers(context)
    try await export.addDevices(context)
    if context.principal.role == .operator || context.principal.role == .administrator {
      try await Event("user_export", of: user).record(context)
    }
    return export
  }

  /// Removes the members of documents that the user may not read, also from earlier versions.
  @EventLoop private mutating func hideMembers(_ context: RequestContext) async throws(Failure) {
    var limits: [(kind: String, access: MemberAccess)] = []
    for document in DocumentKind.allCases {
      if let access = MemberAccess(to: document, context) {
        limits.append((document.rawValue, access))
      }
    }
    guard !limits.isEmpty else { return }
    let text = Array("{".utf8) + members + Array("}".utf8)
    members = try await context.calculate(on: .max) { [limits] () throws(Failure) in
      func visible(_ item: JSON, _ kind: String?) -> JSON {
        guard let access = limits.first(where: { $0.kind == kind })?.access,
          var item = item.object, let body = item["body"], body != .null
        else { return item }
        item["body"] = access.visible(in: body)
        return .object(item)
      }
      guard var all = try Documents.parsed(text).object else { return [] }
      var documents = JSONObject()
      for (kind, item) in all["documents"]?.object ?? JSONObject() {
        documents[kind] = visible(item, kind)
      }
      all["documents"] = .object(documents)
      let versions = all["document_versions"]?.array ?? JSONArray([])
      all["document_versions"] = .array(versions.map { visible($0, $0["kind"]?.string) })
      return Array(JSON.object(all).serialized().dropFirst().dropLast())
    }
  }

  /// Adds the user's devices, each with what its own row has.
  @EventLoop private mutating func addDevices(_ context: RequestContext) async throws(Failure) {
    var list: [JSON] = []
    for start in stride(from: 0, to: devices.count, by: Self.batch) {
      let part = devices[start..<min(start + Self.batch, devices.count)]
      let reads = part.map { PendingQuery(ExportQueries.device, $0["device_id"]?.string ?? "") }
      for (device, rows) in zip(part, try await context.read(ExportQueries.device, reads)) {
        var member = device.object ?? JSONObject()
        member["created_at"] = rows.first?.value["created_at"] ?? .null
        member["last_seen_at"] = rows.first?.value["last_seen_at"] ?? .null
        list.append(.object(member))
      }
    }
    members += Array(",\"devices\":".utf8) + JSON.array(list).serialized()
  }

  /// How many devices are read in one round trip.
  private static let batch = 100
}

/// The times of a device.
struct DeviceTimes: RowDecodable {
  let value: JSON

  init(from row: Row) throws(DatabaseError) { value = try row.json(0) }
}

package enum ExportQueries {
  /// Returns one row if the session is live.
  ///
  /// A test checks that this reads every table with rows of users. Only a user with a verified
  /// address sees its mails. For other users, a mailed code would reveal whether the address has an
  /// account. The same holds for a code that is mailed to a new address.
  /// - Parameter 3: whether to include app metadata.
  static let everything = Statement<Export, UserID, Principal, Bool>(
    "export.everything",
    """
    select \(.profile), pictures.name, pictures.created_at, json_build_object(
      'exported_at', now(),
      'last_login_at', c.last_login_at, 'login_count', c.login_count,
      'identities', (select coalesce(json_agg(json_build_object(
          'id', identity_id, 'provider', provider, 'subject', subject, 'profile', profile,
          'created_at', created_at) order by created_at), '[]')
        from identities t where t.user_id = $1),
      'former_emails', (select coalesce(json_agg(json_build_object(
          'email', subject, 'reserved_until', reserved_until) order by reserved_until), '[]')
        from additional_subjects t
        where t.user_id = $1 and t.reserved_until > now()
          and t.subject is distinct from email_key(c.email)),
      'second_factors', (select coalesce(json_agg(json_build_object(
          'id', factor_id, 'created_at', created_at, 'confirmed_at', confirmed_at,
          'last_used_at', last_used_at) order by created_at), '[]')
        from second_factors t where t.user_id = $1),
      'recovery_codes', (select count(*) from recovery_codes t where t.user_id = $1),
      'consents', (select coalesce(json_agg(json_build_object(
          'client_id', client_id, 'audience', audience, 'scope', scope, 'created_at', created_at,
          'updated_at', updated_at) order by created_at), '[]')
        from consents t where t.user_id = $1),
      'roles', (select coalesce(json_agg(json_build_object(
          'id', role_id, 'name', (select o.name from roles o where o.role_id = t.role_id),
          'created_at', created_at) order by created_at), '[]')
        from user_roles t where t.user_id = $1),
      'permissions', (select coalesce(json_agg(json_build_object(
          'resource_server_id', resource_server_id, 'scope', scope, 'created_at', created_at)
          order by created_at), '[]')
        from user_permissions t where t.user_id = $1),
      'mails', (select coalesce(json_agg(json_build_object(
          'purpose', purpose, 'email', email, 'expires_at', expires_at)), '[]')
        from mail_tokens t
        where t.user_id = $1 and c.email_verified),
      'mail_deliveries', (select coalesce(json_agg(json_build_object(
          'kind', kind, 'recipient', recipient, 'accepted', accepted, 'ended_at', ended_at)
          order by mail_id), '[]')
        from mail_deliveries t where t.user_id = $1 and c.email_verified),
      'password', (select json_build_object('changed_at', changed_at)
        from passwords t where t.user_id = $1),
      'api_keys', (select coalesce(json_agg(json_build_object(
          'id', key_id, 'name', name, 'disabled_at', disabled_at, 'created_at', created_at,
          'last_used_at', last_used_at) order by created_at), '[]')
        from api_keys t where t.user_id = $1),
      'passkeys', (select coalesce(json_agg(json_build_object(
          'id', passkey_id, 'name', name, 'rp_id', rp_id, 'aaguid', encode(aaguid, 'hex'),
          'backed_up', backed_up, 'created_at', created_at, 'last_used_at', last_used_at)
          order by created_at), '[]')
        from passkeys t where t.user_id = $1),
      'sessions', (select coalesce(json_agg(json_build_object(
          'id', session_id, 'device_id', device_id, 'provider', provider, 'scope', scope,
          'address', host(address), 'agent', agent, 'created_at', created_at,
          'authenticated_at', authenticated_at, 'refreshed_at', refreshed_at,
          'expires_at', expires_at, 'ended_at', ended_at, 'end_reason', end_reason)
          order by session_id), '[]')
        from (select session_id, device_id, provider, scope, address, agent, created_at,
            authenticated_at, refreshed_at, expires_at, ended_at, end_reason
          from sessions s where s.user_id = $1
          order by s.session_id desc limit 1000) t),
      'documents', (select coalesce(json_object_agg(kind, json_build_object(
          'body', body, 'version', version, 'updated_at', updated_at) order by kind), '{}')
        from documents t where t.user_id = $1 and deleted_at is null
          and ($3::boolean or kind <> 'app_metadata')),
      'document_versions', versions.listed,
      'merges', (select coalesce(json_agg(json_build_object(
          'id', merge_id, 'user_id', other_id, 'created_at', created_at, 'expires_at', expires_at)
          order by created_at), '[]')
        from merges t where t.user_id = $1),
      'properties', (select coalesce(json_object_agg(key, json_build_object(
          'value', value::json, 'version', version, 'updated_at', updated_at) order by key), '{}')
        from properties t where t.user_id = $1),
      'audit', (select coalesce(json_agg(t order by id), '[]')
        from (select id, at, action, actor, session_id, device_id, address, agent, detail,
            request_id
          from audit_entries a where a.subject_id = $1
          order by id desc limit 10000) t),
      'left_out', json_build_object(
        'sessions', (select greatest(count(*) - 1000, 0)
          from sessions t where t.user_id = $1),
        'version_bodies', versions.left_out,
        'audit', (select greatest(count(*) - 10000, 0) from audit t where t.user_id = $1))
    )::text, (select coalesce(json_agg(json_build_object(
        'device_id', device_id, 'activated_at', activated_at) order by activated_at), '[]')::text
      from device_accounts t where t.user_id = $1)
    from users c
    left join pictures on pictures.user_id = $1
    cross join lateral (
      select count(*) filter (where not is_included) as left_out,
        coalesce(json_agg(json_build_object(
          'kind', kind, 'version', version, 'changed_at', changed_at, 'actor', actor,
          'session_id', session_id, 'deleted', body is null, 'body', case when is_included then body end,
          'body_left_out', not is_included) order by kind, version), '[]') as listed
      from (
        select t.kind, t.version, t.changed_at, t.actor, t.session_id, t.body,
          coalesce(sum(octet_length(body::text)) over (order by changed_at desc, kind),
          0) <= 8388608 as is_included
        from document_versions t where t.user_id = $1
          and ($3::boolean or kind <> 'app_metadata')
      ) t
    ) versions
    where \(.isAuthorized)
    """)

  /// Returns the times of a device; no row if it is deleted.
  static let device = Statement<DeviceTimes, String>(
    "export.device",
    """
    select json_build_object('created_at', created_at, 'last_seen_at', last_seen_at)::text
    from devices where device_id = $1
    """)
}

extension Export {
  /// Returns the whole export as one JSON object; `picturePath` returns the path of a picture.
  package func text(picturePath: (String) -> String) -> [UInt8] {
    var pictures: [JSON] = []
    if let picture {
      pictures = [
        ["path": .string(picturePath(picture.name)), "created_at": .string(picture.createdAt.text)]
      ]
    }
    let start: JSON = [
      "profile": profile.json(picturePath: picturePath), "pictures": .array(pictures),
    ]
    return start.serialized().dropLast() + Array(",".utf8) + members + Array("}".utf8)
  }
}
