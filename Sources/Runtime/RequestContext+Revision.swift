import EventLoop

/// The result of one try to change a version of stored data.
package enum Revision<Outcome> {
  case done(Outcome)
  /// A concurrent write has replaced the version that was read.
  case overtaken
}

/// Changes of versioned data that run here: read, change, write.
extension RequestContext {
  /// Runs `body`, which reads, changes and writes data of a user, and repeats it after a concurrent
  /// write.
  ///
  /// Repetitions for the same data run one after another, so that many concurrent writers all
  /// finish. They compete only with other workers and with new requests.
  /// - Throws: errors of `body`, `.overloaded`.
  package func revise<Outcome>(
    _ data: String, of user: UserID,
    _ body: @EventLoop () async throws(Failure) -> Revision<Outcome>
  ) async throws(Failure) -> Outcome {
    if case .done(let outcome) = try await body() { return outcome }
    return try await dependencies.revisions.inTurn(on: "\(user) \(data)") {
      () async throws(Failure) in
      for attempt in 0..<16 {
        if case .done(let outcome) = try await body() { return outcome }
        await EventLoop.sleep(for: .milliseconds(Int.random(in: 0...(1 + attempt * 4))))
      }
      throw .overloaded(retryAfter: .seconds(1))
    }
  }
}
