import Testing

/// What `0013_ways_in.sql` makes of what was there before.
@Suite struct IssuerIdentitiesTests {
  private static let name = "0013_ways_in.sql"

  /// A database with all migrations before that one, and identities by names of issuers in it.
  private func before() async throws -> Workspace {
    let place = try await Workspace(before: Self.name)
    try await place.sql(
      """
      insert into issuers (app_id, name, issuer, audience, jwks_url, created_at)
      select app_id, i.name, issuer, i.name, 'https://x', since::timestamptz from apps, (values
        ('web', 'https://a', '2026-01-10'), ('file', 'https://a', '2026-01-10'),
        ('reused', 'https://c', '2026-03-01')) as i (name, issuer, since);
      insert into audit (user_id, event_id, app_id, at, action, actor, detail)
      select app_id, new_object_id(), app_id, since::timestamptz, 'issuer_add', 'operator',
        jsonb_build_object('name', i.name, 'issuer', issuer)
      from apps, (values ('reused', 'https://b', '2026-01-01'), ('gone', 'https://d', '2026-01-01'))
        as i (name, issuer, since);
      with told (id, provider, subject, since, seen) as (values
        (1, 'jwt:web', 's', '2026-02-01', '2026-06-02'), (2, 'jwt:file', 's', '2026-02-01', '2026-06-01'),
        (3, 'jwt:reused', 's3', '2026-02-01', null), (4, 'jwt:reused', 's4', '2026-04-01', null),
        (5, 'jwt:gone', 's5', '2026-02-01', null), (6, 'jwt:unknown', 's6', '2026-02-01', null),
        (7, 'jwt:web', 's7', '2025-01-01', null), (8, 'saml', 's8', '2026-02-01', null)
      ), made as (
        insert into users (user_id, app_id, anonymous, last_login_at)
        select lpad(id::text, 24, '0'), app_id, false, seen::timestamptz from told, apps
      ), identity as (
        insert into identities (user_id, identity_id, app_id, provider, subject, created_at)
        select lpad(id::text, 24, '0'), lpad(id::text, 24, '1'), app_id, provider, subject,
          since::timestamptz
        from told, apps
      )
      insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
      select app_id, provider, subject, lpad(id::text, 24, '0'), lpad(id::text, 24, '1')
      from told, apps;
      insert into sessions (user_id, session_id, app_id, device_id, provider, scope, refresh_salt,
        created_at, expires_at)
      select repeat('0', 23) || '1', repeat('2', 24), app_id, repeat('3', 24), 'jwt:web', '', '',
        '2026-05-01', '2099-01-01'
      from apps;
      """
    )
    return place
  }

  private func identities(_ place: Workspace) async throws -> [String] {
    try await place.sql(
      """
      select ltrim(i.user_id, '0') || ' ' || i.provider || ' ' || i.subject
        || case when s.user_id is null then ' nobody' else '' end
      from identities i left join identity_subjects s using (app_id, provider, subject, user_id)
      order by i.user_id
      """
    ).split(separator: "\n").map(String.init)
  }

  @Test func `identities go from the names of issuers to the issuers, and back`() async throws {
    let place = try await before()
    try await place.take(Self.name)
    #expect(
      try await identities(place) == [
        "1 jwt:https://a s",
        // The other user of that subject logged in later.
        "2 jwt-name:file s",
        // A name that two issuers had, one after the other.
        "3 jwt:https://b s3", "4 jwt:https://c s4",
        // An issuer that was removed, and one that nobody knows.
        "5 jwt:https://d s5", "6 jwt-name:unknown s6",
        // Imported before its issuer was added.
        "7 jwt:https://a s7",
        "8 saml s8",
      ]
    )
    #expect(
      try await place.sql("select authenticated_at = created_at from sessions") == "t"
    )
    let last = try #require(try Workspace.migrations(before: Self.name).last?.prefix(4))
    try await place.run("to", "\(try #require(Int(last)))")
    #expect(
      try await identities(place) == [
        // Of one issuer with two names it is the first.
        "1 jwt:file s", "2 jwt-name:file s",
        // Issuers that are not there any more have no name.
        "3 jwt:https://b s3", "4 jwt:reused s4", "5 jwt:https://d s5", "6 jwt:unknown s6",
        "7 jwt:file s7", "8 saml s8",
      ]
    )
  }
}
