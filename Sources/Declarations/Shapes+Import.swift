import JSON
import Sessions
import Transfer

extension Shape {
  /// Members of a new user that are not in its profile.
  static let importable: KeyValuePairs<String, Shape> = [
    "id": .id(Example.charles), "email": .address, "email_verified": .flag,
    "password": .password,
    "password_hash": .text.orNull.saying(
      "bcrypt, SHA-crypt, scrypt, PBKDF2, Argon2, or a salted digest"
    ),
    "totp_secrets": .list(of: .text.like("JBSWY3DPEHPK3PXP"), atMost: SecondFactors.limit)
      .saying("secrets of authenticator apps, in base32"),
    "foreign_id": .text(3...ForeignIDs.longest).saying("the id that clients of Auth0 know")
      .like("auth0|65f1c0de"),
    "blocked": .flag, "created_at": .time(Example.registered),
    "last_login_at": .time(Example.registered), "login_count": .integer(ImportedUser.loginCounts),
    "identities": .list(
      of: .body([
        "provider": .text(1...1_028).like("jwt:https://login.example.com"),
        "subject": .text(1...1_024).like("charles-babbage"),
      ]).named("ImportedIdentity", "An identity of an imported user."),
      atMost: 100
    ),
    "metadata": .metadata, "app_metadata": .metadata, "custom_data": .document,
    "properties": .properties,
  ]
}
