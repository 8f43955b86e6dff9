import Administration
package import ConsolePages
import Encoding
import EventLoop
package import HTTP
import HostedPages
package import JSON
package import Pages
import RESTWire
package import Runtime
import WireKit

/// A request to `/v1`.
package struct ConsoleRequest {
  package let method: HTTP.Method
  /// The segments of the path below `/v1`.
  package let path: [String]
  package var query: [(name: String, value: String)] = []
  package var body: JSON?
  /// A body that is no JSON.
  package var bytes: [UInt8]?
  /// The version that the resource must have.
  package var version: Int?
  /// The app; nil for that of the page.
  package var app: String?

  package init(_ method: HTTP.Method, _ path: String...) { self.init(method, path) }

  package init(_ method: HTTP.Method, _ path: [String]) {
    (self.method, self.path) = (method, path)
  }

  fileprivate var target: String {
    let path = "/v1/" + path.map { PercentCoding.encode($0) }.joined(separator: "/")
    let query = query.filter { !$0.value.isEmpty }.map {
      "\($0.name)=\(PercentCoding.encode($0.value))"
    }
    return query.isEmpty ? path : "\(path)?\(query.joined(separator: "&"))"
  }
}

/// The answer to a request that has succeeded.
package struct ConsoleAnswer {
  /// The body; null without one.
  package let json: JSON
  /// The version of the resource; nil if it has none.
  package let version: Int?
  /// The cursor of the next page; nil for the last page.
  package let next: String?
  /// The number of items of the whole list, if the request asked for it.
  package let total: String?

  package var items: [JSON] { json.array.map(Array.init) ?? [] }
}

extension ConsoleVisit {
  private static let passed: [FieldName] = [.userAgent, .acceptLanguage, .requestID]

  /// Sends a request to `/v1`, as the administrator.
  ///
  /// - Throws: the failure of the request.
  package func send(_ request: ConsoleRequest) async throws(Failure) -> ConsoleAnswer {
    let response = try await self.response(to: request)
    return ConsoleAnswer(
      json: (try? JSON.parse(response.body, limits: .none)) ?? .null,
      version: response[.entityTag].flatMap { EntityTag($0)?.version },
      next: Self.cursor(in: response[.link]), total: response[.totalCount])
  }

  /// Returns the response of `/v1` to a request of the administrator.
  ///
  /// - Throws: the failure of the request.
  package func response(to request: ConsoleRequest) async throws(Failure) -> Response {
    // Audit events name the browser.
    var fields: [FieldName: String] = [:]
    for name in Self.passed { fields[name] = call.request.field(name) }
    fields[.app] = request.app ?? app
    if request.body != nil {
      let type: MediaType = request.method == .patch ? .mergePatch : .json
      fields[.contentType] = type.rawValue
    }
    if request.bytes != nil { fields[.contentType] = MediaType.octets.rawValue }
    fields[.ifMatch] = request.version.map { EntityTag($0).description }
    let head = Request(
      method: request.method, target: request.target,
      fields: FieldDictionary(fields, clientAddress: call.request.address))
    let service = context.dependencies[Console.self].service(context.dependencies)
    let inner = service.administratorCall(
      head, BodyInMemory(request.bytes ?? request.body?.serialized() ?? []),
      session.administrator)
    let response = await service.answer(inner)
    if let failure = inner.failure { throw failure }
    return response
  }

  /// Reads a resource.
  ///
  /// - Throws: the failure of the request.
  package func read(
    _ path: String..., query: [(name: String, value: String)] = []
  ) async throws(Failure) -> ConsoleAnswer {
    var request = ConsoleRequest(.get, path)
    request.query = query
    return try await send(request)
  }

  /// Returns the id of the user with an address; nil if no user has it.
  ///
  /// - Throws: the failure of the request.
  package func user(withAddress address: String) async throws(Failure) -> String? {
    let filter = "email = \(JSON.string(address).text)"
    return try await read("users", query: [("filter", filter), ("limit", "1")])
      .items.first?["id"]?.string
  }

  /// Sends the request of a form.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - fields: the names of the fields, for the errors.
  ///   - names: as for `Failure.mistakes`.
  ///   - done: returns the outcome of an answer.
  ///   - page: returns the page of the form with the errors that the administrator can mend.
  /// - Returns: the outcome.
  /// - Throws: a failure that the form cannot show, or of the page.
  package func submit(
    _ request: ConsoleRequest, _ fields: [String], naming names: [String: String] = [:],
    done: (ConsoleAnswer) -> ConsoleOutcome,
    orShow page: @EventLoop ([Mistake]) async throws(Failure) -> ConsolePage
  ) async throws(Failure) -> ConsoleOutcome {
    do throws(Failure) {
      return done(try await send(request))
    } catch {
      guard error.isMendable else { throw error }
      call.failure = error
      return .refused(try await page(error.mistakes(fields, naming: names)), .unprocessable)
    }
  }

  /// The cursor in the address of a list; empty for its first part.
  package var cursor: String { FormValues(call.request.query)?["cursor"] ?? "" }

  /// Returns the links between the parts of a list.
  ///
  /// - Parameters:
  ///   - list: the part that the page shows.
  ///   - path: returns the path of the page with parameters.
  /// - Returns: the links; none if the list has one part.
  package func pager(
    _ list: ConsoleAnswer, at path: ([(name: String, value: String)]) -> LocalPath
  ) -> [Markup] {
    let links = Part.pager(
      first: cursor.isEmpty ? nil : path([]), next: list.next.map { path([("cursor", $0)]) })
    return [links].compactMap(\.self)
  }

  /// Returns the cursor of the next page.
  ///
  /// - Source: RFC 8288.
  private static func cursor(in link: String?) -> String? {
    guard let target = link?.split(separator: ">").first,
      let mark = target.firstRange(of: "cursor=")
    else { return nil }
    return PercentCoding.decode(target[mark.upperBound...].prefix { $0 != "&" })
  }
}
