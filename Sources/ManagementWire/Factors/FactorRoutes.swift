import Accounts
import EventLoop
import HTTP
import JSON
import Runtime
import Sessions
import WireKit

/// Lists of a user's second factors, and of organizations, which do not exist here.
@EventLoop enum FactorRoutes {
  private nonisolated static let user = "\(UserRoutes.path)/{user}"

  nonisolated static let routes = [
    Route(
      .get, "\(user)/enrollments", access: .management(Scopes.readUsers, Scopes.readUser),
      summary: "List the second factors of a user"
    ) { call async throws(Failure) in
      let factors = try await SecondFactors.list(of: call.managedUser(), call.context).factors
      let enrollments = factors.map { factor -> JSON in
        var enrollment = JSONObject()
        enrollment["id"] = .string(factor.id.text)
        enrollment["status"] = "confirmed"
        enrollment["type"] = "authenticator"
        enrollment["auth_method"] = "authenticator"
        enrollment["enrolled_at"] = .string(factor.createdAt.milliseconds)
        enrollment["last_auth"] = factor.lastUsedAt.map { .string($0.milliseconds) }
        return .object(enrollment)
      }
      return Response(.ok, json: JSON.array(enrollments).serialized())
    },
    Route(
      .get, "\(user)/authentication-methods", access: .management(Scopes.readUsers),
      summary: "List the second factors of a user as authentication methods"
    ) { call async throws(Failure) in
      let page = try PageParameters(call.query)
      let factors = try await SecondFactors.list(of: call.managedUser(), call.context).factors
      return page.response(factors, named: "authenticators") { factor in
        [
          "id": .string("totp|" + factor.id.text), "type": "totp", "confirmed": true,
          "created_at": .string(factor.createdAt.milliseconds),
        ]
      }
    },
    Route(
      .get, "\(user)/organizations", access: .management(Scopes.readUsers),
      summary: "List the organizations of a user, who has none"
    ) { call async throws(Failure) in
      let page = try PageParameters(call.query)
      _ = try await Profiles.read(of: call.managedUser(), call.context)
      return page.response([JSON](), named: "organizations", \.self)
    },
  ]
}
