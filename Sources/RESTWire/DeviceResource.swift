import Declarations
import Representations
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

  /// The devices of users, for API clients.
  nonisolated static let ofPrograms: [Operation] = [
    Operation(
      .get, "/v1/users/{user}/devices", access: .client(scope: Scopes.readUsers),
      takes: .query(.limit, .cursor),
      gives: [.ok(.list(of: .deviceOfUser, atMost: PageLimit.most))],
      summary: "List the devices on which a user is known, the newest first"
    ) { (call) async throws(Failure) in
      let query = try ListQuery(call.request.query)
      let page = try await Devices.page(
        of: call.captured("user"), before: query.cursor(), count: query.limit, call.context)
      return query.response(page, call, \.json)
    }.viewing(.sessions),
    Operation(
      .delete, "/v1/users/{user}/devices", access: .client(scope: Scopes.updateUsers),
      gives: [.noContent], summary: "Make all devices forget a user, and end all its sessions"
    ) { (call) async throws(Failure) in
      try await Sessions.end(nil, by: call.captured("user"), call.context)
      return Response(.noContent)
    }.needing(.support),
    Operation(
      .get, "/v1/users/{user}/devices/{device}", access: .client(scope: Scopes.readUsers),
      gives: [.ok(.deviceOfUser)], summary: "Read a device on which a user is known"
    ) { (call) async throws(Failure) in
      let device = try await Devices.find(
        call.captured("device"), of: call.captured("user"), call.context)
      return Response(.ok, json: device.json.serialized())
    }.viewing(.sessions),
    Operation(
      .delete, "/v1/users/{user}/devices/{device}", access: .client(scope: Scopes.updateUsers),
      gives: [.noContent],
      summary: "Make a device forget a user, and end the user's sessions there"
    ) { (call) async throws(Failure) in
      try await Devices.remove(
        call.captured("user"), from: call.captured("device"), call.context)
      return Response(.noContent)
    }.needing(.support),
    Operation(
      .get, "/v1/devices/{device}", access: .client(scope: Scopes.readUsers),
      gives: [.ok(.knownDevice)], summary: "Read a device with its users, the active user first"
    ) { (call) async throws(Failure) in
      let device: DeviceID = try call.captured("device")
      let (times, users) = try await Devices.find(device, call.context)
      let body: JSON = [
        "device_id": .string(device.text), "created_at": .string(times.createdAt.text),
        "last_seen_at": .string(times.lastSeenAt.text), "users": .array(users.map(\.json)),
      ]
      return Response(.ok, json: body.serialized())
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

extension DeviceOfUser {
  fileprivate var json: JSON {
    [
      "id": .string(id.text), "created_at": JSON(times?.createdAt),
      "last_seen_at": JSON(times?.lastSeenAt), "activated_at": .string(activatedAt.text),
      "sessions": .number(JSONNumber(sessions)), "agent": JSON(agent),
      "client_name": JSON(client),
    ]
  }
}

extension Shape {
  fileprivate static let deviceOfUser = Shape.object([
    "id": .id(Example.device), "created_at": .time(Example.registered).orNull,
    "last_seen_at": .time(Example.played).orNull, "activated_at": .time(Example.visited),
    "sessions": .count.saying("the number of live sessions of the user there").like(1),
    "agent": .text.orNull.saying("the User-Agent of the user's latest sign-in there")
      .like(.string(Example.agent)),
    "client_name": .text.orNull.saying("the name of the client of that sign-in").like(.null),
  ]).named("DeviceOfUser", "A device on which a user is known.")

  fileprivate static let knownDevice = Shape.object([
    "device_id": .id(Example.device), "created_at": .time(Example.registered),
    "last_seen_at": .time(Example.played),
    "users": .list(of: .deviceUser).like(.array([Example.adaOnDevice])),
  ]).named("KnownDevice", "A device with its users, the active user first.")
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
