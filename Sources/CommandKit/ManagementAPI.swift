package import Runtime
package import EventLoop
import HTTP
import JSON
import RESTWire
import WireKit

/// The REST API of the deployment, which the operator calls in this process.
///
/// It is the only part of the command line that knows the REST wire.
@EventLoop package final class ManagementAPI {
  private let service: Service
  /// The name of the caller in audit events.
  private let agent: String
  /// The person who uses the command line; nil before the person is known.
  var person: CommandLinePerson?

  package init(_ dependencies: Dependencies, agent: String) {
    service = Service(wires: [RESTWire()], dependencies)
    self.agent = agent
  }

  /// Sends a request, and returns the response.
  ///
  /// - Throws: the failure of the request.
  package func send(_ request: APIRequest) async throws(CommandFailure) -> APIResponse {
    let call = self.call(request)
    let response = await service.answer(call)
    if let failure = call.failure { throw CommandFailure(failure, at: request.path) }
    return APIResponse(
      body: response.body, next: APIResponse.cursor(in: response[.link]),
      total: response[.totalCount], stream: response.stream)
  }

  private func call(_ request: APIRequest) -> Call {
    var fields = [FieldName.userAgent: agent]
    fields[.app] = request.app
    fields[.contentType] = request.body.mediaType?.rawValue
    fields[.ifMatch] = request.ifVersion.map { EntityTag($0).description }
    let head = Request(
      method: request.method, target: request.target, fields: FieldDictionary(fields)
    )
    return service.operatorCall(head, BodyInMemory(request.body.bytes), by: person)
  }
}
