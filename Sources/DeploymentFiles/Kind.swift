import Federation
package import JSON
import LogStreams
import Permissions
package import Records
import Tenancy
import Webhooks

/// A kind of record that a file describes, with what its routes of `/v1` need.
///
/// All that depends on the form of a route is in the table `Kind.all`.
package struct Kind: Sendable {
  /// The member of an app in the file; empty for the app itself.
  package let section: String
  /// For people, such as `API`.
  package let noun: String
  package let path: String
  /// The member of its JSON by which the file names it.
  package let key: String
  /// The member of its JSON that ends its path.
  package let id: String
  package let shape: RecordShape
  package var form = Form.record
  package var app = App.field
  /// The columns of which its JSON names the chosen ones.
  package var settings: RecordShape?
  /// The column with scopes of APIs by their identifiers, which has routes of its own.
  package var scopes: String?
  /// The columns that are sent only at its creation, and never compared.
  package var initial: Set<String> = []
  /// Whether null resets columns beside those in `settings`.
  package var takesNull = false
  /// Records that each app has from its creation, with their values; null is left alone.
  package var provided: [String: JSONObject] = [:]

  package enum Form: Sendable {
    case record
    /// One value, which PUT sets.
    case value(String)
    /// One value, which a creation sets and no change.
    case fixed(String)
  }

  /// How a route knows the app.
  package enum App: Sendable { case none, field, member }

  /// The column that stands for the whole record in a file.
  package var value: String? {
    switch form {
    case .record: nil
    case .value(let name), .fixed(let name): name
    }
  }

  /// The kinds of an app's records, in the order in which they are created.
  ///
  /// - Parameter settings: the settings of an app.
  /// - Returns: the kinds.
  package static func all(settings: RecordShape) -> [Kind] {
    let app = RecordShape([AppMembers.self] + settings.parts)
    return [
      Kind(
        section: "", noun: "app", path: "/v1/apps", key: "name", id: "name", shape: app, app: .none,
        settings: settings),
      Kind(
        section: "schemas", noun: "schema", path: "/v1/schemas", key: "kind", id: "kind",
        shape: RecordShape([SchemaMembers.self]), form: .value("schema")),
      Kind(
        section: "indexes", noun: "index", path: "/v1/indexes", key: "path", id: "id",
        shape: RecordShape([IndexMembers.self]), form: .fixed("kind")),
      Kind(
        ResourceServerRecord.self, section: "apis", key: "identifier",
        provided: [
          ProvidedAPI.management.rawValue: JSONObject([
            ("name", "Management API"), ("skips_consent", false), ("allows_offline_access", true),
            ("scopes", .null),
          ]),
          ProvidedAPI.userData.rawValue: JSONObject([
            ("name", "Your data"), ("allows_offline_access", true), ("scopes", .null),
          ]),
        ]),
      Kind(
        RoleRecord.self, section: "roles", key: "name",
        scopes: ("permissions", PermissionsOfRole.self)),
      Kind(
        ClientRecord.self, section: "clients", key: "name",
        scopes: ("grants", GrantsOfClient.self), settings: RecordShape([ClientSettings.self]),
        initial: ["id", "secret", "secret_sha256"]),
      Kind(IssuerRecord.self, section: "issuers", key: "name"),
      Kind(ConnectionRecord.self, section: "connections", key: "name"),
      Kind(WebhookRecord.self, section: "webhooks", key: "url"),
      Kind(LogStreamRecord.self, section: "log_streams", key: "name"),
    ]
  }
}

extension Kind {
  /// Creates the kind of a declared record.
  private init<R: Record>(
    _ record: R.Type, section: String, key: String,
    scopes: (name: String, part: any RecordPart.Type)? = nil,
    settings: RecordShape? = nil, initial: Set<String> = [], provided: [String: JSONObject] = [:]
  ) {
    let isKeyed = R.table.shape.column(named: R.table.keyName) != nil
    self.init(
      section: section, noun: R.words.one, path: R.words.path, key: key,
      id: isKeyed ? R.table.keyName : "id",
      shape: RecordShape(R.table.shape.parts + (scopes.map { [$0.part] } ?? [])),
      app: R.words.app == .selection ? .field : .member, settings: settings, scopes: scopes?.name,
      initial: initial, takesNull: true, provided: provided)
  }
}

extension Kind {
  /// Whether it is that of apps.
  ///
  /// The JSON of an app has the member `settings`, and its creation takes the name alone, so that a
  /// change follows it.
  package var isApp: Bool { section.isEmpty }

  /// The column of a secret that files bring at any time; nil without one.
  var storedSecret: Column? {
    shape.columns.first { $0.has(.secret) && !initial.contains($0.name) }
  }

  /// Returns the value of a column of a record that has chosen none.
  package func usual(_ column: Column, of name: String) -> JSON {
    provided[name]?[column.name] ?? column.usual
  }

  /// Returns whether its JSON has a column in the member `settings`.
  func isNested(_ column: Column) -> Bool {
    isApp && settings?.column(named: column.name) != nil
  }

  /// Returns the values of a record in one form, in the order of the columns and without null.
  ///
  /// Words in a list without an order are sorted, so that they compare.
  func canonical(_ values: JSONObject) -> JSONObject {
    JSONObject(
      shape.columns.compactMap { column in
        guard let value = values[column.name], value != .null else { return nil }
        return (column.name, canonical(column.rule.canonical(value), column))
      })
  }

  private func canonical(_ value: JSON, _ column: Column) -> JSON {
    if case .choices = column.rule.kind { return value.sorted }
    if isApp, column.name == "hosts" { return value.sorted }
    guard column.name == scopes, let servers = value.object else { return value }
    return .object(
      JSONObject(
        servers.filter { $0.value.array?.isEmpty == false }
          .sorted { ByteString($0.key) < ByteString($1.key) }
          .map { ($0.key, $0.value.sorted) }))
  }

  /// Returns the values of a record in a response, without secrets and what the server makes.
  ///
  /// - Parameters:
  ///   - json: the record.
  ///   - list: the response with its scopes at APIs.
  /// - Returns: those that differ from the defaults, in the order of the columns.
  package func values(of json: JSON, _ list: JSON = []) -> JSONObject {
    var values = JSONObject()
    if let value {
      values[value] = json[value]
    } else {
      let chosen = json["chosen"]?.array?.compactMap(\.string)
      for column in shape.columns where !column.has(.secret) {
        let isSetting = settings?.column(named: column.name) != nil
        if isSetting, chosen?.contains(where: column.name.hasSameBytes) == false { continue }
        values[column.name] = (isNested(column) ? json["settings"] : json)?[column.name]
      }
    }
    if let scopes {
      var servers = JSONObject()
      for item in list.array ?? [] {
        guard let server = item["identifier"]?.string else { continue }
        let before = servers[server]?.array.map(Array.init) ?? []
        let more = item["scope"].map { [$0] } ?? item["scopes"]?.array.map(Array.init) ?? []
        servers[server] = .array(before + more)
      }
      values[scopes] = .object(servers)
    }
    let (canonical, name) = (canonical(values), json[key]?.string ?? "")
    return JSONObject(
      canonical.filter { member in
        shape.column(named: member.key).map { usual($0, of: name) } != member.value
      }.map { ($0.key, $0.value) })
  }
}

extension JSON {
  /// The strings of a list in the order of their bytes.
  fileprivate var sorted: JSON {
    guard let array else { return self }
    return .array(
      array.compactMap(\.string).sorted { ByteString($0) < ByteString($1) }.map(JSON.string))
  }
}

/// The scopes of a role at APIs, which are a member of it in files only.
private struct PermissionsOfRole: RecordPart {
  init(_ read: inout RecordReader) {
    _ = read.object("permissions", .scopes, "scopes of APIs, by their identifiers")
  }
}

/// The scopes of a client at APIs, which are a member of it in files only.
private struct GrantsOfClient: RecordPart {
  init(_ read: inout RecordReader) {
    _ = read.object("grants", .scopes, "scopes of APIs that it gets by its secret")
  }
}

// MARK: What is not yet a record

private struct AppMembers: RecordPart {
  init(_ read: inout RecordReader) {
    _ = read.texts("hosts", .texts, "the host names by which requests select the app")
  }
}

private struct SchemaMembers: RecordPart {
  init(_ read: inout RecordReader) {
    let any = ColumnRule(.object) { _ in nil }
    _ = read.optional("schema", any, "the JSON Schema that documents must match") { $0 }
  }
}

private struct IndexMembers: RecordPart {
  private enum Kind: String, CaseIterable { case text, number, boolean }

  init(_ read: inout RecordReader) {
    _ = read.choice(
      "kind", Kind.text, safe: .text, "the kind of its values", .required, .immutable)
  }
}

extension ColumnRule {
  fileprivate static let texts = ColumnRule(.texts(atMost: 100)) { value in
    value.array?.allSatisfy { $0.string != nil } == true
      ? nil : ("type", "This value must be a list of strings.")
  }

  /// Lists of scopes by the identifiers of APIs.
  fileprivate static let scopes = ColumnRule(.object) { value in
    value.object?.allSatisfy { $0.value.array?.allSatisfy { $0.string != nil } == true } == true
      ? nil : ("type", "This value must be an object of lists: each API with its scopes.")
  }
}
