/// Work that one does and many wait for: who asks while it is under way gets the same outcome.
@EventLoop package final class SharedTask<Value: Sendable, Fault: Error> {
  package typealias Outcome = Task<Result<Value, Fault>, Never>

  private var underWay: Outcome?

  package nonisolated init() {}

  package var isUnderWay: Bool { underWay != nil }

  /// Begins the work, unless it is under way.
  @discardableResult
  package func begin(_ work: @escaping @EventLoop () async throws(Fault) -> Value) -> Outcome {
    if let underWay { return underWay }
    let task = EventLoop.task { [self] () -> Result<Value, Fault> in
      defer { underWay = nil }
      do throws(Fault) {
        return .success(try await work())
      } catch {
        return .failure(error)
      }
    }
    underWay = task
    return task
  }
}
