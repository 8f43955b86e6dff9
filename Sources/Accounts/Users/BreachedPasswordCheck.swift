import BreachedPasswords
package import EventLoop
import PasswordHashes
import Runtime

/// Checks new passwords against the set that the operator installed, if there is one.
@EventLoop package final class BreachedPasswordCheck: DomainService {
  private let set: BreachedPasswordSet?
  private let pool: BlockingPool

  /// - Parameters:
  ///   - path: the file of the set; nil for none.
  ///   - pool: the threads that read it.
  package init(_ path: String?, pool: BlockingPool) {
    set = path.map(BreachedPasswordSet.init)
    self.pool = pool
  }

  /// Returns the error for a password of the set, or nil for another one.
  ///
  /// - Throws: `.overloaded`, `.internalError` if the set cannot be read.
  func fault(in password: String, at pointer: String) async throws(Failure) -> FieldError? {
    guard let set else { return nil }
    let found: Result<Bool, BreachedPasswordSetError>
    do throws(BlockingPoolError) {
      found = try await pool.run {
        Result { () throws(BreachedPasswordSetError) in
          try set.contains(password.preparedPassword)
        }
      }
    } catch {
      throw .overloaded(retryAfter: .seconds(1))
    }
    switch found {
    case .success(false): return nil
    case .success(true):
      return FieldError(
        pointer, "breached", "This password is known from a data breach. Choose another one."
      )
    case .failure(let error): throw .internalError("breached_passwords: \(error)")
    }
  }
}
