package import Dossier
import EventLoop
package import HTTP
package import JSON

/// The query of a list that comes in pages: `cursor`, `limit` and what the list has of its own.
package struct ListQuery {
  private let parameters: FormValues
  /// How many a page has at most.
  package let limit: Int

  /// - Throws: `.invalid` with all that is wrong, by the names of the query.
  package init(_ query: Substring, known: [String] = []) throws(Failure) {
    guard let parameters = FormValues(query) else {
      throw .invalid([
        Fault("", "query", "The query must be percent-encoded UTF-8 that names nothing twice.")
      ])
    }
    let all = known + ["cursor", "limit"]
    var faults = parameters.names.filter { !all.contains($0) }.map { _ in
      Fault("", "query", "The query may have \(all.joined(separator: ", ")).")
    }
    limit = parameters["limit"].map { Int($0) ?? 0 } ?? Users.pageSize
    if !(1...Users.pageSize).contains(limit) {
      faults.append(Fault("", "limit", "limit is a number from 1 to \(Users.pageSize)."))
    }
    guard faults.isEmpty else { throw .invalid(faults) }
    self.parameters = parameters
  }

  package subscript(_ name: String) -> String? { parameters[name] }

  /// Where the page goes on.
  package func cursor<Cursor: LosslessStringConvertible>() throws(Failure) -> Cursor? {
    guard let text = parameters["cursor"] else { return nil }
    guard let cursor = Cursor(text) else {
      throw .invalid([Fault("", "cursor", "cursor is as a Link has it.")])
    }
    return cursor
  }

  /// The page as an array, with a `Link` to the next: the same path and query, going on from there.
  @EventLoop package func response<Item>(
    _ page: Page<Item>,
    _ call: Call,
    _ render: (Item) -> JSON
  ) -> Response {
    var response = Response(.ok, json: JSON.array(page.items.map(render)).serialized())
    guard let next = page.next else { return response }
    let others = parameters.names.filter { $0 != "cursor" }.compactMap { name in
      parameters[name].map { "\(name)=\(PercentCoding.encode($0))" }
    }
    let query = (others + ["cursor=\(next)"]).joined(separator: "&")
    response.add(.link, "<\(call.request.path)?\(query)>; rel=\"next\"")
    return response
  }
}
