import JSON
import Runtime
import Tenancy

/// An audit event as a log of the Management API.
struct LogObject {
  let json: JSONObject

  /// - Parameters:
  ///   - entry: the event.
  ///   - foreignID: the id by which clients know its user; nil for an event of the app.
  ///   - userName: the address or the name of the user; nil if unknown.
  init(_ entry: AuditEntry, user foreignID: String?, named userName: String?) {
    var log = JSONObject()
    log["log_id"] = .string(entry.id.text)
    log["date"] = .string(entry.at.milliseconds)
    log["type"] = .string(Self.type(of: entry))
    log["description"] = .string(entry.action)
    log["client_id"] = Self.client(of: entry).map(JSON.string)
    log["connection"] = Self.connection(of: entry).map(JSON.string)
    log["ip"] = entry.address.map(JSON.string)
    log["user_agent"] = entry.agent.map(JSON.string)
    log["user_id"] = foreignID.map(JSON.string)
    log["user_name"] = userName.map(JSON.string)
    log["details"] = entry.detail
    json = log
  }

  /// The types of actions that have one of their own; others are calls of the API.
  private static let types = [
    "login": "s", "password_change": "scp", "password_reset": "scp", "password_set": "scp",
    "email_change": "sce", "email_restore": "sce", "email_verify": "sv",
    "password_reset_mail": "scpr", "user_delete": "sdu", "device_logout": "slo",
    "rate_limited": "limit_wc",
  ]

  private static func type(of entry: AuditEntry) -> String {
    switch entry.action {
    case "login_failure":
      return ["password", "email"].contains(entry.detail["provider"]?.string) ? "fp" : "f"
    case "session_end":
      return switch entry.detail["reason"]?.string {
      case "refresh_reuse": "ferrt"
      case "logout", "ended": "slo"
      default: "srrt"
      }
    default: return types[entry.action] ?? "sapi"
    }
  }

  /// Returns the client that acted, or that the user signed in to.
  private static func client(of entry: AuditEntry) -> String? {
    let prefix = "client:"
    return entry.actor.utf8.starts(with: prefix.utf8)
      ? String(entry.actor.utf8.dropFirst(prefix.utf8.count))
      : entry.detail["client_id"]?.string
  }

  private static func connection(of entry: AuditEntry) -> String? {
    switch entry.detail["provider"]?.string {
    case "password": ClientSettings.Connection.password.auth0Name
    case "email": ClientSettings.Connection.emailCode.auth0Name
    case let provider: provider
    }
  }
}
