package import HTTP
package import Wiring

/// Dossier's own REST API, `/v1`.
package struct RESTWire: Wire {
  package init() {}

  package var routes: [Route] {
    Entrance.routes + Mailing.routes + ProfileResource.routes + DocumentResource.routes
      + PropertyResource.routes + IdentityResource.routes + SessionResource.routes
      + DeviceResource.routes + PictureResource.routes + UpdateResource.routes + UserResource.routes
      + AppResource.routes
      + ClientResource.routes + KeyResource.routes + IssuerResource.routes
      + IndexResource.routes + SchemaResource.routes
  }

  package func response(to refusal: Refusal, request id: RequestID) -> Response {
    Problem(refusal).response(id)
  }
}
