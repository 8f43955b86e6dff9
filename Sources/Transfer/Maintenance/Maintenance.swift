package import Runtime
import EventLoop
package import Postgres

/// Deletes expired data, a batch at a time.
package enum Maintenance {
  /// Deletes all data that has expired.
  ///
  /// Several runs may overlap; none blocks another for long.
  /// - Returns: the numbers of deleted rows, by the statement's name.
  /// - Throws: `.databaseUnavailable`; the rows deleted before stay deleted.
  @EventLoop package static func run(_ database: Database) async throws(Failure) -> [String: Int] {
    var removed: [String: Int] = [:]
    do throws(DatabaseError) {
      for statement in MaintenanceQueries.statements {
        var count = 0
        repeat {
          count = try await database.write(statement).first ?? 0
          removed["\(statement.name)", default: 0] += count
        } while count >= MaintenanceQueries.batch
      }
      removed["maintenance.anonymous"] = try await Unused.removeUsers(database)
      removed["maintenance.devices"] = try await Unused.removeDevices(database)
    } catch {
      throw Failure(error)
    }
    return removed
  }
}

package enum MaintenanceQueries {
  static let batch = 1_000

  /// Deletes audit events older than their app's setting.
  ///
  /// Served by `audit_by_app`. The deployment's own events, under the app id of zeros, stay for the
  /// default time.
  private static let audit = Statement<Int>(
    "maintenance.audit",
    """
    with old as (
      select a.user_id, a.event_id
      from (select app_id::text, settings from apps union all select repeat('0', 24), '{}') p
      cross join lateral (
        select user_id, event_id from audit a
        where a.app_id = p.app_id and a.event_id < lpad(to_hex(extract(epoch from now()
          - coalesce((p.settings ->> 'audit_retention_days')::bigint, 365) * interval '1 day')::bigint),
          8, '0')
        order by a.event_id limit 1000
      ) a
    ), removed as (
      delete from audit a using old where a.user_id = old.user_id and a.event_id = old.event_id
      returning 1
    )
    select count(*) from removed
    """
  )

  /// Deletes events of users' changes to their own data, which their app may keep for a shorter
  /// time.
  ///
  /// Served by `audit_own_changes`.
  private static let ownChanges = Statement<Int>(
    "maintenance.own_changes",
    """
    with old as (
      select a.user_id, a.event_id
      from apps p
      cross join lateral (
        select user_id, event_id from audit a
        where a.app_id = p.app_id and a.action = 'data_change' and a.actor = 'user'
          and a.event_id < lpad(to_hex(extract(epoch from now()
            - coalesce((p.settings ->> 'data_event_days')::bigint, 0) * interval '1 day')::bigint),
            8, '0')
        order by a.event_id limit 1000
      ) a
    ), removed as (
      delete from audit a using old where a.user_id = old.user_id and a.event_id = old.event_id
      returning 1
    )
    select count(*) from removed
    """
  )

  /// Deletes sessions that ended 30 days ago.
  ///
  /// Until then, the server can distinguish a stolen refresh token of such a session from an
  /// unknown one.
  private static let sessions = Statement<Int>(
    "maintenance.sessions",
    """
    with removed as (
      delete from sessions s using (
        select user_id, session_id from sessions
        where least(ended_at, expires_at) < now() - interval '30 days' limit 1000) old
      where s.user_id = old.user_id and s.session_id = old.session_id returning 1
    )
    select count(*) from removed
    """
  )

  /// Deletes rate limits that have recovered.
  private static let attempts = Statement<Int>(
    "maintenance.rate_limits",
    """
    with removed as (
      delete from rate_limits a using (
        select app_id, subject from rate_limits where theoretical_arrival_at < now() limit 1000) old
      where a.app_id = old.app_id and a.subject = old.subject and a.theoretical_arrival_at < now() returning 1
    )
    select count(*) from removed
    """
  )

  private static let mailTokens = Statement<Int>(
    "maintenance.mail_tokens",
    """
    with removed as (
      delete from mail_tokens m using (
        select user_id, purpose from mail_tokens where expires_at < now() limit 1000) old
      where m.user_id = old.user_id and m.purpose = old.purpose and m.expires_at < now() returning 1
    )
    select count(*) from removed
    """
  )

  private static let flows = Statement<Int>(
    "maintenance.authentication_flows",
    """
    with removed as (
      delete from authentication_flows f using (
        select place, flow_id from authentication_flows where expires_at < now() limit 1000) old
      where f.place = old.place and f.flow_id = old.flow_id returning 1
    )
    select count(*) from removed
    """
  )

  /// For a day, the pages can begin one without a code again.
  private static let authorizations = Statement<Int>(
    "maintenance.authorizations",
    """
    with removed as (
      delete from authorizations a using (
        select app_id, authorization_id from authorizations
        where expires_at < now()
          and (code_hash is not null or expires_at < now() - interval '1 day') limit 1000) old
      where a.app_id = old.app_id and a.authorization_id = old.authorization_id returning 1
    )
    select count(*) from removed
    """
  )

  /// Deletes former addresses that are no longer reserved for their users.
  private static let reservations = Statement<Int>(
    "maintenance.reservations",
    """
    with removed as (
      delete from identity_subjects s using (
        select app_id, provider, subject from identity_subjects
        where reserved_until < now() limit 1000) old
      where s.app_id = old.app_id and s.provider = old.provider and s.subject = old.subject
        and s.reserved_until < now()
      returning 1
    )
    select count(*) from removed
    """
  )

  /// Deletes the same addresses from the rows of their users.
  private static let additionalSubjects = Statement<Int>(
    "maintenance.additional_subjects",
    """
    with removed as (
      delete from additional_subjects s using (
        select user_id, provider, subject from additional_subjects
        where reserved_until < now() limit 1000) old
      where s.user_id = old.user_id and s.provider = old.provider and s.subject = old.subject
        and s.reserved_until < now()
      returning 1
    )
    select count(*) from removed
    """
  )

  private static let keptAnswers = Statement<Int>(
    "maintenance.idempotency_keys",
    """
    with removed as (
      delete from idempotency_keys k using (
        select app_id, owner, key_hash from idempotency_keys where expires_at < now() limit 1000) old
      where k.app_id = old.app_id and k.owner = old.owner and k.key_hash = old.key_hash
        and k.expires_at < now()
      returning 1
    )
    select count(*) from removed
    """
  )

  /// Deletes imports that have not continued for 30 days.
  private static let imports = Statement<Int>(
    "maintenance.imports",
    """
    with removed as (
      delete from imports i using (
        select app_id, source from imports where changed_at < now() - interval '30 days' limit 1000
      ) old
      where i.app_id = old.app_id and i.source = old.source
        and i.changed_at < now() - interval '30 days'
      returning 1
    )
    select count(*) from removed
    """
  )

  /// Deletes hosts that have served nothing for a week.
  private static let hosts = Statement<Int>(
    "maintenance.hosts",
    """
    with removed as (
      delete from hosts where seen_at < now() - interval '7 days' returning 1
    )
    select count(*) from removed
    """
  )

  /// Deletes document versions beyond the number that their app keeps; writes do the same for their
  /// document.
  ///
  /// Served by `document_versions_by_kept`. The newest version of a document with too many was
  /// written when the app kept more. Each such document is therefore trimmed as a whole. The
  /// remaining versions are marked, and counted too. The lock excludes its writers.
  private static let documentVersions = Statement<Int>(
    "maintenance.document_versions",
    """
    with found as (
      select v.user_id, v.kind, v.version, a.document_versions_kept as kept
      from apps a cross join lateral (
        select user_id, kind, version from document_versions v
        where v.app_id = a.app_id and v.kept > a.document_versions_kept limit 1000
      ) v
    ), locked as (
      select d.user_id, d.kind, d.version - f.kept as last
      from (select distinct user_id, kind, kept from found) f
      join documents d on d.user_id = f.user_id and d.kind = f.kind
      order by d.user_id, d.kind for update of d
    ), past as (
      select v.user_id, v.kind, v.version
      from locked l
      join document_versions v on v.user_id = l.user_id and v.kind = l.kind
        and v.version <= l.last
      limit 1000
    ), removed as (
      delete from document_versions v using past p
      where v.user_id = p.user_id and v.kind = p.kind and v.version = p.version
    ), marked as (
      update document_versions v set kept = f.kept
      from found f join locked l on l.user_id = f.user_id and l.kind = f.kind
      where v.user_id = f.user_id and v.kind = f.kind and v.version = f.version
        and v.version > l.last and (select count(*) from past) < 1000
    )
    select greatest((select count(*) from past), (select count(*) from found))
    """
  )

  package static let statements = [
    audit, ownChanges, sessions, attempts, mailTokens, flows, authorizations, reservations,
    additionalSubjects, keptAnswers, imports, hosts, documentVersions,
  ]
  package static let all: [any PreparedStatement] = statements
}
