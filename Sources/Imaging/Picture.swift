package import EventLoop
import FoundationEssentials
import Glibc
package import PictureContract
package import Postgres
package import Runtime

/// A stored picture: upright, in sRGB, without metadata, within 1024 x 1024 pixels.
package struct Picture: Equatable, Sendable {
  /// JPEG, or PNG for transparency; its raw value is the `Content-Type`.
  package let type: PictureType
  /// In pixels, 1 to 1024.
  package let width: Int
  package let height: Int
  /// The encoded picture, at most `PictureLimits.output` bytes.
  package let bytes: [UInt8]

  /// Parses the output of `dossier-pictures`: a header line, and as many bytes as it says.
  ///
  /// A hostile file may have taken over that program, so everything that needs no decoding is
  /// checked.
  package init?(_ output: [UInt8]) {
    guard let lineEnd = output.prefix(64).firstIndex(of: UInt8(ascii: "\n")),
      let header = PictureHeader(line: output[..<lineEnd]),
      output.count - lineEnd - 1 == header.count,
      output[(lineEnd + 1)...].starts(with: header.type.signature)
    else { return nil }
    type = header.type
    width = header.width
    height = header.height
    bytes = Array(output[(lineEnd + 1)...])
  }
}

/// The decoder and the storage of pictures.
@EventLoop package final class PictureService: DomainService {
  package let decoder: PictureDecoder
  package let shelf: PictureStorage

  package init(decoder: PictureDecoder, shelf: PictureStorage) {
    self.decoder = decoder
    self.shelf = shelf
  }
}

extension RequestContext {
  package var pictures: PictureService { dependencies[PictureService.self] }
}

/// The name of the replaced picture, if any.
package struct ReplacedPicture: RowDecodable {
  package let name: String?
  package init(from row: Row) throws(DatabaseError) { name = row.text(ifAny: 0) }
}

/// The storage of pictures: the database, or a folder that the web server serves.
@EventLoop package final class PictureStorage {
  private let folder: String?
  private let pool: BlockingPool

  /// - Parameters:
  ///   - folder: a folder shared by all workers and the web server; nil for the database.
  ///   - pool: the threads that access files.
  package init(folder: String?, pool: BlockingPool) {
    self.folder = folder
    self.pool = pool
  }

  /// Stores the bytes in the folder, or returns them for the database.
  ///
  /// - Throws: `.overloaded`, `.internalError` if the file cannot be written.
  package func keep(_ bytes: [UInt8], as name: String) async throws(Failure) -> BinaryBytes? {
    guard let path = path(of: name) else { return BinaryBytes(bytes) }
    let isWritten = try await run {
      // Atomic, since the web server may read it at any moment.
      (try? Data(bytes).write(to: URL(filePath: path), options: .atomic)) != nil
        && chmod(path, 0o644) == 0
    }
    guard isWritten else { throw .internalError(reason: "\(path) cannot be written") }
    return nil
  }

  /// Deletes the file of a picture that is no longer referenced.
  ///
  /// A file left behind by a failure is harmless.
  package func forget(_ name: String?) async {
    guard let name, let path = path(of: name) else { return }
    _ = try? await run { unlink(path) == 0 }
  }

  private func path(of name: String) -> String? { folder.map { "\($0)/\(name)" } }

  private func run(_ work: @escaping @Sendable () -> Bool) async throws(Failure) -> Bool {
    do throws(BlockingPoolError) {
      return try await pool.run(work)
    } catch {
      throw .overloaded(retryAfter: .seconds(1))
    }
  }
}

extension Failure {
  package static let pictureType = Failure("picture_type", .unsupportedMedia)
    .titled("The file is not a picture in an accepted format.")
    .remedied("Send JPEG, PNG, WebP, HEIF, AVIF or GIF. The server detects the format itself.")
  package static let pictureTruncated = Failure("picture_truncated", .invalid)
    .titled("The picture file is truncated.")
    .remedied(fileRemedy)
  package static let pictureDamaged = Failure("picture_damaged", .invalid)
    .titled("The picture file is damaged.")
    .remedied(fileRemedy)
  package static let picturePixels = Failure("picture_pixels", .invalid)
    .titled("The picture has too many pixels, or a side of more than 16,384.")
    .remedied("Scale the picture down before the upload.")
  package static let pictureTooComplex = Failure("picture_too_complex", .invalid)
    .titled("The picture needs too much time or memory to decode.")
    .remedied("Scale the picture down before the upload.")

  private static let fileRemedy = "Ask the user for another file, or upload the file again."
}
