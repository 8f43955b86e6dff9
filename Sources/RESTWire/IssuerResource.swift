import Declarations
import Representations
import Runtime
import Tenancy
import EventLoop
import HTTP
import JSON
import Encoding
import WireKit

/// `/v1/issuers`, for the operator.
@EventLoop enum IssuerResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get, "/v1/issuers", access: .operator, gives: [.ok(.issuers)],
      summary: "List the issuers whose tokens the app accepts"
    ) { (call) async throws(Failure) in
      let app = try call.namedApp.name
      return Response(.ok, list: try await Issuers.list(of: app, call.context), \.json)
    },
    Operation(
      .post,
      "/v1/issuers",
      access: .operator,
      takes: .body(.json(limit: 131_072), described),
      gives: [.created(nil, "The app accepts the issuer's tokens.", fields: [.location])],
      refuses: [.issuerExists],
      summary: "Add an issuer with the URL of its keys, a key set or a shared secret"
    ) {
      (
        call, name, issuer, audience, url, set, secret, bytes, claims, missingIssuer,
        missingAudience
      ) async throws(Failure) in
      guard let keys = keys(url, set, secret, bytes) else { throw .invalid([notOneOfThem]) }
      let description = IssuerDescription(
        name: name, issuer: issuer, audience: audience, keys: keys, claims: claims ?? [:],
        allowsMissingIssuer: missingIssuer == true, allowsMissingAudience: missingAudience == true
      )
      try await Issuers.add(description, to: call.namedApp.name, call.context)
      var response = Response(.created)
      response.add(.location, "/v1/issuers/\(name)")
      return response
    },
    Operation(
      .delete, "/v1/issuers/{issuer}", access: .operator, gives: [.noContent],
      summary: "Remove an issuer, and keep its users"
    ) { (call) async throws(Failure) in
      try await Issuers.remove(call.text("issuer"), from: call.namedApp.name, call.context)
      return Response(.noContent)
    },
  ]

  private nonisolated static let described = Fields(
    "IssuerDescription",
    "An issuer to add. Exactly one of jwks_url, jwks, secret and secret_base64 is required.",
    .text("name", .nameOfIssuer),
    .text("issuer", .issuer),
    .text("audience", .audience),
    .optional(.text("jwks_url", .urlOfKeys)),
    .optional(.json("jwks", .object)),
    .optional(.text("secret")),
    .optional(.text("secret_base64", .text.saying("a secret of any bytes, in base 64"))),
    .optional(.claims("claims")),
    .optional(.flag("allow_missing_iss")),
    .optional(.flag("allow_missing_aud"))
  ).like([
    "name": "login-page", "issuer": "https://login.example.com", "audience": "adventure",
    "jwks_url": "https://login.example.com/.well-known/jwks.json",
    "claims": ["nickname": "preferred_username"],
  ]).telling { _, _, _, _, url, set, secret, bytes, _, _, _ in
    keys(url, set, secret, bytes) == nil ? [notOneOfThem] : []
  }

  private nonisolated static let notOneOfThem = FieldError(
    "", "choice", "Send exactly one of jwks_url, jwks, secret and secret_base64."
  )

  private static func keys(
    _ url: String?, _ set: JSON?, _ secret: String?, _ bytes: String?
  ) -> IssuerDescription.Keys? {
    switch (url, set, secret, bytes) {
    case (let url?, nil, nil, nil): .url(url)
    case (nil, let set?, nil, nil): .set(set)
    case (nil, nil, let secret?, nil): .secret(Array(secret.utf8))
    case (nil, nil, nil, let bytes?): [UInt8](paddedBase64: bytes).map { .secret($0) }
    default: nil
    }
  }
}

extension Field<[String: String]> {
  /// The claims that fill members of the profile.
  fileprivate static func claims(_ name: String) -> Field {
    Field(name, Shape.claims.saying("claims, or dotted paths, by member or another name")) {
      members,
      name in
      var claims: [String: String] = [:]
      for (member, claim) in members.object(name) {
        if claim.string == nil {
          let pointer = "/\(name)/\(JSONPointer.escaped(member))"
          members.refuse(.wrongType(pointer, "a string"))
        }
        claims[member] = claim.string
      }
      return claims
    }
  }
}
