import EventLoop
import Events
package import Postgres
import Records
import Runtime

/// How far a webhook is behind the events of its app.
package struct WebhookLag: RowDecodable, Sendable {
  package let webhook: String
  let position: Int
  /// The time of the oldest event that it has still to get; nil without one.
  private var oldest: Timestamp?
  /// The name of the app.
  package private(set) var app = ""

  package init(from row: Row) throws(DatabaseError) {
    (webhook, position) = (try row.text(0), try row.int(1))
    oldest = try row.time(ifAny: 2)
  }

  /// The age of that event; 0 without one.
  package var seconds: Int { Self.seconds(since: [oldest]) }

  /// Returns the age of the first of some times in seconds; 0 without one.
  static func seconds(since times: [Timestamp?]) -> Int {
    times.compactMap { $0?.seconds }.min().map { max(0, Timestamp.now.seconds - $0) } ?? 0
  }

  /// The most webhooks with events without a delivery that one measurement looks at.
  private static let most = 100

  /// Returns the lags of webhooks.
  ///
  /// - Throws: the error of the database.
  @EventLoop static func all(
    of webhooks: [Webhook], _ database: Database
  ) async throws(DatabaseError) -> [WebhookLag] {
    let feeds = TextArray(Array(Set(webhooks.map(\.app))).sorted())
    var lags = try await database.write(WebhookQueries.lags, TextArray(webhooks.map(\.key)))
    let ends = try await database.write(FeedQueries.lasts, feeds)
    let last = Dictionary(ends.map { ($0.feed, $0.last) }) { first, _ in first }
    let known = Dictionary(webhooks.map { ($0.key, $0) }) { first, _ in first }
    var looks = 0
    for index in lags.indices {
      guard let webhook = known[lags[index].webhook] else { continue }
      lags[index].app = webhook.appName
      let position = lags[index].position
      guard let end = last[webhook.app], end > position, looks < most else { continue }
      looks += 1
      let next = try await database.write(
        FeedQueries.page, webhook.app, position, end, webhook.typeNames, nil, nil, 1
      ).first
      guard let next else { continue }
      lags[index].oldest = [lags[index].oldest, next.at].compactMap(\.self)
        .min { $0.microseconds < $1.microseconds }
    }
    return lags
  }
}
