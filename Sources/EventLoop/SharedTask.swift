/// Work that runs once for all callers: those that arrive while it runs get the same outcome.
@EventLoop package final class SharedTask<Value: Sendable, Fault: Error> {
  package typealias Outcome = Task<Result<Value, Fault>, Never>

  private var underWay: Outcome?

  package nonisolated init() {}

  package var isUnderWay: Bool { underWay != nil }

  /// Starts the work unless it is already running.
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
