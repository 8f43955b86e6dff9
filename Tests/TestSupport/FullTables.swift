/// Rows for every table that grows with the number of users.
package enum FullTables {
  /// The number of rows in each table.
  package static let rows = 4_000

  /// The tables that grow with users or requests.
  package static let names = [
    "additional_subjects", "api_keys", "audit", "authentication_flows", "authorizations",
    "consents", "device_accounts", "devices", "document_versions", "documents", "feed_events",
    "idempotency_keys",
    "identities", "identity_subjects", "identity_tokens", "job_parts", "mail_deliveries",
    "mail_outbox", "mail_tokens",
    "merges",
    "passkeys",
    "passwords", "pictures", "properties", "rate_limits", "recovery_codes", "search_values",
    "second_factors", "sessions", "support_codes", "user_origins", "user_permissions", "user_roles",
    "users", "webhook_deliveries",
  ]

  /// Returns SQL that fills the tables for this number of apps, without rows that have expired.
  package static func fill(apps: Int) -> String {
    """
    insert into apps (app_id, name) select lpad(g::text, 24, 'f'), 'full-' || g
    from generate_series(1, \(apps)) g;
    create temporary table made on commit drop as
    select g, lpad(to_hex(g), 24, '0') as id, lpad((g % \(apps) + 1)::text, 24, 'f') as app,
      int4send(g) as bytes
    from generate_series(1, \(rows)) g;
    insert into users (user_id, app_id, anonymous, email, name)
    select id, app, true, 'full' || g || '@example.com', 'Full ' || g from made;
    insert into identities (user_id, identity_id, app_id, provider, subject)
    select id, id, app, 'anonymous', id from made;
    insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
    select app, 'anonymous', id, id, id from made;
    insert into identity_tokens (
      user_id, identity_id, client_id, app_id, connection, token_id, sealed)
    select id, id, 'client', app, 'apple', id, bytes from made;
    insert into additional_subjects (user_id, provider, subject, reserved_until)
    select id, 'email', id, now() + interval '7 days' from made;
    insert into user_origins (user_id, kind) select id, 'anonymous' from made;
    insert into passwords (user_id, hash) select id, 'x' from made;
    insert into api_keys (user_id, key_id, name, key_hash) select id, id, 'x', bytes from made;
    insert into passkeys (user_id, passkey_id, credential, public_key, user_handle, rp_id,
      sign_count, backup_eligible, backed_up, aaguid, name)
    select id, id, bytes, bytes, bytes, 'example.com', 0, false, false,
      decode(repeat('00', 16), 'hex'), 'x' from made;
    insert into devices (device_id, app_id, secret_hash, user_ids)
    select id, app, bytes, array[id] from made;
    insert into device_accounts (user_id, device_id) select id, id from made;
    insert into sessions (user_id, session_id, app_id, device_id, provider, scope, refresh_salt,
      expires_at)
    select id, id, app, id, 'anonymous', '', bytes, now() + interval '10 days' from made;
    insert into support_codes (user_id, app_id, code_hash, expires_at)
    select id, app, bytes, now() + interval '1 day' from made;
    insert into feed_events (feed_id, position, event_id, user_id, type, at, data)
    select app, g, id, id, 'user.created', now(), '{}' from made;
    insert into webhook_progress (webhook_id, position)
    select id, 0 from made;
    insert into webhook_deliveries (webhook_id, delivery_id, event_id, user_id, type, at, data,
      due_at)
    select id, id, id, id, 'user.created', now(), '{}', now() from made;
    insert into documents (user_id, kind, body, version)
    select id, 'metadata', '{"a": 1}', 1 from made;
    insert into document_versions (user_id, kind, version, app_id, body, actor, kept)
    select id, 'metadata', 1, app, '{"a": 1}', 'user', 10 from made;
    insert into properties (user_id, key, value, version) select id, 'volume', '1', 1 from made;
    insert into pictures (user_id, name, body) select id, id, bytes from made;
    insert into merges (user_id, merge_id, app_id, other_id, sealed, expires_at)
    select id, id, app, id, bytes, now() + interval '7 days' from made;
    insert into search_values (user_id, index_id, text_value) select id, id, 'x' from made;
    insert into mail_tokens (user_id, purpose, token_hash, email, expires_at)
    select id, 'verify', bytes, 'x@example.com', now() + interval '1 day' from made;
    insert into authentication_flows (place, app_id, flow_id, purpose, email_key, email, code_hash,
      tries, expires_at)
    select id, app, id, 'sign_in', 'full' || g || '@example.com', 'x@example.com', bytes, 5,
      now() + interval '1 day' from made;
    insert into authorizations (
      app_id, authorization_id, client_id, request, browser_hash, expires_at)
    select app, id, id, '{}', bytes, now() + interval '1 day' from made;
    insert into consents (user_id, client_id, scope) select id, id, 'openid' from made;
    insert into roles (app_id, role_id, name) select app, max(id), 'Full' from made group by app;
    insert into resource_servers (app_id, resource_server_id, identifier, name)
    select app, max(id), 'https://full.example.com', 'Full' from made group by app;
    insert into user_roles (user_id, role_id)
    select m.id, r.role_id from made m join roles r on r.app_id = m.app;
    insert into user_permissions (user_id, resource_server_id, scope)
    select m.id, r.resource_server_id, 'read:full'
    from made m join resource_servers r on r.app_id = m.app;
    insert into second_factors (user_id, factor_id, secret) select id, id, bytes from made;
    insert into recovery_codes (user_id, code_hash) select id, bytes from made;
    insert into mail_outbox (mail_id, app_id, kind, sealed, next_attempt_at, expires_at)
    select id, app, 'verify', bytes, now() + interval '1 day', now() + interval '2 days' from made;
    insert into mail_deliveries (user_id, mail_id, app_id, kind, recipient, recipient_hash, attempts,
      accepted, created_at)
    select id, id, app, 'verify', 'x…@example.com', bytes, 1, true, now() from made;
    insert into job_parts (job_id, part, sealed) select id, 'in 001 000', bytes from made;
    insert into idempotency_keys (app_id, owner, key_hash, request_hash, expires_at)
    select app, id, bytes, bytes, now() + interval '1 day' from made;
    insert into rate_limits (app_id, subject, theoretical_arrival_at)
    select app, bytes, now() + interval '1 day' from made;
    insert into audit (user_id, event_id, app_id, action, actor)
    select id, id, app, 'login', 'user' from made;
    """
  }
}
