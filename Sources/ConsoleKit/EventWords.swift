import Administration
import ConsolePages
import EventLoop
package import JSON
package import Runtime

/// The words for actions, actors and details of events.
package enum EventWords {
  /// Returns an action in words, such as “User blocked” for `user_block`.
  package static func action(_ code: String) -> String { actions[code] ?? NameWords.label(code) }

  /// Returns the action with these words, in any case; nil if none has them.
  package static func code(ofAction words: String) -> String? { code(of: words, among: actions) }

  /// Returns the actor with these words, in any case; nil if none has them.
  package static func code(ofActor words: String) -> String? { code(of: words, among: actors) }

  private static func code(of words: String, among all: [String: String]) -> String? {
    let wanted = words.lowercased()
    return all.first { $0.value.lowercased() == wanted }?.key
  }

  /// The actors that are no administrators and no clients.
  package static let actors = [
    "user": "The user", "operator": "Command line", "system": "Dossier",
    "unauthenticated": "A visitor",
  ]

  /// The words of all actions.
  ///
  /// No two have the same words, so a filter by words finds one.
  package static let actions = [
    "login": "Signed in", "sign_in": "Sign-in completed", "login_failure": "Sign-in refused",
    "rate_limited": "Rate limit reached",
    "reauthenticate": "Authenticated again", "session_end": "Session ended",
    "sessions_end": "All sessions ended", "link": "Sign-in method added",
    "unlink": "Sign-in method removed", "passkey_rename": "Passkey renamed",
    "passkey_counter": "Passkey may be copied", "api_key_disable": "API key disabled",
    "api_key_enable": "API key enabled",
    "password_change": "Password changed", "password_reset": "Password reset by email",
    "password_set": "Password set", "password_reset_mail": "Email for a new password sent",
    "ticket_create": "Ticket created", "email_verify": "Address verified",
    "email_verify_mail": "Email to verify an address sent",
    "email_change": "Address changed", "email_restore": "Address restored",
    "account_takeover": "Address taken over by its owner",
    "second_factor_add": "Second factor added",
    "second_factor_remove": "Second factor removed",
    "recovery_codes_make": "Recovery codes created",
    "device_switch": "Switched user on a device", "device_logout": "Signed out on a device",
    "device_remove": "Removed from a device", "client_sign_in": "Signed in to an application",
    "consent": "Application allowed", "consent_revoke": "Application access removed",
    "user_create": "User created", "user_import": "User imported", "user_block": "User blocked",
    "user_unblock": "User unblocked", "user_delete": "User deleted", "user_merge": "Users merged",
    "merge_undo": "Merge undone", "user_export": "User's data exported",
    "user_roles_change": "User's roles changed",
    "user_permissions_change": "User's permissions changed", "data_change": "Data changed",
    "session_undo": "Writes of a session undone",
    "user_view": "User viewed", "user_search": "Users searched",
    "support_code_make": "Support code created", "support_session": "Support session opened",
    "rate_limit_reset": "Rate limits reset", "mail_test": "Test email sent",
    "mail_retry": "Email sent again", "mail_drop": "Email dropped",
    "users_import_begin": "Import started", "users_import": "Users imported",
    "users_export": "Users exported", "job_start": "Job started", "job_end": "Job ended",
    "job_stop": "Job stopped", "job_remove": "Job removed", "job_download": "Job's file downloaded",
    "audit_export": "Audit log exported", "index_add": "Index added",
    "index_remove": "Index removed", "app_create": "App created", "app_change": "Settings changed",
    "app_delete": "App deleted", "administrator_create": "Administrator added",
    "administrator_change": "Administrator changed",
    "administrator_delete": "Administrator deleted",
    "administrator_link": "Administrator's link made", "client_create": "Application created",
    "client_change": "Application changed", "client_delete": "Application deleted",
    "client_secret_rotate": "Application's secret replaced",
    "client_grant_set": "Application's access to an API changed",
    "client_grant_remove": "Application's access to an API removed",
    "resource_server_create": "API created", "resource_server_change": "API changed",
    "resource_server_delete": "API deleted", "role_create": "Role created",
    "role_change": "Role changed", "role_delete": "Role deleted",
    "role_permissions_change": "Role's permissions changed",
    "issuer_create": "Issuer created", "issuer_change": "Issuer changed",
    "issuer_delete": "Issuer deleted", "connection_create": "Connection created",
    "connection_change": "Connection changed", "connection_delete": "Connection deleted",
    "webhook_create": "Webhook created", "webhook_change": "Webhook changed",
    "webhook_delete": "Webhook deleted", "webhook_secret_rotate": "Webhook's key replaced",
    "webhook_retry": "Event sent again to a webhook",
    "webhook_replay": "Events sent again to a webhook",
    "log_stream_create": "Log stream created", "log_stream_change": "Log stream changed",
    "log_stream_delete": "Log stream deleted", "schema_set": "Schema set",
    "schema_remove": "Schema removed", "key_rotate": "Signing key replaced",
    "key_remove": "Signing key removed", "master_key_reencrypt": "Secrets encrypted again",
  ]

  /// Returns an actor in words.
  ///
  /// - Parameters:
  ///   - actor: the actor, as events name it.
  ///   - name: the address of the administrator, or the name of the client; nil if unknown.
  /// - Returns: the words.
  package static func actor(_ actor: String, named name: String?) -> String {
    if let words = actors[actor] { return words }
    let parts = actor.split(separator: ":", maxSplits: 1).map(String.init)
    guard parts.count == 2 else { return actor }
    if parts[0] == "operator" { return "Command line (\(parts[1]))" }
    let kinds = ["administrator": "Administrator", "client": "Application"]
    guard let kind = kinds[parts[0]] else { return actor }
    return name ?? "\(kind) \(NameWords.short(parts[1])) (deleted)"
  }

  /// Returns the details of an event as labels with their values; nil if they are not flat.
  package static func values(_ detail: JSONObject) -> String? {
    var parts: [String] = []
    for (name, value) in detail {
      guard value.object == nil, value.array?.contains(where: { $0.string == nil }) != true else {
        return nil
      }
      let text =
        value.array.map { $0.compactMap(\.string).joined(separator: ", ") }
        ?? value.string.map { words[$0] ?? (name == "reason" ? actions[$0] : nil) ?? $0 }
        ?? (value == .null ? "none" : value.text)
      parts.append("\(NameWords.label(name)): \(text)")
    }
    return parts.joined(separator: "; ")
  }

  /// Returns the kind of a credential in words.
  package static func method(_ provider: String) -> String {
    let words = [
      "anonymous": "Guest", "email": "Email", "linked-password": "Linked password",
      "api-key": "API key",
    ]
    return words[provider] ?? NameWords.label(provider)
  }

  /// Values that are words of programs.
  private static let words = [
    "custom_data": "custom data", "app_metadata": "app metadata", "user_metadata": "metadata",
    "linked-password": "linked password", "api-key": "API key", "email": "email code or link",
    "api_key_delete": "an API key was deleted",
    "refresh_reuse": "a refresh token was used twice", "code_reuse": "a code was used twice",
    "session_limit": "too many sessions", "client_disabled": "the application was disabled",
    "issuer_logout": "sign-out at the connection", "revoked_by_client": "ended by the application",
  ]
}

extension ConsoleVisit {
  /// Returns actors in words, by the names that events have for them.
  ///
  /// - Throws: `.databaseUnavailable`.
  package func actors(_ actors: [String]) async throws(Failure) -> [String: String] {
    let names = try await AuditNames.read(of: actors, context)
    var words: [String: String] = [:]
    for actor in actors {
      words[actor] = EventWords.actor(actor, named: names.name(ofActor: actor))
    }
    return words
  }
}
