/// Serializes work on one thing, in order of arrival.
@EventLoop package final class KeyedMutex {
  /// The queue of each thing; no entry without work.
  private var waiting: [String: [Turn]] = [:]

  package nonisolated init() {}

  /// Runs `work` after all earlier work on the same thing.
  package func inTurn<Value, Fault: Error>(
    on thing: String, _ work: @EventLoop () async throws(Fault) -> Value
  ) async throws(Fault) -> Value {
    if waiting[thing] == nil {
      waiting[thing] = []
    } else {
      let turn = Turn()
      waiting[thing]?.append(turn)
      await turn.wait()
    }
    defer { pass(on: thing) }
    return try await work()
  }

  private func pass(on thing: String) {
    guard waiting[thing]?.isEmpty == false else {
      waiting[thing] = nil
      return
    }
    waiting[thing]?.removeFirst().come()
  }
}

@safe @EventLoop private final class Turn {
  private var hasCome = false
  private var continuation: UnsafeContinuation<Void, Never>?

  /// Waits for the turn, which may have come before this call.
  func wait() async {
    await unsafe withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
      if hasCome {
        unsafe continuation.resume()
      } else {
        unsafe self.continuation = continuation
      }
    }
  }

  func come() {
    hasCome = true
    unsafe continuation?.resume()
    unsafe continuation = nil
  }
}
