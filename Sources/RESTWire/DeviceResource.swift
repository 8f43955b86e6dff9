import Declarations
import Runtime
import Sessions
import Encoding
import EventLoop
import HTTP
import JSON
import WireKit

/// `/v1/device`.
@EventLoop enum DeviceResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get, "/v1/device", access: .device, gives: [.ok(.devicePlaces)],
      summary: "List the users of the device", list
    ),
    Operation(
      .put,
      "/v1/device/active",
      access: .device,
      takes: .body(
        .json(limit: 1_024), Fields("Choice", "A user of the device.", .user("user_id"))
      ),
      gives: [.ok(.grant.shown(as: Example.switched))],
      refuses: [.notFound, .notLoggedIn, .switchingForbidden],
      summary: "Switch to another user of the device"
    ) { (call, user) async throws(Failure) in
      try await LoginResource.response(.ok, Devices.activate(user, call.context), call)
    },
    Operation(
      .post, "/v1/device/users/{user}/logout", access: .device, takes: .query(.next),
      gives: [.ok(.devicePlaces.shown(as: Example.deviceAfterLogout))],
      summary: "Sign a user out of the device"
    ) { (call) async throws(Failure) in
      try await Devices.logout(call.captured("user"), next: call.next, call.context)
      return try await list(call)
    },
    Operation(
      .post, "/v1/device/logout", access: .device, gives: [.ok(.devicePlaces)],
      summary: "Sign all users of the device out"
    ) { (call) async throws(Failure) in
      try await Devices.logoutAll(call.context)
      return try await list(call)
    },
    Operation(
      .delete, "/v1/device/users/{user}", access: .device, takes: .query(.next),
      gives: [.ok(.devicePlaces.shown(as: Example.deviceAfterRemoval))],
      summary: "Make the device forget a user"
    ) { (call) async throws(Failure) in
      try await Devices.remove(call.captured("user"), next: call.next, call.context)
      return try await list(call)
    },
  ]

  private static func list(_ call: Call) async throws(Failure) -> Response {
    let known = try await Devices.list(call.context)
    let body: JSON = [
      "device_id": .string(known.device.text), "users": .array(known.users.map(\.json)),
    ]
    return Response(.ok, json: body.serialized())
  }
}

extension Call {
  /// The next active user of the device, selected by the parameter `next`.
  var next: NextActive {
    get throws(Failure) { try choice("next") ?? .mostRecent }
  }

  /// Returns the value of the only parameter that the query may have; nil without a query.
  ///
  /// - Throws: `.invalid` for another query.
  func choice<Choice: CaseIterable & RawRepresentable<String>>(
    _ name: String
  ) throws(Failure) -> Choice? {
    guard !request.query.isEmpty else { return nil }
    let parts = request.query.split(separator: "=", maxSplits: 1)
    guard parts.count == 2, parts[0] == name,
      let value = PercentCoding.decode(parts[1]), let choice = Choice(rawValue: value)
    else {
      let all = Choice.allCases.map { "\(name)=\($0.rawValue)" }.joined(separator: " or ")
      throw .invalid([FieldError(ofParameter: name, "query", "The query must be \(all).")])
    }
    return choice
  }
}
