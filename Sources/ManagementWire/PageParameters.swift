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
  private static let sizes = 1...100

  /// - Throws: `.queryMalformed`, `.pageTooFar`.
  init(_ query: FormValues) throws(Failure) {
    hasTotals = try query.flag("include_totals") ?? false
    let page = try query.number("page", in: 0...Self.records, usual: 0)
    size = try query.number("per_page", in: Self.sizes, usual: 50)
    start = page * size
    guard start + size <= Self.records else { throw Failure(.pageTooFar) }
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
