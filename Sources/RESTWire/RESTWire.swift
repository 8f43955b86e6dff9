import Dossier
package import HTTP
package import Wiring

/// Dossier's own REST API, `/v1`.
package struct RESTWire: Wire {
  package init() {}

  package var routes: [Route] { entrance + me + documents }

  package func response(to refusal: Refusal, request id: RequestID) -> Response {
    Problem(refusal).response(id)
  }

  private var entrance: [Route] {
    [
      Route(
        .post,
        "/v1/login/anonymous",
        access: .open,
        body: .json(limit: 1_024),
        summary: "Make a user without credentials and log it in",
        Entrance.loginAnonymously
      ),
      Route(
        .post,
        "/v1/register",
        access: .open,
        body: .json(limit: 4_096),
        summary: "Make a user with email address and password and log it in",
        Entrance.register
      ),
      Route(
        .post,
        "/v1/login/password",
        access: .open,
        body: .json(limit: 4_096),
        summary: "Log in with email address and password",
        Entrance.loginWithPassword
      ),
      Route(
        .post,
        "/v1/token/refresh",
        access: .open,
        body: .json(limit: 1_024),
        summary: "Exchange a refresh token for new tokens",
        Entrance.refresh
      ),
      Route(
        .post,
        "/v1/logout",
        access: .user(scope: Scopes.readUser),
        summary: "End the session",
        Entrance.logout
      ),
    ]
  }

  private var me: [Route] {
    [
      Route(
        .get,
        "/v1/me",
        access: .user(scope: Scopes.readUser),
        summary: "Read the profile",
        ProfileResource.read
      ),
      Route(
        .patch,
        "/v1/me",
        access: .user(scope: Scopes.updateMetadata),
        body: .patch(limit: 16_384),
        summary: "Change the profile",
        ProfileResource.patch
      ),
      Route(
        .delete,
        "/v1/me",
        access: .user(scope: Scopes.updateMetadata),
        summary: "Delete the user and all its data",
        ProfileResource.delete
      ),
    ]
  }

  private var documents: [Route] {
    let metadata = DocumentResource(.metadata)
    let customData = DocumentResource(.customData)
    return metadata.routes("/v1/me/metadata", "the metadata")
      + customData.routes("/v1/me/custom-data", "the custom data") + [
        Route(
          .delete,
          "/v1/me/custom-data",
          access: .user(scope: Scopes.updateMetadata),
          summary: "Delete the custom data",
          customData.delete
        )
      ]
  }
}
