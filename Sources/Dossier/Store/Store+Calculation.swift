import EventLoop

/// Work that grows with what a client sends or has stored.
extension Store {
  /// Up to so many bytes are read, checked and written in a millisecond or two, and a thread would
  /// cost more than it saves.
  private static let small = 16_384

  /// Runs `work` at once when it is small, else on a thread, so that no other request waits for it.
  ///
  /// - Parameters:
  ///   - bytes: of the text that it is about; `.max` for a program of the client's (a patch, an
  ///     update, a schema), whose cost no length tells.
  ///   - work: touches nothing of the loop.
  /// - Returns: what `work` does.
  /// - Throws: `.overloaded` when too much waits for a thread.
  package func calculate<Value: Sendable>(
    on bytes: Int,
    _ work: @escaping @Sendable () -> Value
  ) async throws(Failure) -> Value {
    guard bytes > Self.small else { return work() }
    do throws(BlockingPoolError) {
      return try await calculator.run(work)
    } catch {
      throw .overloaded(retryAfter: 1)
    }
  }

  /// As above, for work that may refuse.
  package func calculate<Value: Sendable>(
    on bytes: Int,
    _ work: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let outcome = try await calculate(on: bytes) { () -> Result<Value, Failure> in
      do throws(Failure) { return .success(try work()) } catch { return .failure(error) }
    }
    return try outcome.get()
  }
}
