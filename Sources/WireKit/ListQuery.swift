import Encoding
package import Runtime
import EventLoop
package import HTTP
package import JSON

/// The query of a paginated list: `cursor`, `limit` and parameters of the list itself.
package struct ListQuery {
  private let parameters: FormValues
  /// The largest number of items on a page.
  package let limit: Int
  /// The end of cursors in an order that the client can choose.
  private var order = ""

  /// Reads the query of a list.
  ///
  /// - Throws: `.invalid` with all errors, each with the name of its parameter.
  package init(_ query: Substring, known: [String] = []) throws(Failure) {
    let parameters = try Self.parameters(of: query)
    let all = known + ["cursor", "limit"]
    var faults = parameters.names.filter { !all.contains($0) }.map { name in
      FieldError(
        ofParameter: name, "query", "The query may have only \(all.joined(separator: ", "))."
      )
    }
    limit = parameters["limit"].map { Int($0) ?? 0 } ?? PageLimit.most
    if !(1...PageLimit.most).contains(limit) {
      let rule = "limit must be a number from 1 to \(PageLimit.most)."
      faults.append(FieldError(ofParameter: "limit", "limit", rule))
    }
    guard faults.isEmpty else { throw .invalid(faults) }
    self.parameters = parameters
  }

  /// Returns the parameters of a query.
  ///
  /// - Throws: `.invalid` if the query is malformed.
  package static func parameters(of query: Substring) throws(Failure) -> FormValues {
    guard let parameters = FormValues(query) else {
      let rule = "The query must be percent-encoded UTF-8, and each parameter may occur once."
      throw .invalid([FieldError("", "query", rule)])
    }
    return parameters
  }

  package subscript(_ name: String) -> String? { parameters[name] }

  /// Returns the cursor at which the page starts; nil for the first page.
  ///
  /// - Throws: `.invalid` for a malformed cursor, and one of another order.
  package func cursor<Cursor: LosslessStringConvertible>(
    if isValid: (Cursor) -> Bool = { _ in true }
  ) throws(Failure) -> Cursor? {
    guard let text = parameters["cursor"] else { return nil }
    guard text.utf8.reversed().starts(with: order.utf8.reversed()),
      let position = String(text.utf8.dropLast(order.utf8.count)), let cursor = Cursor(position),
      isValid(cursor)
    else {
      let rule = "cursor must be the one in the Link of a page, with the same sort."
      throw .invalid([FieldError(ofParameter: "cursor", "cursor", rule)])
    }
    return cursor
  }

  /// Returns the order that the parameter `sort` asks for.
  ///
  /// - Throws: `.invalid` for another value.
  package mutating func sort<Sort: CaseIterable & RawRepresentable<String>>(
    usual: Sort
  ) throws(Failure) -> Sort {
    let sort: Sort = try choice("sort") ?? usual
    order = ".\(sort.rawValue)"
    return sort
  }

  /// Returns the value of a parameter with fixed values; nil without it.
  ///
  /// - Throws: `.invalid` for another value.
  package func choice<Choice: CaseIterable & RawRepresentable<String>>(
    _ name: String
  ) throws(Failure) -> Choice? {
    guard let text = parameters[name] else { return nil }
    guard let choice = Choice.allCases.first(where: { $0.rawValue.hasSameBytes(as: text) }) else {
      let all = Choice.allCases.map(\.rawValue).joined(separator: ", ")
      throw .invalid([FieldError(ofParameter: name, name, "\(name) must be one of \(all).")])
    }
    return choice
  }

  /// Returns the page as an array, with a `Link` to the next page.
  ///
  /// The link has the same path and query, with the next cursor.
  @EventLoop package func response<Item>(
    _ page: Page<Item>, _ call: Call, _ render: (Item) -> JSON
  ) -> Response {
    var response = Response(.ok, json: JSON.array(page.items.map(render)).serialized())
    if let next = page.next { response.add(.link, link(to: "\(next)", call)) }
    return response
  }

  /// Returns the `Link` to the page at a cursor, which has the same path and query otherwise.
  @EventLoop package func link(to next: String, _ call: Call) -> String {
    let others = parameters.names.filter { $0 != "cursor" }.compactMap { name in
      parameters[name].map { "\(name)=\(PercentCoding.encode($0))" }
    }
    let query = (others + ["cursor=\(next)\(order)"]).joined(separator: "&")
    return "<\(call.request.path)?\(query)>; rel=\"next\""
  }
}
