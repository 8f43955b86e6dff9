import Testing

/// What `0011_claims.sql` makes of users who had lost their only way in.
@Suite struct StrandedUsersTests {
  private static let users = """
    with told (id, anonymous, provider) as (values
      (1, false, null), (2, false, 'password'), (3, true, 'anonymous'), (4, true, null)
    ), made as (
      insert into users (user_id, app_id, anonymous, email)
      select lpad(id::text, 24, '0'), app_id, anonymous, null from told, apps
    ), identity as (
      insert into identities (user_id, identity_id, app_id, provider, subject)
      select lpad(id::text, 24, '0'), lpad(id::text, 24, '1'), app_id, provider, id::text
      from told, apps where provider is not null
    )
    insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
    select app_id, provider, id::text, lpad(id::text, 24, '0'), lpad(id::text, 24, '1')
    from told, apps where provider is not null;
    insert into documents (user_id, class, body, version)
    select user_id, 'metadata', '{"kept": 1}', 1 from users;
    """

  @Test func `users without a way in are anonymous again and keep their data`() async throws {
    let place = try await Workspace(before: "0011_claims.sql")
    try await place.sql(Self.users)
    try await place.take("0011_claims.sql")
    let found = try await place.sql(
      """
      select ltrim(u.user_id, '0'), u.anonymous, u.version, i.provider, s.user_id = i.user_id,
        i.subject = i.user_id, d.body
      from users u left join identities i using (user_id)
      left join identity_subjects s
        on (s.app_id, s.provider, s.subject) = (i.app_id, i.provider, i.subject)
      left join documents d on d.user_id = u.user_id order by u.user_id
      """
    )
    #expect(
      found == """
        1|t|2|anonymous|t|t|{"kept": 1}
        2|f|1|password|t|f|{"kept": 1}
        3|t|1|anonymous|t|f|{"kept": 1}
        4|t|2|anonymous|t|t|{"kept": 1}
        """
    )
  }
}
