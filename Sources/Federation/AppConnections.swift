import EventLoop
import OpenIDClient
import WebTokens
package import Postgres
package import Runtime
package import Tenancy
import Records
import JSON

/// The enabled connections of an app, in the order of their buttons, as the worker last read them.
///
/// So a sign-in page knows its buttons without a statement.
package struct AppConnections: AppPart {
  package fileprivate(set) var all: [Connection] = []

  package static func load(
    _ database: Database, _ known: [AppID: AppConnections]
  ) async throws(DatabaseError) -> [AppID: AppConnections] {
    var apps: [AppID: AppConnections] = [:]
    for connection in try await database.read(ConnectionRecord.table.statements.list, nil) {
      guard connection.isEnabled, let app = connection.appID else { continue }
      apps[app, default: AppConnections()].all.append(connection)
    }
    for app in apps.keys {
      // Those with one position stay in the order of their creation.
      let all = (apps[app]?.all ?? []).enumerated()
      apps[app]?.all = all.sorted { one, other in
        (one.element.position, one.offset) < (other.element.position, other.offset)
      }.map(\.element)
    }
    return apps
  }

  /// Returns the connection with a name, or with the name of Auth0 for its preset; nil without one.
  package func named(_ name: String) -> Connection? {
    all.first { $0.key.hasSameBytes(as: name) } ?? all.first { $0.isNamed(name) }
  }

  /// Returns the connection whose users have a provider; nil without one.
  package func connection(of provider: IdentityProvider) -> Connection? {
    all.first { $0.isOf(provider) }
  }

  /// Returns the connection that accepts an ID token: by its issuer, and by one of its client ids.
  ///
  /// Nothing is verified yet.
  package func connection(ofToken text: String) -> Connection? {
    guard text.utf8.count <= TokenResponse.tokenLimit, let claims = SignedToken(text)?.claims,
      let issuer = claims["iss"]?.string
    else { return nil }
    return all.first { connection in
      connection.preset.hasIDToken && connection.isOf(issuer: issuer)
        && connection.client(among: claims["aud"]) != nil
    }
  }

  /// Returns the name of a connection in Auth0's API.
  ///
  /// It is that of its preset for one connection: the one with this name, or else the first.
  package func auth0Name(of connection: Connection) -> String {
    guard let name = connection.auth0Name else { return connection.key }
    let same = all.filter { $0.preset == connection.preset }
    let first = same.first { $0.key.hasSameBytes(as: name) } ?? same.first
    return first?.key == connection.key ? name : connection.key
  }

  /// Returns the provider of a connection's users in Auth0's API.
  ///
  /// Programs find a user by it and the id at the service. So it is the kind of the service only if
  /// that names a connection to the same service.
  package func auth0Provider(of connection: Connection) -> String {
    let kind = connection.strategy
    let found = named(auth0: kind)
    let isSame =
      found?.provider == connection.provider
      && found?.providerPrefix == connection.providerPrefix
    return found != nil && isSame ? kind : auth0Name(of: connection)
  }

  /// Returns the connection that a name in Auth0's API means; nil without one.
  package func named(auth0 name: String) -> Connection? {
    all.first { auth0Name(of: $0).hasSameBytes(as: name) } ?? named(name)
  }
}

extension AppConnections: IssuerLabels {
  package func label(ofIssuer issuer: String) -> String? {
    connection(of: IdentityProvider(ofIssuer: issuer))?.label
  }

  package func name(ofIssuer issuer: String) -> String? {
    connection(of: IdentityProvider(ofIssuer: issuer))?.key
  }

  package func issuer(named name: String) -> String? { named(auth0: name)?.provider?.issuer }
}

extension Stored<ConnectionRecord> {
  /// The kind of service in Auth0's API.
  package var strategy: String { auth0Name ?? record.preset.name }
  /// Whether Auth0 counts its service as social: one that people know.
  package var isSocial: Bool { record.preset.issuer != nil }
}

extension App {
  package var connections: AppConnections { part() ?? AppConnections() }
}
