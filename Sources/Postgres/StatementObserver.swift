import EventLoop

/// The outcome of one statement, without its parameters.
package struct StatementReport: Sendable {
  /// The name of the statement; `composed` if its SQL was composed for one call.
  package let name: StaticString
  package let nanoseconds: UInt64
  /// The rows that it returned, or else changed.
  package let rows: Int
  /// Nil if it succeeded.
  package let failure: SQLState?
}

/// Is called when a statement is sent, in the task of the caller.
///
/// Returns the function that receives the outcome.
package typealias StatementObserver = @EventLoop @Sendable () -> StatementReceiver

package typealias StatementReceiver = @EventLoop (StatementReport) -> Void

/// A statement that an observer waits for.
struct StatementObservation {
  let start = EventLoop.now()
  let receive: StatementReceiver

  @EventLoop func end(_ call: PendingQuery, rows: Int, _ failure: SQLState?) {
    receive(
      StatementReport(
        name: call.composed == nil ? call.name : "composed", nanoseconds: EventLoop.now() - start,
        rows: rows, failure: failure
      )
    )
  }
}
