import JSON
import Outbound
package import Runtime

/// Secrets in the URLs of receivers, which only those see who may change receivers.
extension AuditEntry {
  /// The right to read and change webhooks and log streams.
  private static let right = AdministratorRight.admin
  /// Deeper values than an event has are left out.
  private static let depth = 8

  /// Returns the event as a principal may see it: veiled without that right.
  ///
  /// The operator has all rights.
  package func shown(to principal: Principal) -> AuditEntry {
    if principal.role == .operator { return self }
    if let right = principal.administrator?.right, right >= Self.right { return self }
    return veiled
  }

  /// The event with URLs of receivers that have no path and no query.
  package var veiled: AuditEntry {
    guard action.hasPrefix("webhook_") || action.hasPrefix("log_stream_") else { return self }
    var entry = self
    entry.detail = Self.withOrigins(detail, Self.depth)
    return entry
  }

  private static func withOrigins(_ json: JSON, _ depth: Int) -> JSON {
    guard depth > 0, let object = json.object else { return json.object == nil ? json : [:] }
    return .object(
      JSONObject(
        object.map { name, value in
          guard name.hasSameBytes(as: "url") else { return (name, withOrigins(value, depth - 1)) }
          let origin = value.string.map(ReceiverURL.origin(of:)) ?? ""
          return (name, .string(origin.isEmpty ? "…" : origin))
        }))
  }
}
