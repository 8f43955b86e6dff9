package import EventLoop
import FoundationEssentials
import Glibc
import Postgres

/// Where pictures are kept: in the database, or in a folder that the web server shows.
@EventLoop package final class PictureShelf {
  private let folder: String?
  private let pool: BlockingPool

  /// - Parameters:
  ///   - folder: the path of one that all workers and the web server share; nil for the database.
  ///   - pool: for the files.
  package init(folder: String?, pool: BlockingPool) {
    self.folder = folder
    self.pool = pool
  }

  /// Puts the bytes where they belong, and returns what is for the database to keep.
  ///
  /// - Throws: `.overloaded`, `.unforeseen` when the file cannot be written.
  func keep(_ bytes: [UInt8], as name: String) async throws(Failure) -> BinaryBytes? {
    guard let path = path(of: name) else { return BinaryBytes(bytes) }
    let isWritten = try await run {
      // Seen whole or not at all: the web server may look at any moment.
      (try? Data(bytes).write(to: URL(filePath: path), options: .atomic)) != nil
        && chmod(path, 0o644) == 0
    }
    guard isWritten else { throw .unforeseen("\(path) cannot be written") }
    return nil
  }

  /// Forgets a picture that nothing leads to any more.
  ///
  /// One that stays by a fault harms nobody.
  func forget(_ name: String?) async {
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
