internal import Encoding
package import Pages

/// A page of the console, without the frame around it.
package struct ConsolePage: Sendable {
  /// The title of the window, without the name of the app.
  package let title: String
  package var heading: Markup
  /// The entry of the navigation to which the page belongs.
  package var section: ConsoleSection?
  /// The link above the heading, to the list from which the page comes.
  package var back: ConsoleLink?
  /// The tags beside the heading, such as the state of a user.
  package var tags: [Markup] = []
  package var tabs: [ConsoleTab] = []
  /// The links and buttons beside the heading, or below it on a phone.
  package var actions: [Markup] = []
  /// The result of the last form.
  package var notice: Markup?
  /// The errors of the last form.
  package var mistakes: [Mistake] = []
  package var body: [Markup] = []
  /// The commands that do the same.
  package var commands: [String] = []
  /// Whether the page shows times, and so names their zone.
  package var hasTimes = false
  /// Whether the page shows frames of this server.
  package var hasFrames = false

  package init(_ title: String, heading: Markup? = nil, section: ConsoleSection? = nil) {
    self.title = title
    self.heading = heading ?? "\(title)"
    self.section = section
  }
}

/// A link with a label.
package struct ConsoleLink: Sendable {
  package let label: String
  package let path: LocalPath

  package init(_ label: String, to path: LocalPath) { (self.label, self.path) = (label, path) }
}

/// One of several pages about the same thing.
package struct ConsoleTab: Sendable {
  package let label: String
  package let path: LocalPath
  package let isCurrent: Bool

  package init(_ label: String, to path: LocalPath, isCurrent: Bool) {
    (self.label, self.path, self.isCurrent) = (label, path, isCurrent)
  }
}

/// An error of a form.
package struct Mistake: Sendable {
  /// The name of the field that has to change; nil if none can mend the error.
  package let field: String?
  package let text: String
  /// The name before the text in the summary; nil if the text says which value it means.
  let label: String?

  package init(_ text: String, field: String? = nil, label: String? = nil) {
    (self.text, self.field, self.label) = (text, field, label)
  }

  /// Creates the error of a value that breaks a rule.
  ///
  /// - Parameters:
  ///   - code: the code of the rule.
  ///   - detail: the rule in words.
  ///   - field: the name of the field.
  /// - Returns: the error, which the summary shows with the label of the field.
  package static func rule(_ code: String, _ detail: String, field: String) -> Mistake {
    let words = code.utf8.elementsEqual("missing".utf8) ? "Enter a value." : detail
    return Mistake(words, field: field, label: NameWords.label(field))
  }
}

/// The frame around each page of an administrator.
package struct ConsoleFrame: Sendable {
  /// The app of the page; nil for pages of the deployment.
  package let app: String?
  /// The address of the administrator.
  package let administrator: String
  /// The role of the administrator, in one word.
  package let role: String
  /// The sections that the administrator may open.
  package let sections: [ConsoleSection]
  /// The names of the apps to choose from.
  package let apps: [String]
  /// The form that ends the session.
  package let signOut: FormTarget
  /// The text in the search field.
  package var query = ""
  /// Whether single keys are shortcuts.
  package var hasKeys = true

  package init(
    app: String?, administrator: String, role: String, sections: [ConsoleSection],
    apps: [String], signOut: FormTarget
  ) {
    (self.app, self.administrator, self.role) = (app, administrator, role)
    (self.sections, self.apps, self.signOut) = (sections, apps, signOut)
  }
}

/// An entry of the navigation, with its name in the path.
package enum ConsoleSection: String, Sendable, CaseIterable {
  case overview = ""
  case users
  case roles
  case transfer
  case audit
  case support
  case applications
  case apis
  case connections
  case issuers
  case settings
  case branding
  case customData = "custom-data"
  case mail
  case schemas
  case indexes
  case events
  case webhooks
  case logStreams = "log-streams"
  case keys
  case apps
  case administrators
  case outbox
  case health
  case limits

  package var label: String {
    switch self {
    case .overview: "Overview"
    case .users: "Users"
    case .roles: "Roles"
    case .transfer: "Import and export"
    case .applications: "Applications"
    case .apis: "APIs"
    case .connections: "Connections"
    case .issuers: "Token issuers"
    case .settings: "Settings"
    case .branding: "Branding"
    case .customData: "App Services data"
    case .mail: "Email texts"
    case .schemas: "Schemas"
    case .indexes: "Indexes"
    case .events: "Events"
    case .webhooks: "Webhooks"
    case .logStreams: "Log streams"
    case .keys: "Signing keys"
    case .audit: "Audit log"
    case .support: "Support access"
    case .apps: "Apps"
    case .administrators: "Administrators"
    case .outbox: "Outbox"
    case .health: "Health"
    case .limits: "Limits"
    }
  }

  /// Whether the section is about the deployment, and not about one app.
  package var isOfDeployment: Bool { group == Self.deployment }
  private static let deployment = "Deployment"

  /// The heading above the section and its neighbors; nil for the first ones.
  var group: String? {
    switch self {
    case .overview, .users, .roles, .transfer, .audit, .support: nil
    case .applications, .apis, .connections, .issuers: "Sign-in"
    case .settings, .branding, .mail, .customData, .schemas, .indexes, .events, .webhooks,
      .logStreams, .keys:
      "App"
    case .apps, .administrators, .outbox, .health, .limits: Self.deployment
    }
  }
}

extension LocalPath {
  /// Returns a path of the console; each segment is percent-encoded.
  ///
  /// - Parameters:
  ///   - segments: the segments below `/console`.
  ///   - query: the parameters; those with an empty value are left out.
  /// - Returns: the path.
  package static func console(
    _ segments: String..., query: [(name: String, value: String)] = []
  ) -> LocalPath {
    console(segments, query: query)
  }

  package static func console(
    _ segments: [String], query: [(name: String, value: String)] = []
  ) -> LocalPath {
    let path = segments.map { "/\(PercentCoding.encode($0))" }.joined()
    let pairs = query.filter { !$0.value.isEmpty }.map {
      "\(PercentCoding.encode($0.name))=\(PercentCoding.encode($0.value))"
    }
    let text = "/console\(path)\(pairs.isEmpty ? "" : "?")\(pairs.joined(separator: "&"))"
    guard let path = LocalPath(text) else { preconditionFailure("\(text) is no path") }
    return path
  }
}
