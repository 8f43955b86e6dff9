import Testing

/// What the repository's migrations make of what was stored before.
@Suite struct DataTests {
  @Test func `addresses of IPv4 that were stored as mapped ones become those of IPv4`() async throws
  {
    let place = try await Workspace.ofRepository()
    try await place.run("to", "10")
    try await place.sql(
      """
      insert into users (user_id, app_id, anonymous) select repeat('1', 24), app_id, true from apps;
      create temporary table given as select g, a::inet from unnest(
        '{::ffff:192.0.2.1,::ffff:c000:202,192.0.2.3,2001:db8::1,::ffff:0:0:1,::192.0.2.4}'::text[])
        with ordinality as x (a, g);
      insert into sessions (user_id, session_id, app_id, device_id, provider, scope, refresh_salt,
        expires_at, address)
      select user_id, lpad(g::text, 24, '0'), app_id, user_id, '', '', '', now(), a from users, given;
      insert into audit (user_id, event_id, app_id, action, actor, address)
      select user_id, lpad(g::text, 24, '0'), app_id, '', '', a from users, given;
      """
    )
    try await place.run("up")
    for (table, id) in [("sessions", "session_id"), ("audit", "event_id")] {
      let stored = try await place.sql(
        "select string_agg(host(address), ' ' order by \(id)) from \(table)"
      )
      #expect(stored == "192.0.2.1 192.0.2.2 192.0.2.3 2001:db8::1 ::ffff:0:0:1 ::192.0.2.4")
    }
  }

  /// Numbers of more digits than any door takes today, and what an index has of them.
  @Test func `documents that break the limits of today come through as they are`() async throws {
    let place = try await Workspace.ofRepository()
    try await place.run("to", "14")
    try await place.sql(
      """
      insert into users (user_id, app_id, anonymous)
      select lpad(g::text, 24, '0'), app_id, true from apps, generate_series(1, 4) g;
      insert into documents (user_id, class, body, version)
      select lpad(g::text, 24, '0'), 'custom_data', a::jsonb, g from unnest(array[
        '{"a": 0e-1000, "keep": 1}', '{"a": 1e-16000}', '{"a": [1e131000, {"b": -0e-16383}]}',
        '{"$oid": "xyz", "a": {"$date": "soon"}}']) with ordinality as x (a, g);
      """
    )
    let bodies = "select string_agg(body::text, ' ' order by user_id) from documents"
    let before = try await place.sql(bodies)
    try await place.run("up")
    #expect(try await place.sql(bodies) == before)
    #expect(before.count > 140_000)
    // They can be changed beside what breaks the limit, and removed.
    let changed = try await place.sql(
      """
      update documents set body = merge_patch(body, '{"b": 1, "a": null}'), version = version + 1;
      select string_agg(body::text, ' ' order by user_id) from documents
      """
    )
    #expect(changed == #"{"b": 1, "keep": 1} {"b": 1} {"b": 1} {"b": 1, "$oid": "xyz"}"#)
  }
}
