import Testing

/// Tests that `0200_one_address_one_user.sql` leaves an address to its oldest user.
@Suite struct OneAddressTests {
  private static let name = "0200_one_address_one_user.sql"

  /// Users 1 to 3 claim `a`, the second verified `b`, the third has no address, and an issuer says
  /// that the fourth has `b` and the fifth has `c`.
  private static let users = """
    insert into users (user_id, app_id, anonymous, email, email_verified, created_at)
    select lpad(id::text, 24, '0'), app_id, false, email, verified, now() + id * interval '1 day'
    from apps, (values (1, 'A@example.com', false), (2, 'b@example.com', true),
      (3, 'a@example.com', false), (4, 'B@example.com', false), (5, 'c@example.com', false),
      (6, null, false)) as told (id, email, verified);
    insert into identities (user_id, identity_id, app_id, provider, subject)
    select user_id, translate(user_id, '0', '1'), app_id, case when user_id like '%4'
      or user_id like '%5' then 'jwt:https://a' else 'password' end, user_id from users;
    insert into unconfirmed_emails (app_id, email_key, user_id, created_at)
    select app_id, email_key(email), user_id, created_at from users where email like '_@%'
      and user_id ~ '[13]$';
    insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
    select app_id, 'email', 'b@example.com', user_id, translate(user_id, '0', '1') from users
    where user_id like '%2';
    """

  private func found(_ place: Workspace) async throws -> [String] {
    try await place.sql(
      """
      select ltrim(u.user_id, '0'), u.email, u.email_verified, s.subject
      from users u left join identity_subjects s on s.user_id = u.user_id and s.provider = 'email'
      order by u.user_id
      """
    ).split(separator: "\n").map(String.init)
  }

  @Test func `the oldest user of an address keeps it, and the way back leads to claims`()
    async throws
  {
    let place = try await Workspace(before: Self.name)
    try await place.sql(Self.users)
    try await place.take(Self.name)
    #expect(
      try await found(place) == [
        "1|A@example.com|f|a@example.com", "2|b@example.com|t|b@example.com", "3||f|", "4||f|",
        "5|c@example.com|f|c@example.com", "6||f|",
      ]
    )
    let last = try #require(try Workspace.migrations(before: Self.name).last?.prefix(4))
    try await place.run("to", "\(try #require(Int(last)))")
    #expect(
      try await found(place) == [
        "1|A@example.com|f|", "2|b@example.com|t|b@example.com", "3||f|", "4||f|",
        "5|c@example.com|f|", "6||f|",
      ]
    )
    #expect(
      try await place.sql("select ltrim(user_id, '0'), email_key from unconfirmed_emails")
        == "1|a@example.com"
    )
  }
}
