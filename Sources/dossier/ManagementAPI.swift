import Dossier
import EventLoop
import HTTP
import JSON
import Postgres
import RESTWire
import WireKit

/// The REST API of the deployment, which the operator calls in this process.
///
/// It is the only part of the command line that knows the REST wire.
@EventLoop final class ManagementAPI {
  private let service: Service
  /// The name of the caller in audit events.
  private let agent: String

  init(_ dependencies: Dependencies, agent: String) {
    service = Service(wires: [RESTWire()], dependencies)
    self.agent = agent
  }

  /// Sends a request, and returns the response.
  ///
  /// - Throws: an error with the problem of the response, unless it is a success.
  func send(_ request: APIRequest) async throws(CommandFailure) -> APIResponse {
    let call = self.call(request)
    let response = await service.answer(call)
    guard response.status.code < 300 else {
      throw CommandFailure(problem: response, of: call, at: request.path)
    }
    return APIResponse(body: response.body, next: APIResponse.cursor(in: response[.link]))
  }

  /// Returns the error for a failure of the domain, as the REST API reports it.
  func failure(_ failure: Failure) -> CommandFailure {
    let call = self.call(APIRequest(.get, "/v1"))
    call.note(failure)
    return CommandFailure(
      problem: RESTWire().response(to: .failure(failure), of: call),
      of: call
    )
  }

  private func call(_ request: APIRequest) -> Call {
    var fields = [FieldName.userAgent: agent]
    fields[.app] = request.app
    fields[.contentType] = request.body.mediaType?.rawValue
    fields[.ifMatch] = request.ifVersion.map { EntityTag($0).description }
    let head = Request(
      method: request.method,
      target: request.target,
      fields: FieldDictionary(fields)
    )
    return service.operatorCall(head, BodyInMemory(request.body.bytes))
  }
}

/// The body of a request that is in memory.
@EventLoop private final class BodyInMemory: BodySource {
  private let bytes: [UInt8]
  var isGone: Bool { false }

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  func body(limit: Int) throws(Refusal) -> [UInt8] {
    guard bytes.count <= limit else { throw .bodyTooLong(limit: limit) }
    return bytes
  }
}

extension CommandFailure {
  /// Creates the error for a problem.
  ///
  /// - Parameters:
  ///   - response: the response with the problem.
  ///   - call: the call, which knows the cause of a server error.
  ///   - path: the path of the request; nil without one.
  /// - Source: RFC 9457.
  @EventLoop fileprivate init(
    problem response: Response,
    of call: Call,
    at path: String? = nil
  ) {
    let problem = (try? JSON.parse(response.body)) ?? .null
    var lines = ["title", "detail"].compactMap { problem[$0]?.string }
    for fault in problem["errors"]?.array ?? [] {
      let parts = ["pointer", "detail", "code"].map { fault[$0]?.string ?? "" }
      lines.append("\(parts[0].isEmpty ? "" : "\(parts[0]): ")\(parts[1]) (\(parts[2]))")
    }
    if let offset = problem["offset"]?.number { lines.append("At byte \(offset.text).") }
    if let paths = problem["indexed"]?.array {
      lines.append("Indexed: " + paths.compactMap(\.string).joined(separator: ", "))
    }
    var fault: ServerFault?
    if case .failure(let failure) = call.refusal { fault = failure.cause?.serverFault }
    if let remedy = fault?.remedy { lines.append(remedy) }
    if let cause = call.error { lines.append(cause) }
    if let path, response.status == .notFound { lines.append("Path: \(path)") }
    self.init(
      lines.map(Table.visible).joined(separator: "\n"),
      ExitStatus(
        response.status.code,
        problem["code"]?.string ?? "",
        isConnected: fault != nil
      )
    )
  }
}
