package import Runtime
package import EventLoop
import FoundationEssentials
import Glibc
package import Postgres

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
    guard isWritten else { throw .internalError("\(path) cannot be written") }
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
