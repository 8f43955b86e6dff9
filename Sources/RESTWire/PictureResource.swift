import Imaging
import Declarations
import Accounts
import Runtime
import EventLoop
import HTTP
import WireKit

/// `/v1/me/picture` and `/v1/pictures`.
@EventLoop enum PictureResource {
  nonisolated static let operations =
    [BasePath.me, .users].flatMap(operations) + [
      Operation(
        .get, "\(PicturePaths.uploaded){picture}", access: .open,
        gives: [Answer(status: .ok, says: "The picture.", shape: nil, types: [.jpeg, .png])],
        summary: "Read a picture"
      ) {
        (call) async throws(Failure) in
        let picture = try await Pictures.show(call.text("picture"), call.context)
        var response = Response(.ok)
        response.body = picture.bytes
        response.add(.contentType, picture.type)
        // Each upload has a new URL.
        response.add(.cacheControl, "public, max-age=31536000, immutable")
        return response
      }
    ]

  private nonisolated static func operations(_ base: BasePath) -> [Operation] {
    [
      Operation(
        .put,
        "\(base.prefix)/picture",
        access: base.write,
        takes: .body(
          .bytes(
            limit: Pictures.limit, types: [.jpeg, .png, .webp, .heic, .heif, .avif, .gif, .octets]
          )
        ),
        gives: [.ok(.profile, "The profile with the path of the picture.")],
        refuses: [
          .pictureType, .pictureTruncated, .pictureDamaged, .picturePixels, .pictureTooComplex,
        ],
        summary: "Upload the picture"
      ) { (call) async throws(Failure) in
        guard case .bytes(let file) = call.body else {
          throw .internalError(reason: "a picture without a body")
        }
        let profile = try await Pictures.set(file, of: call.user, call.context)
        return Response(.ok, profile)
      },
      Operation(
        .delete, "\(base.prefix)/picture", access: base.write, gives: [.noContent],
        summary: "Remove the picture, if there is one"
      ) {
        (call) async throws(Failure) in
        try await Pictures.remove(of: call.user, call.context)
        return Response(.noContent)
      },
    ]
  }
}
