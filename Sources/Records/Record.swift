package import JSON
package import Postgres

/// A thing that an operator owns, such as an API.
///
/// It declares its columns once, and all else follows.
///
/// The initializer reads each column, and so declares its name, rule, default, safe value and
/// meaning:
///
///     package struct ResourceServer: Record {
///       package let skipsConsent: Bool
///
///       package init(_ read: inout RecordReader) {
///         skipsConsent = read.flag(
///           "skips_consent", true, safe: false,
///           "whether first-party clients get its scopes without the consent of the user",
///           .auth0("skip_consent_for_verifiable_first_party_clients"))
///       }
///     }
///
/// From that follow the statements (`RecordTable`), the JSON of `/v1`, its reference and its
/// errors, the audit event, the arguments of `dossier`, and the member in Auth0's API.
///
/// *To add an attribute*, declare a property and read it, as above. One column of the table stores
/// all attributes without a column of their own, so no migration is needed. A setting of a client
/// goes into `ClientSettings`, which `ClientRecord` reads.
///
/// A rule of one column stands at its declaration, and counts characters. A rule of several is in
/// `faults`, which runs on each change: it looks at `change.patch` for new values, and at the record
/// only if every change must be refused.
///
/// *To add a record*, write these. `Lantern` in `Tests/WireTests/RecordTests.swift` is the smallest:
///
/// 1. a migration for its table, with the columns that `RecordTable` names. As
///    `migrations/README.md` says, the table has a line in `Placement`, `schemaVersion` grows, and
///    `dossier-migrate dump` writes `schema.sql`;
/// 2. its type, `…Record`, with `words` and `table`, and its rules (`OwnedRecord` in `Tenancy`). Its
///    errors, such as `taken`, are `package static let`, by which `ErrorTypeTests` finds them;
/// 3. a line in `RecordResources` of `RESTWire`, its routes in a chapter of the reference, and its key
///    in `Shape.parameter`;
/// 4. a line in `DossierCommand.subcommands`, and its conformance to `CommandRecord`;
/// 5. a line in `Kind.all` of `DeploymentFiles`, for `dossier apply`;
/// 6. its routes in `Tests/WireTests/Scenarios.swift`; then run `Tests/statements`.
///
/// A record that does more replaces verbs and hooks of `OwnedRecord`, and adds routes and commands:
/// see clients (`ClientRecord`, `ClientResource`, `ClientCommand`).
///
/// Rules that are no attribute, such as "one issuer of an app may omit iss", are functions of the
/// record's own file. Sessions and other rows that requests write are no records.
package protocol Record: RecordPart {
  static var words: RecordWords { get }
  static var table: RecordTable<Self> { get }
  static var derived: [DerivedMember<Self>] { get }
  /// The meaning of the secret that a creation returns, and no read; nil for none.
  static var shownOnce: String? { get }
  /// The members that only some responses have.
  static var extras: [ExtraMember] { get }
}

extension Record {
  package static var derived: [DerivedMember<Self>] { [] }
  package static var shownOnce: String? { nil }
  package static var extras: [ExtraMember] { [] }
}

/// Columns that belong together: those of a record, or one section of an app's settings.
///
/// The initializer declares each column once, and reads it.
package protocol RecordPart: Sendable {
  init(_ read: inout RecordReader)
}

/// A stored record with what all records have; its attributes are read as if they were its own.
@dynamicMemberLookup package struct Stored<R: Record>: RowDecodable, Sendable {
  /// The key by which routes and commands name it.
  package let key: String
  /// The id of its app; empty without one.
  package let app: String
  /// The name of its app; empty without one, and where the statement does not read it.
  package let appName: String
  package let version: Int
  package let record: R
  /// The stored values: those that differ from the defaults.
  package let chosen: JSONObject
  /// The time of its creation, as PostgreSQL writes it.
  package let created: [UInt8]
  /// Its sealed secret; nil without one.
  package let sealed: [UInt8]?
  /// The secret that it has just got; it is not stored.
  package var newSecret: String?
  /// The values of its `ExtraMember`s; they are not stored.
  package var extras = JSONObject()

  package init(from row: Row) throws(DatabaseError) {
    key = try row.text(0)
    app = row.text(ifAny: 1) ?? ""
    version = try row.int(2)
    created = try row.bytes(3)
    sealed = try row.binary(ifAny: 6)
    appName = try row.text(7)
    // Each column counts as invalid if the text does not parse.
    var members = (try? JSON.parse(try row.bytes(4)))?.object
    if let attributes = (try? JSON.parse(try row.bytes(5)))?.object {
      for (name, value) in attributes { members?[name] = value }
    } else {
      members = nil
    }
    var reader = RecordReader(members)
    record = R(&reader)
    chosen = members ?? JSONObject()
  }

  /// Creates a record of an app that the program declares, and no table has.
  package init(declared members: JSONObject, key: String, of app: String) {
    (self.key, self.app, appName, version) = (key, app, "", 1)
    var reader = RecordReader(members)
    (record, chosen, created, sealed) = (R(&reader), members, [], nil)
  }

  package subscript<Value>(dynamicMember attribute: KeyPath<R, Value>) -> Value {
    record[keyPath: attribute]
  }

  /// Every column with its effective value, in the order of the declaration; no secrets.
  package var values: JSONObject { R.table.shape.listed(chosen).values }
}

/// The names of a record in routes, commands, the reference and audit events.
package struct RecordWords: Sendable {
  /// In commands; with an s, in paths, such as `resource-server`.
  package let command: String
  /// In the reference, such as `ResourceServer`.
  package let type: String
  /// For people, such as `API` and `APIs`.
  package let one: String
  package let many: String
  /// The kind of thing, in one sentence.
  package let meaning: String
  /// The effect of its deletion, in a sentence or two.
  package let consequence: String
  package let app: AppPlace

  /// The place in which a request names the app of a record.
  package enum AppPlace: Sendable {
    /// Apart, as routes and commands select an app, since the key is unique in the app only.
    case selection
    /// The member `app` of a new record.
    case member
    /// The member `app` too; a null makes a record of the operator, for all apps.
    case memberOrNull
    /// No place: it belongs to no app.
    case nothing
  }

  package init(
    command: String, type: String, one: String, many: String, app: AppPlace, _ meaning: String,
    consequence: String
  ) {
    (self.command, self.type, self.one, self.many) = (command, type, one, many)
    (self.app, self.meaning, self.consequence) = (app, meaning, consequence)
  }

  package var path: String { "/v1/\(command)s" }

  /// The name of its key in paths and audit events.
  package var parameter: String {
    String(command.map { $0 == "-" ? "_" : $0 })
  }
}

/// A member that only some responses with a record have.
package struct ExtraMember: Sendable {
  package enum Kind: Sendable {
    case time
    case seconds
  }

  package let name: String
  package let kind: Kind
  package let meaning: String

  package init(_ name: String, _ kind: Kind, _ meaning: String) {
    (self.name, self.kind, self.meaning) = (name, kind, meaning)
  }
}

/// A member of a record's JSON that follows from others.
package struct DerivedMember<R: Record>: Sendable {
  package let name: String
  package let rule: ColumnRule
  package let meaning: String
  /// Whether lists of commands have it.
  package let isListed: Bool
  package let value: @Sendable (Stored<R>) -> JSON

  package init(
    _ name: String, _ rule: ColumnRule, isListed: Bool = true, _ meaning: String,
    _ value: @escaping @Sendable (Stored<R>) -> JSON
  ) {
    (self.name, self.rule, self.isListed) = (name, rule, isListed)
    (self.meaning, self.value) = (meaning, value)
  }
}
