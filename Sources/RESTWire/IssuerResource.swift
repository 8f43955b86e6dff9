import Dossier
import EventLoop
import HTTP
import JSON
import Wiring

/// `/v1/issuers`, for the operator: whose tokens the app takes.
@EventLoop enum IssuerResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get,
      "/v1/issuers",
      access: .operator,
      gives: [.ok(.issuers)],
      summary: "List the issuers whose tokens the app takes"
    ) { (call) async throws(Failure) in
      let app = try call.context.app.name
      return Response(.ok, list: try await Issuers.list(of: app, for: call.administrator), \.json)
    },
    Operation(
      .post,
      "/v1/issuers",
      access: .operator,
      body: .json(limit: 131_072),
      takes: .issuerDescription,
      gives: [.created(nil, "It is taken from now on.", fields: [.location])],
      refuses: [.issuerExists],
      summary: "Add an issuer: its keys at a URL, as a key set, or a shared secret"
    ) { (call) async throws(Failure) in
      let issuer = try description(call.json)
      try await Issuers.add(issuer, to: call.context.app.name, by: call.administrator)
      var response = Response(.created)
      response.add(.location, "/v1/issuers/\(issuer.name)")
      return response
    },
    Operation(
      .delete,
      "/v1/issuers/{issuer}",
      access: .operator,
      gives: [.noContent],
      summary: "Remove an issuer; its users stay"
    ) { (call) async throws(Failure) in
      try await Issuers.remove(
        call.text("issuer"),
        from: call.context.app.name,
        by: call.administrator
      )
      return Response(.noContent)
    },
  ]

  private static let keyNames = ["jwks_url", "jwks", "secret"]

  private static func description(_ json: JSON) throws(Failure) -> IssuerDescription {
    var members = try Members(
      json,
      known: ["name", "issuer", "audience", "claims"] + keyNames
    )
    let (name, issuer) = (members.string("name"), members.string("issuer"))
    let audience = members.string("audience")
    var claims: [String: String] = [:]
    if members.has("claims") {
      for (member, claim) in members.object("claims") {
        if claim.string == nil {
          let pointer = "/claims/\(JSONPointer.escaped(member))"
          members.refuse(Fault(pointer, "type", "This member must be a string."))
        }
        claims[member] = claim.string
      }
    }
    var keys = IssuerDescription.Keys.secret([])
    let given = keyNames.filter(members.has)
    switch given.count == 1 ? given.first : nil {
    case "jwks_url": keys = .url(members.string("jwks_url"))
    case "jwks": keys = .set(members.json("jwks"))
    case "secret": keys = .secret(Array(members.string("secret").utf8))
    default:
      members.refuse(Fault("", "choice", "One of jwks_url, jwks and secret must be there."))
    }
    try members.check()
    return IssuerDescription(
      name: name,
      issuer: issuer,
      audience: audience,
      keys: keys,
      claims: claims
    )
  }
}
