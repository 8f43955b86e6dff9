import EventLoop
package import Postgres
import Records

/// One app with its own users, as the worker last read it.
package final class App: Sendable {
  package let id: AppID
  package let name: String
  package let settings: AppSettings
  package let hosts: [String]
  package let version: Int
  /// The data of features about the app, one value for each.
  private let parts: [any AppPart]
  /// The events that the app publishes.
  package let events: EventDemand

  package init(
    _ id: AppID, _ name: String, _ settings: AppSettings, hosts: [String], version: Int,
    parts: [any AppPart] = []
  ) {
    (self.id, self.name, self.settings) = (id, name, settings)
    (self.hosts, self.version, self.parts) = (hosts, version, parts)
    events = EventDemand(settings[EventSettings.self], parts)
  }

  /// The deployment, in requests outside of apps.
  package static let deployment = App(
    .deployment, "", AppSettings(stored: [], RecordShape([])), hosts: [], version: 0
  )

  /// Returns the data of a feature about the app; nil if it has none.
  @inline(__always)
  package func part<Part: AppPart>(_ type: Part.Type = Part.self) -> Part? {
    for part in parts where Swift.type(of: part) == type { return part as? Part }
    return nil
  }

  /// Returns the name of the connection that an issuer has; nil without one.
  package func connection(ofIssuer issuer: String) -> String? {
    for case let part as any IssuerLabels in parts {
      if let name = part.name(ofIssuer: issuer) { return name }
    }
    return nil
  }

  /// Returns the issuer whose identities have a name in Auth0's API; nil without one.
  package func issuer(named name: String) -> String? {
    for case let part as any IssuerLabels in parts {
      if let issuer = part.issuer(named: name) { return issuer }
    }
    return nil
  }

  /// Returns the name of an issuer as people read it: its label, or else its URL without the scheme.
  package func label(ofIssuer issuer: String) -> String {
    for case let part as any IssuerLabels in parts {
      if let label = part.label(ofIssuer: issuer) { return label }
    }
    let scheme = "https://"
    guard issuer.utf8.starts(with: scheme.utf8) else { return issuer }
    let name = Substring(issuer.utf8.dropFirst(scheme.utf8.count))
    return String(name.utf8.last == UInt8(ascii: "/") ? name.dropLast() : name)
  }
}

/// A part of an app that knows the names of issuers.
package protocol IssuerLabels: AppPart {
  /// Returns the label that the operator has given an issuer; nil for none.
  func label(ofIssuer issuer: String) -> String?
  /// Returns the name by which routes know its connection; nil for none.
  func name(ofIssuer issuer: String) -> String?
  /// Returns the issuer whose identities have a name in Auth0's API; nil for none.
  func issuer(named name: String) -> String?
}

/// The data that a feature keeps about each app, such as compiled schemas.
///
/// `Apps` reads it together with the apps.
package protocol AppPart: Sendable {
  /// Reads the parts of all apps.
  ///
  /// - Parameters:
  ///   - database: the database.
  ///   - known: the parts that were read last, to be reused.
  /// - Returns: the parts, by app.
  /// - Throws: the error of the database.
  @EventLoop static func load(
    _ database: Database, _ known: [AppID: Self]
  ) async throws(DatabaseError) -> [AppID: Self]
}

extension AppID {
  /// The deployment, in events and in requests outside of apps.
  package static let deployment = AppID(trusted: String(repeating: "0", count: 24))

  /// The app of administrators, which a migration makes, and which no request selects.
  package static let operators = AppID(trusted: String(repeating: "0", count: 23) + "1")
}
