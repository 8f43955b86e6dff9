package import JSON

/// A type of the events that an app publishes.
///
/// A type never changes the meaning of its members. Types keep their places in this list, as the sets
/// of workers are made of these.
package enum EventType: String, CaseIterable, Sendable {
  case userCreated = "user.created"
  case userUpdated = "user.updated"
  case userDeleted = "user.deleted"
  case userBlocked = "user.blocked"
  case userUnblocked = "user.unblocked"
  case userMerged = "user.merged"
  case identityLinked = "identity.linked"
  case identityUnlinked = "identity.unlinked"
  case passwordChanged = "password.changed"
  case factorAdded = "factor.added"
  case factorRemoved = "factor.removed"
  case emailChanged = "email.changed"
  case emailVerified = "email.verified"
  case sessionCreated = "session.created"
  case sessionEnded = "session.ended"
  case deviceUserAdded = "device.user_added"
  case deviceUserSwitched = "device.switched"
  case deviceUserRemoved = "device.removed"
  case loginFailed = "login.failed"
  case rateLimitReached = "rate_limit.reached"
  case clientChanged = "client.changed"
  case appChanged = "app.changed"
  case keyRotated = "key.rotated"
  case keyRemoved = "key.removed"
  case metadataChanged = "metadata.changed"
  case appMetadataChanged = "app_metadata.changed"
  case customDataChanged = "custom_data.changed"
  case propertiesChanged = "properties.changed"

  /// Whether it is a change of data, which `event_feed` alone does not publish.
  package var isDataChange: Bool {
    switch self {
    case .metadataChanged, .appMetadataChanged, .customDataChanged, .propertiesChanged: true
    default: false
    }
  }
}

/// A set of types of events.
package struct EventTypes: OptionSet, Sendable, Hashable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  package init(_ types: some Sequence<EventType>) {
    self = types.reduce(into: []) { $0.formUnion(EventTypes($1)) }
  }

  package init(_ type: EventType) {
    rawValue = 1 << UInt64(EventType.allCases.firstIndex(of: type) ?? 63)
  }

  package func contains(_ type: EventType) -> Bool { contains(EventTypes(type)) }

  /// All types but changes of data.
  package static let usual = EventTypes(EventType.allCases.filter { !$0.isDataChange })
  /// The types that verifiers of tokens need.
  package static let revocations = EventTypes([.sessionEnded, .userDeleted, .keyRemoved])
}

extension EventTypes {
  /// The names of the types.
  package var names: [String] { EventType.allCases.filter(contains).map(\.rawValue) }

  /// The names with commas between them, which `init(matching:)` parses.
  package var text: String { names.joined(separator: ",") }

  /// Parses types with commas between them; `user.*` stands for all with this start.
  package init?(matching text: String) {
    self = []
    guard text.utf8.count <= 1_024 else { return nil }
    for word in text.split(separator: ",", omittingEmptySubsequences: false) {
      let start = word.hasSuffix(".*") ? word.dropLast() : nil
      let types = EventType.allCases.filter { type in
        if let start { type.rawValue.utf8.starts(with: start.utf8) } else { type.rawValue == word }
      }
      guard !types.isEmpty else { return nil }
      formUnion(EventTypes(types))
    }
  }
}

extension EventType {
  /// Where the published event of an audit event comes from.
  package enum Source: Sendable {
    case type(EventType)
    /// The change of a document or of properties has the type of its `what`.
    case change
    /// The state of the sessions is published instead.
    case sessions
    /// It is not published, for a reason.
    case unpublished(String)
  }

  private static let same = "another event of the same transaction or request says it"
  private static let operation = "back ends need no event of the operation of the deployment"
  private static let reading = "it changes nothing"
  private static let permission = "permissions have no type yet; tokens show them"

  /// The source of each audit action.
  package static let sources: [String: Source] = [
    "login": .type(.sessionCreated), "login_failure": .type(.loginFailed),
    "rate_limited": .type(.rateLimitReached), "session_end": .sessions,
    "sessions_end": .sessions, "reauthenticate": .unpublished(reading),
    "client_sign_in": .type(.sessionCreated), "sign_in": .unpublished(same),
    "link": .type(.identityLinked), "unlink": .type(.identityUnlinked),
    "passkey_rename": .unpublished("names are no part of events"),
    "passkey_counter": .unpublished("a sign-in was refused, or an event follows"),
    "api_key_disable": .unpublished("the sessions of the key end"),
    "api_key_enable": .unpublished("it creates no session"),
    "password_change": .type(.passwordChanged), "password_reset": .type(.passwordChanged),
    "password_set": .type(.passwordChanged), "password_reset_mail": .unpublished(reading),
    "ticket_create": .unpublished(reading), "email_verify": .type(.emailVerified),
    "email_verify_mail": .unpublished(reading),
    "email_change": .type(.emailChanged), "email_restore": .type(.emailChanged),
    "account_takeover": .type(.emailVerified), "second_factor_add": .type(.factorAdded),
    "second_factor_remove": .type(.factorRemoved),
    "recovery_codes_make": .unpublished("the number of factors stays"),
    "device_switch": .type(.deviceUserSwitched), "device_logout": .sessions,
    "device_remove": .type(.deviceUserRemoved), "consent": .unpublished(permission),
    "consent_revoke": .unpublished(permission), "user_create": .type(.userCreated),
    "user_import": .type(.userUpdated), "user_block": .type(.userBlocked),
    "user_unblock": .type(.userUnblocked), "user_delete": .type(.userDeleted),
    "user_merge": .type(.userMerged), "merge_undo": .type(.userUpdated),
    "user_export": .unpublished(reading), "user_roles_change": .unpublished(permission),
    "user_permissions_change": .unpublished(permission), "data_change": .change,
    "session_undo": .unpublished("the change of each document is published"),
    "user_view": .unpublished(reading), "user_search": .unpublished(reading),
    "support_code_make": .unpublished(reading),
    "support_session": .unpublished("it is a session of support"),
    "rate_limit_reset": .unpublished(operation), "mail_test": .unpublished(operation),
    "mail_retry": .unpublished(operation), "mail_drop": .unpublished(operation),
    "users_import_begin": .unpublished(operation), "users_import": .unpublished(operation),
    "users_export": .unpublished(operation), "job_start": .unpublished(operation),
    "job_end": .unpublished(operation),
    "job_stop": .unpublished(operation), "job_remove": .unpublished(operation),
    "job_download": .unpublished(operation), "audit_export": .unpublished(operation),
    "index_add": .unpublished(operation), "index_remove": .unpublished(operation),
    "app_create": .unpublished("no feed of the app exists yet"), "app_change": .type(.appChanged),
    "app_delete": .unpublished("the feeds of the app are deleted"),
    "administrator_create": .unpublished(operation),
    "administrator_change": .unpublished(operation),
    "administrator_delete": .unpublished(operation), "administrator_link": .unpublished(operation),
    "client_create": .type(.clientChanged), "client_change": .type(.clientChanged),
    "client_secret_rotate": .type(.clientChanged), "client_delete": .type(.clientChanged),
    "client_grant_set": .type(.clientChanged), "client_grant_remove": .type(.clientChanged),
    "resource_server_create": .unpublished(operation),
    "resource_server_change": .unpublished(operation),
    "resource_server_delete": .unpublished(operation), "role_create": .unpublished(permission),
    "role_change": .unpublished(permission), "role_delete": .unpublished(permission),
    "role_permissions_change": .unpublished(permission), "issuer_create": .unpublished(operation),
    "issuer_change": .unpublished(operation), "issuer_delete": .unpublished(operation),
    "connection_create": .unpublished(operation), "connection_change": .unpublished(operation),
    "connection_delete": .unpublished(operation), "webhook_create": .unpublished(operation),
    "webhook_change": .unpublished(operation), "webhook_delete": .unpublished(operation),
    "webhook_secret_rotate": .unpublished(operation), "webhook_retry": .unpublished(operation),
    "webhook_replay": .unpublished(operation), "log_stream_create": .unpublished(operation),
    "log_stream_change": .unpublished(operation), "log_stream_delete": .unpublished(operation),
    "schema_set": .unpublished(operation),
    "schema_remove": .unpublished(operation), "key_rotate": .type(.keyRotated),
    "key_remove": .type(.keyRemoved), "master_key_reencrypt": .unpublished(operation),
  ]

  /// Returns the type of an audit event; nil if it is not published.
  ///
  /// That of the end of a session wakes the publisher, which reads the sessions.
  package init?(action: String, _ detail: JSON) {
    // An import also creates users.
    if action == "user_import", detail["status"] == "created" {
      self = .userCreated
      return
    }
    switch Self.sources[action] {
    case .type(let type): self = type
    case .sessions: self = .sessionEnded
    case .change:
      guard let type = Self.change(of: detail["what"]?.string ?? "") else { return nil }
      self = type
    case .unpublished, nil: return nil
    }
  }

  /// Returns the type of a change of a user's data; nil for one without a type.
  package static func change(of what: String) -> EventType? {
    switch what {
    case "metadata": .metadataChanged
    case "app-metadata": .appMetadataChanged
    case "custom-data": .customDataChanged
    case "properties": .propertiesChanged
    case "profile", "picture": .userUpdated
    case "sign_up": .userCreated
    default: nil
    }
  }
}

/// A part of an app that needs events, such as its webhooks.
package protocol EventSubscriber: AppPart {
  /// The types that it needs.
  var eventTypes: EventTypes { get }
}

/// The events that an app publishes.
package struct EventDemand: Sendable {
  /// The types of the app's feed: those of its settings and of its subscribers.
  package let feed: EventTypes
  /// Whether what verifiers of tokens must refuse is published.
  package let hasRevocations: Bool
  /// The types of both.
  package let all: EventTypes

  init(_ settings: EventSettings, _ parts: [any AppPart]) {
    var feed = settings.hasFeed ? EventTypes.usual.union(settings.types) : []
    for case let part as any EventSubscriber in parts { feed.formUnion(part.eventTypes) }
    self.feed = feed
    hasRevocations = settings.hasRevocations
    all = hasRevocations ? feed.union(.revocations) : feed
  }
}
