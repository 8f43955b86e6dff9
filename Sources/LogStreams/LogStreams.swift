import EventLoop
import Events
import JSON
package import Postgres
import Records
package import Runtime
import Tenancy

/// The verbs of operators for log streams.
package enum LogStreams {
  /// Returns the log stream with an id.
  ///
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func find(
    _ key: String, of app: App, _ context: RequestContext
  ) async throws(Failure) -> LogStream {
    try await LogStreamRecord.table.find(key, of: app.id, context)
  }

  /// Returns how far a stream is, and the age of the oldest event that it has not sent.
  ///
  /// - Returns: nil before the first pass of a worker.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func status(
    of stream: LogStream, _ context: RequestContext
  ) async throws(Failure) -> (status: LogStreamStatus, lag: Duration)? {
    let found = try await context.read(LogStreamQueries.status, stream.key, on: .large).first
    guard let status = found else { return nil }
    let last = try await context.read(FeedQueries.ends, stream.app, on: .large).first?.last ?? 0
    do throws(DatabaseError) {
      let lag = try await lag(
        of: stream, after: status.position, upTo: last, in: context.dependencies.database)
      return (status, lag)
    } catch {
      throw Failure(error)
    }
  }

  /// Returns the age of the first event after a position that a stream wants; zero without one.
  @EventLoop static func lag(
    of stream: LogStream, after position: Int, upTo last: Int, in database: Database
  ) async throws(DatabaseError) -> Duration {
    guard last > position else { return .zero }
    let (events, _) = try await EventFeed.batch(
      of: stream.app, after: position, upTo: last, stream.eventTypes, count: 1, in: database)
    guard let first = events.first else { return .zero }
    return .microseconds(max(0, Timestamp.now.microseconds - first.at.microseconds))
  }

  /// Sends an event of the type `log_stream.test`, and waits for the result.
  @EventLoop package static func test(
    _ stream: LogStream, _ context: RequestContext
  ) async -> LogStreamSender.Result {
    let message = FeedMessage(type: "log_stream.test", of: context.app)
    return await context.logStreamSender.send(
      [(message, 0)], to: stream, isTest: true, context.keys.master)
  }

  /// Removes the positions of deleted streams.
  ///
  /// - Throws: the error of the database.
  @EventLoop package static func removeOld(in database: Database) async throws(DatabaseError) {
    let all = Set(try await database.write(LogStreamQueries.all))
    for stream in try await database.write(LogStreamQueries.known) where !all.contains(stream) {
      _ = try await database.write(LogStreamQueries.removeProgress, stream)
    }
  }
}

/// How a log system answers.
package struct LogStreamStatus: RowDecodable {
  package let position: Int
  package let failures: Int
  package let failingSince: Timestamp?
  package let notBefore: Timestamp?
  package let lastSuccessAt: Timestamp?
  package let lastFailureAt: Timestamp?
  package let lastError: String?
  /// The events that were removed before they were sent.
  package let lost: Int
  package let lostAt: Timestamp?

  package init(from row: Row) throws(DatabaseError) {
    (position, failures) = (try row.int(0), try row.int(1))
    (failingSince, notBefore) = (try row.time(ifAny: 2), try row.time(ifAny: 3))
    (lastSuccessAt, lastFailureAt) = (try row.time(ifAny: 4), try row.time(ifAny: 5))
    (lastError, lost, lostAt) = (row.text(ifAny: 6), try row.int(7), try row.time(ifAny: 8))
  }
}
