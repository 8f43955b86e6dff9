import Accounts
import Delivery
import Documents
import Encoding
import EventLoop
import HTTP
import JSON
import Runtime
import Sessions
import Transfer
import WireKit

/// `/api/v2/users/{user}`: one user.
@EventLoop enum UserRoutes {
  nonisolated static let path = "/api/v2/users"
  private nonisolated static let readScopes = [
    Scopes.readUsers, Scopes.readUser, "read:user_idp_tokens",
  ]
  private nonisolated static let updateScopes = [
    Scopes.updateUsers, Scopes.updateAppMetadata, Scopes.updateMetadata,
    "create:current_user_metadata",
  ]
  /// A user's token changes only this field.
  private nonisolated static let ownField = "user_metadata"

  nonisolated static func routes(_ pictureURL: @escaping PictureURL) -> [Route] {
    [
      Route(
        .post,
        path,
        access: .bearer(.management([Scopes.createUsers]), proof: .session),
        body: .json(limit: 1_048_576).holdingDocuments,
        summary: "Create a user"
      ) { call async throws(Failure) in
        let user = try await create(call)
        let record = try await Users.record(of: user, call.context)
        let shown = UserObject(record, pictureURL, call)
        return Response(.created, json: JSON.object(shown.json).serialized())
      },
      Route(
        .get,
        "\(path)/{user}",
        access: .bearer(.management(readScopes), proof: .session),
        summary: "Read a user"
      ) { call async throws(Failure) in
        let selection = try FieldSelection(call.query)
        let record = try await Users.record(of: call.managedUser(), call.context)
        let json = UserObject(record, pictureURL, call).selected(by: selection)
        return Response(.ok, json: json.serialized())
      },
      Route(
        .patch,
        "\(path)/{user}",
        access: .bearer(.management(updateScopes), proof: .session),
        body: .json(limit: 1_048_576).holdingDocuments,
        summary: "Change a user, in one transaction"
      ) { call async throws(Failure) in
        let user = try await call.managedUser()
        try await change(user, call)
        let record = try await Users.record(of: user, call.context)
        let shown = UserObject(record, pictureURL, call)
        return Response(.ok, json: JSON.object(shown.json).serialized())
      },
      Route(
        .delete,
        "\(path)/{user}",
        access: .bearer(.management([Scopes.deleteUsers]), proof: .session),
        summary: "Delete a user; there need be none"
      ) { call async throws(Failure) in
        do throws(Failure) {
          try await Users.delete(call.managedUser(), call.context)
        } catch .notFound {}
        return Response(.noContent)
      },
    ]
  }

  private static func change(_ user: UserID, _ call: Call) async throws(Failure) {
    let body = try call.json.objectOfBody
    let context = call.context
    if context.principal.user != nil {
      guard context.principal.scopes.contains(Scopes.updateMetadata) else {
        throw .insufficientScope(updateScopes.joined(separator: ","))
      }
      let others = body.map(\.key).filter { !$0.hasSameBytes(as: ownField) }
      guard others.isEmpty else {
        throw Failure(
          .fieldsNotYours,
          "You cannot update the following fields: \(others.joined(separator: ", "))".excerpt(400)
        )
      }
    } else if !context.principal.scopes.contains(Scopes.updateUsers) {
      let others = body.map(\.key).filter { $0 != "app_metadata" }
      guard others.isEmpty else { throw .insufficientScope(Scopes.updateUsers) }
    }
    let change = try UserChange(body)
    if change.asksToVerify { try requireMail(context) }
    try await Users.revise(user, change.revision, context)
    if change.asksToVerify {
      try await mailVerification(to: Profiles.read(of: user, context).email, context)
    }
  }

  /// Creates a user from a description, by the rules of an import.
  private static func create(_ call: Call) async throws(Failure) -> UserID {
    let body = try call.json.objectOfBody
    if body["verify_email"] == true { try requireMail(call.context) }
    let description = try UserDescription(body)
    let new = try await NewUser(description.json, call.context)
    let made = try await Users.create(new, call.context)
    if let url = description.pictureURL {
      var picture = UserRevision()
      picture.pictureURL = url
      try await Users.revise(made.id, picture, call.context)
    }
    if body["verify_email"] == true { try await mailVerification(to: made.email, call.context) }
    return made.id
  }

  private static func requireMail(_ context: RequestContext) throws(Failure) {
    guard context.mailer.isConfigured else { throw .mailNotConfigured }
  }

  /// Mails a link to an address, if its limits allow: the user is changed already.
  private static func mailVerification(
    to email: String?,
    _ context: RequestContext
  ) async throws(Failure) {
    guard let email else { return }
    do throws(Failure) {
      try await Emails.requestVerification(of: email, context)
    } catch .tooManyAttempts {
      // A stranger may have asked for mails to the address.
    } catch .loginMethodDisabled {}
  }
}
