import ConsoleKit
import ConsolePages
import EventLoop
import Records
import Tenancy
import WireKit

/// The issuers of an app, whose tokens (JWT) sign users in.
@EventLoop enum IssuerPages {
  nonisolated static let routes = RecordPages(
    section: .issuers, words: IssuerRecord.words, shape: IssuerRecord.table.shape,
    title: "name", key: "name", creation: nil, listed: ["issuer", "audience"],
    one: "token issuer",
    none:
      "This app accepts no custom tokens. A token issuer is your own server, or a service, whose "
      + "tokens (JWT) sign users in.",
    labels: [
      "issuer": "Issuer (iss)", "audience": "Audience (aud)", "jwks_url": "URL of its keys",
      "jwks": "Its keys", "secret": "Shared secret", "secret_base64": "Shared secret in base 64",
      "claims": "Claims for the profile", "allow_missing_iss": "Allow tokens without iss",
      "allow_missing_aud": "Allow tokens without aud",
    ],
    groups: [
      .init(nil, ["name", "issuer", "audience", "jwks_url"]),
      .init("Other keys", ["jwks", "secret", "secret_base64"], isClosed: true),
      .init("Users", ["claims"]),
    ]
  ).routes
}
