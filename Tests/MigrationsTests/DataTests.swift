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
}
