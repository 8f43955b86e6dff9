import EventLoop

/// Work that grows with what a client sends or has stored.
extension RequestContext {
  /// Up to so many bytes are read, checked and written in a millisecond or two, and a thread would
  /// cost more than it saves.
  private static let small = 16_384

  /// Runs `work` at once when it is small, else on a thread, so that no other request waits for it.
  ///
  /// - Parameters:
  ///   - bytes: of the text that it is about; `.max` for a program of the client's (a patch, an
  ///     update, a schema), whose cost no length tells.
  ///   - work: touches nothing of the loop. Not begun when who asked has gone meanwhile.
  /// - Returns: what `work` does.
  /// - Throws: `.tooManyAtOnce` when too much of the same user, program or network waits for a
  ///   thread, `.overloaded` when too much does or its turn does not come.
  package func calculate<Value: Sendable>(
    on bytes: Int,
    _ work: @escaping @Sendable () -> Value
  ) async throws(Failure) -> Value {
    guard bytes > Self.small else { return work() }
    let latest = calculatesUntil ?? EventLoop.now() &+ dependencies.calculator.patience.nanoseconds
    calculatesUntil = latest
    do throws(FairQueueError) {
      return try await dependencies.calculator.run(for: owner, until: latest, work)
    } catch {
      throw Failure(error, retryAfter: .seconds(1))
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

extension Failure {
  /// Why something had no turn in a pool.
  init(_ error: FairQueueError, retryAfter time: Duration) {
    switch error {
    case .shareTaken: self = .tooManyAtOnce(retryAfter: time)
    case .full, .late, .abandoned, .withdrawn: self = .overloaded(retryAfter: time)
    }
  }
}
