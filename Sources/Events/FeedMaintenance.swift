package import EventLoop
package import Postgres
package import Runtime

/// Removes published events that are older than the settings of their app.
package enum FeedMaintenance {
  /// Removes old events, and the feeds of deleted apps.
  ///
  /// - Parameters:
  ///   - apps: all apps.
  ///   - database: the database.
  /// - Returns: the number of removed events.
  /// - Throws: the error of the database.
  @EventLoop package static func run(
    _ apps: [App], in database: Database
  ) async throws(DatabaseError) -> Int {
    let retention = Dictionary(apps.map { ($0.id.text, $0.eventSettings.feedRetention) }) { $1 }
    var count = 0
    for feed in try await database.write(FeedQueries.all) where feed != AppID.deployment.text {
      let app = String(feed.prefix(24))
      guard let kept = retention[app] else {
        count += try await remove(feed, before: Timestamp(microseconds: .max / 2), in: database)
        _ = try await database.write(FeedQueries.removeFeed, feed)
        continue
      }
      // Verifiers need what tokens outlive.
      let time = feed == app ? kept : max(kept, EventFeed.longestToken + .seconds(86_400))
      count += try await remove(feed, before: Timestamp.now.earlier(by: time), in: database)
    }
    return count
  }

  @EventLoop private static func remove(
    _ feed: String, before time: Timestamp, in database: Database
  ) async throws(DatabaseError) -> Int {
    var count = 0
    while let last = try await database.write(FeedQueries.old, feed, time).first {
      count += try await database.write(FeedQueries.remove, feed, last).count
    }
    return count
  }
}
