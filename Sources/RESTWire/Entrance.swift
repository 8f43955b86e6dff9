import Dossier
import EventLoop
import HTTP
import JSON
import Wiring

/// The ways in and out.
@EventLoop enum Entrance {
  static func loginAnonymously(_ call: Call) async throws(Failure) -> Response {
    _ = try call.members([])
    return response(
      .ok,
      try await Users.loginAnonymously(
        app: call.app,
        from: call.origin,
        call.tokens,
        in: call.store
      )
    )
  }

  static func register(_ call: Call) async throws(Failure) -> Response {
    response(
      .created,
      try await Users.register(
        call.credentials,
        app: call.app,
        from: call.origin,
        call.tokens,
        in: call.store
      )
    )
  }

  static func loginWithPassword(_ call: Call) async throws(Failure) -> Response {
    response(
      .ok,
      try await Users.login(
        call.credentials,
        app: call.app,
        from: call.origin,
        call.tokens,
        in: call.store
      )
    )
  }

  static func refresh(_ call: Call) async throws(Failure) -> Response {
    let members = try call.members(["refresh_token"])
    return response(
      .ok,
      try await Sessions.refresh(
        members[0],
        app: call.app,
        from: call.origin,
        call.tokens,
        in: call.store
      )
    )
  }

  static func logout(_ call: Call) async throws(Failure) -> Response {
    try await Sessions.end(call.caller, from: call.origin, in: call.store)
    return Response(.noContent)
  }

  private static func response(_ status: Status, _ grant: Sessions.Grant) -> Response {
    let body: JSON = [
      "access_token": .string(grant.accessToken), "refresh_token": .string(grant.refreshToken),
      "token_type": "Bearer",
      "expires_in": .number(JSONNumber(Int(grant.lifetime.components.seconds))),
      "user_id": .string(grant.user.text), "device_id": .string(grant.device.text),
    ]
    return Response(status, json: body.serialized())
  }
}

extension Call {
  fileprivate var credentials: Credentials {
    get throws(Failure) {
      let members = try members(["email", "password"])
      return Credentials(email: members[0], password: members[1])
    }
  }

  /// The members of the body, which must be these strings and no others.
  fileprivate func members(_ names: [String]) throws(Failure) -> [String] {
    guard let object = json.object else {
      throw .invalid([Fault("", "type", "The body must be an object.")])
    }
    var faults: [Fault] = []
    for (name, _) in object where !names.contains(name) {
      faults.append(
        Fault("/" + JSONPointer.escaped(name), "unknown_member", "This member is unknown.")
      )
    }
    let values = names.map { name in
      guard let value = object[name] else {
        faults.append(Fault("/\(name)", "missing", "This member is required."))
        return ""
      }
      guard let text = value.string else {
        faults.append(Fault("/\(name)", "type", "This member must be a string."))
        return ""
      }
      return text
    }
    guard faults.isEmpty else { throw .invalid(faults) }
    return values
  }
}
