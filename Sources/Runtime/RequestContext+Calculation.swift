package import EventLoop

/// Calculations whose cost grows with the data of a client.
extension RequestContext {
  /// The most bytes that are processed on the loop, within a millisecond or two.
  ///
  /// For less work a thread would cost more than it saves.
  private static let small = 16_384

  /// Runs small work at once, and other work on a thread, so that no other request waits for it.
  ///
  /// - Parameters:
  ///   - bytes: the length of the text to process; `.max` for a patch, an update or a schema of a
  ///     client, whose cost does not depend on its length.
  ///   - work: the work, which must not touch state of the loop. It does not start if the client
  ///     has disconnected.
  /// - Returns: the result of `work`.
  /// - Throws: errors of `work`; `.tooManyRequests` if the user, API client or network has too much
  ///   waiting work, `.overloaded` if the queue is full or the work waits too long.
  @inline(__always)
  package func calculate<Value: Sendable>(
    on bytes: Int, _ work: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    guard bytes > Self.small else { return try work() }
    return try await calculateAside(work)
  }

  /// Runs work on a thread.
  private func calculateAside<Value: Sendable>(
    _ work: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let latest = calculatesUntil ?? EventLoop.now() &+ dependencies.calculator.patience.nanoseconds
    calculatesUntil = latest
    let outcome: Result<Value, Failure>
    do throws(FairQueueError) {
      outcome = try await dependencies.calculator.run(for: owner, until: latest) {
        () -> Result<Value, Failure> in
        do throws(Failure) { return .success(try work()) } catch { return .failure(error) }
      }
    } catch {
      throw Failure(error, retryAfter: .seconds(1))
    }
    return try outcome.get()
  }
}

extension Failure {
  /// Maps the reason why work did not run in a pool.
  package convenience init(_ error: FairQueueError, retryAfter time: Duration) {
    switch error {
    case .shareTaken: self.init(.tooManyRequests, retryAfter: time)
    case .full, .late, .abandoned, .withdrawn: self.init(.overloaded, retryAfter: time)
    }
  }
}
