import Accounts
import Administration
import Declarations
import Documents
import EventLoop
import HTTP
import JSON
import OpenID
import Representations
import Runtime
import WireKit

/// Merges of users, for API clients.
@EventLoop enum MergeResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .post, "/v1/users/{user}/merge", access: .client(scope: Scopes.deleteUsers),
      takes: .body(.json(limit: 4_096), fields), gives: [.ok(.userMerge)],
      refuses: [.mergeNotPossible, .schemaMismatch, .documentTooLarge, .identityTaken],
      summary: "Merge another user into this one, or show what a merge would do", merge
    ).needing(stepUp: true),
    Operation(
      .post, "/v1/merges/{merge}/undo", access: .client(scope: Scopes.createUsers),
      gives: [.ok(.recreatedUser)], refuses: [.notUndoable, .userExists, .schemaMismatch],
      summary: "Undo a merge of the last seven days: the user that went exists again"
    ) { (call) async throws(Failure) in
      for scope in [Scopes.updateUsers, Scopes.updateAppMetadata] {
        try call.context.require(scope)
      }
      let user = try await UserMerges.undo(call.captured("merge"), call.context)
      let body: JSON = ["user_id": .string(user.text)]
      return Response(.ok, json: body.serialized())
    }.needing(stepUp: true),
  ]

  private nonisolated static let fields = Fields(
    "MergeRequest",
    "A merge: the user that goes, and what becomes of documents that both have.",
    Field("from", .id(Example.grace).saying("the user that goes")) { (members, name) -> UserID in
      members.id(name)
    },
    .optional(.choice("metadata", .mergeChoice, "choice", else: UserMerges.Choice.merge)),
    .optional(.choice("app_metadata", .mergeChoice, "choice", else: UserMerges.Choice.merge)),
    .optional(.choice("custom_data", .mergeChoice, "choice", else: UserMerges.Choice.merge)),
    .optional(
      Field("dry_run", .flag.saying("whether nothing is changed; false by default")) {
        $0.flag($1)
      })
  ).like(["from": .string(Example.grace), "metadata": "keep", "dry_run": true])

  private static func merge(
    _ call: Call, _ other: UserID, _ metadata: UserMerges.Choice?,
    _ appMetadata: UserMerges.Choice?, _ customData: UserMerges.Choice?, _ isDry: Bool?
  ) async throws(Failure) -> Response {
    // The response shows both users.
    for scope in [
      Scopes.readUsers, Scopes.updateUsers, Scopes.readAppMetadata, Scopes.updateAppMetadata,
    ] {
      try call.context.require(scope)
    }
    var choices: [DocumentKind: UserMerges.Choice] = [:]
    choices[.metadata] = metadata
    choices[.appMetadata] = appMetadata
    choices[.customData] = customData
    let user: UserID = try call.captured("user")
    let report = try await UserMerges.run(
      other, into: user, choices, isDry: isDry ?? false, call.context)
    for party in [user, other] {
      try await Audit.recordView(of: .documents, of: party, call.context)
    }
    let body: JSON = [
      "merge_id": JSON(report.id?.text), "user": report.user, "other": report.other,
      "documents": .object(report.documents),
    ]
    return Response(.ok, json: body.serialized())
  }
}

extension Shape {
  fileprivate static let mergeChoice = Shape.choice(UserMerges.Choice.allCases.map(\.rawValue))
    .saying(
      "keep: it stays as it is. take: that of the other user replaces it. merge, the default: "
        + "members that it lacks come from the other user"
    ).like("merge")

  fileprivate static let userMerge = Shape.object([
    "merge_id": .id(Example.merge).orNull
      .saying("the id by which the merge can be undone for seven days; null for a dry run"),
    "user": mergedUser,
    "other": mergedUser.saying("the user that goes")
      .like(["id": .string(Example.grace), "sessions": 0]),
    "documents": Shape.members.saying("the documents after the merge")
      .like(["metadata": ["theme": "dark"]]),
  ]).named("UserMerge", "A merge of two users, or what it would do.")

  private static let mergedUser = Shape.members.saying(
    "the user before the merge: profile, documents, properties, identities, roles, permissions, "
      + "consents, and the numbers of sessions, API keys, passkeys and second factors"
  ).like(["id": .string(Example.ada), "sessions": 1])

  fileprivate static let recreatedUser = Shape.object([
    "user_id": .id(Example.grace).saying("the user that exists again")
  ]).named("RecreatedUser", "A user whose merge is undone.")
}
