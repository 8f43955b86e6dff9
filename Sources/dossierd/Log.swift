import Dossier
import Glibc
import JSON
import EventLoop
import HTTP
import Wiring

/// One JSON object a line, on standard output.
enum Log {
  static func write(_ level: String, _ message: String) {
    line([
      ("level", .string(level)), ("pid", .number(JSONNumber(Int(getpid())))),
      ("message", .string(message)),
    ])
  }

  /// The line of a request; nothing in it is a secret or names a person.
  @EventLoop static func request(
    _ request: Request,
    _ outcome: Service.Outcome,
    microseconds: Int,
    bytes: Int
  ) {
    var members: [(String, JSON)] = [
      ("level", .string(outcome.error == nil ? "info" : "error")),
      ("pid", .number(JSONNumber(Int(getpid())))),
      ("request", .string(request.id.description)),
      ("route", .string(outcome.route?.name ?? "none")),
      ("status", .number(JSONNumber(outcome.response.status.code))),
      ("us", .number(JSONNumber(microseconds))),
      ("db_us", .number(JSONNumber(Int(outcome.databaseNanoseconds / 1_000)))),
      ("bytes", .number(JSONNumber(bytes))),
    ]
    if let user = outcome.user { members.append(("user", .string(user.text))) }
    if let client = outcome.client { members.append(("client", .string(client.text))) }
    if let error = outcome.error { members.append(("error", .string(error))) }
    line(members)
  }

  private static func line(_ members: [(String, JSON)]) {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    var object = JSONObject()
    let fraction = String(time.tv_nsec / 1_000_000 + 1_000).dropFirst()
    object["time"] = .number(JSONNumber("\(time.tv_sec).\(fraction)"))
    for (name, value) in members { object[name] = value }
    let bytes = JSON.object(object).serialized() + [UInt8(ascii: "\n")]
    // One write a line: lines of several workers do not mix.
    bytes.withUnsafeBytes { _ = Glibc.write(1, $0.baseAddress, $0.count) }
  }
}
