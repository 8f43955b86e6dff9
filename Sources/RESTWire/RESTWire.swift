package import HTTP
package import Wiring

/// Dossier's own REST API, `/v1`.
package struct RESTWire: Wire {
  package init() {}

  package var routes: [Route] { Self.chapters.flatMap(\.operations).map(\.route) }

  package func response(to refusal: Refusal, request id: RequestID) -> Response {
    Problem(refusal).response(id)
  }

  /// All of it, in the order in which it is read.
  static let chapters: [Chapter] = [
    Chapter(
      title: "Logging in",
      says: "Anybody may ask; failures are limited by address.",
      operations: Entrance.operations + Mailing.operations
    ),
    Chapter(
      title: "Devices",
      says: "Who is logged in on a device, and who is active there.",
      operations: DeviceResource.operations
    ),
    Chapter(
      title: "Users",
      says: "Profile and picture; `/v1/me` is the user's own, `/v1/users` is for programs.",
      operations: ProfileResource.operations + PictureResource.operations
        + UserResource.operations
    ),
    Chapter(
      title: "Documents",
      says: "Metadata, app metadata and custom data: objects of the app's own making.",
      operations: DocumentResource.operations + UpdateResource.operations
    ),
    Chapter(
      title: "Properties",
      says: "Small values by key, each with a version.",
      operations: PropertyResource.operations
    ),
    Chapter(
      title: "Identities and sessions",
      says: "By what a user is known, where it is logged in, and what was done to it.",
      operations: IdentityResource.operations + SessionResource.operations
    ),
    Chapter(
      title: "Operation",
      says: "Apps, programs, keys, issuers and indexes, for the operator.",
      operations: AppResource.operations + ClientResource.operations + KeyResource.operations
        + IssuerResource.operations + IndexResource.operations
    ),
    Chapter(
      title: "Reference",
      says: "What you are reading.",
      operations: ReferenceResource.operations
    ),
  ]
}
