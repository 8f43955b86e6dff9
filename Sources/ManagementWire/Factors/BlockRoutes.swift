import Accounts
import Administration
import EventLoop
import HTTP
import JSON
import RateLimiting
import Runtime
import WireKit

/// `/api/v2/user-blocks`: sign-ins that were refused after too many failures.
///
/// Failures of strangers block no user, so no list has an entry. DELETE resets the rate limits.
@EventLoop enum BlockRoutes {
  private nonisolated static let path = "/api/v2/user-blocks"
  private nonisolated static let read = Access.management(Scopes.readUsers)
  private nonisolated static let update = Access.management(Scopes.updateUsers)

  nonisolated static let routes = [
    Route(.get, path, access: read, summary: "List the blocks of an address") {
      call throws(Failure) in
      _ = try identifier(of: call)
      return none()
    },
    Route(.delete, path, access: update, summary: "Reset the rate limits of an address") {
      call async throws(Failure) in
      let email = try identifier(of: call)
      _ = try await RateLimits.reset(ofEmail: email, call.context)
      return Response(.noContent)
    },
    Route(.get, "\(path)/{user}", access: read, summary: "List the blocks of a user") {
      call async throws(Failure) in
      _ = try await Profiles.read(of: call.managedUser(), call.context)
      return none()
    },
    Route(.delete, "\(path)/{user}", access: update, summary: "Reset the rate limits of a user") {
      call async throws(Failure) in
      let user = try call.managedUser()
      let profile = try await Profiles.read(of: user, call.context)
      _ = try await RateLimits.reset(ofEmail: profile.email, user: user, call.context)
      return Response(.noContent)
    },
  ]

  private static func identifier(of call: Call) throws(Failure) -> String {
    guard let email = try call.query["identifier"], !email.isEmpty else {
      throw .queryMalformed("Missing required property: identifier.")
    }
    return email
  }

  private static func none() -> Response {
    let body: JSON = ["blocked_for": []]
    return Response(.ok, json: body.serialized())
  }
}
