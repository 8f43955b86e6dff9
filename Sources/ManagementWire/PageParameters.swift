import EventLoop
import HTTP
import JSON
import Runtime

/// The parameters `page`, `per_page` and `include_totals` of a list.
struct PageParameters {
  let start: Int
  let size: Int
  let hasTotals: Bool

  /// The records through which a client can page.
  static let records = 1_000
  static let sizes = 1...PageLimit.most

  /// - Throws: `.queryMalformed`, `.pageTooFar`.
  init(_ query: FormValues) throws(Failure) {
    hasTotals = try query.flag("include_totals") ?? false
    let page = try query.number("page", in: 0...Self.records, usual: 0)
    size = try query.number("per_page", in: Self.sizes, usual: 50)
    start = page * size
    guard start + size <= Self.records else { throw .pageTooFar }
  }

  /// Returns the page of a complete list, in the form that the client asks for.
  func response<Item>(_ items: [Item], named name: String, _ json: (Item) -> JSON) -> Response {
    let page = list(items.dropFirst(start).prefix(size).map(json), named: name, total: items.count)
    return Response(.ok, json: page.serialized())
  }

  /// Returns a page of a list, in the form that the client asks for.
  func list(_ items: [JSON], named name: String, total: Int) -> JSON {
    guard hasTotals else { return .array(items) }
    var body = JSONObject()
    body["start"] = .number(JSONNumber(start))
    body["limit"] = .number(JSONNumber(size))
    body["length"] = .number(JSONNumber(items.count))
    body["total"] = .number(JSONNumber(total))
    body[name] = .array(items)
    return .object(body)
  }
}

extension Page {
  /// Reads pages until they have this many items, and returns whether these are all.
  @EventLoop static func items(
    atLeast needed: Int, _ read: @EventLoop (Item.Cursor?) async throws(Failure) -> Page
  ) async throws(Failure) -> (items: [Item], isComplete: Bool) {
    var items: [Item] = []
    var cursor: Item.Cursor?
    repeat {
      let page = try await read(cursor)
      items += page.items
      cursor = page.next
    } while cursor != nil && items.count < needed
    return (items, cursor == nil)
  }
}

/// The parameters `from` and `take` of a list, whose pages begin after an id.
struct CheckpointParameters<Of> {
  let cursor: ID<Of>?
  let count: Int

  /// - Throws: `.queryMalformed`.
  init(_ query: FormValues) throws(Failure) {
    count = try query.number("take", in: PageParameters.sizes, usual: 50)
    cursor = try query["from"].flatMap { (text) throws(Failure) in
      if text.isEmpty { return nil }
      guard let cursor = ID<Of>(text) else {
        throw .queryMalformed("from must be the next of an earlier page.")
      }
      return cursor
    }
  }
}
