package import JSON
package import Records

/// A record that stands in the deployment.
package struct Standing: Sendable {
  package let kind: Kind
  package let app: String?
  /// The name in files.
  package let name: String
  /// The end of its path.
  package let id: String
  package let version: Int?
  /// The values that differ from the defaults.
  package let values: JSONObject
  /// Whether it has a secret, which no response shows; nil if a response does not tell.
  package let hasSecret: Bool?

  /// - Parameters:
  ///   - kind: the kind.
  ///   - app: the name of its app.
  ///   - json: the response with it.
  ///   - scopes: the response with its scopes at APIs.
  package init(_ kind: Kind, of app: String?, _ json: JSON, scopes: JSON = []) {
    (self.kind, self.app) = (kind, app)
    name = json[kind.key]?.string ?? ""
    id = json[kind.id]?.string ?? ""
    version = json["version"]?.number?.int
    values = kind.values(of: json, scopes)
    hasSecret = json["has_secret"]?.bool ?? json["keys"].map { $0 == "secret" }
  }
}

/// One step of a plan: what happens to one record.
package struct Step: Sendable {
  package enum Action: String, Sendable { case create, change, unchanged, delete }

  package struct Change: Sendable {
    package let column: Column
    /// The value that the record has, or its default.
    package let old: JSON
    package let new: JSON
    /// The value that the request sends; null resets the attribute.
    package let sent: JSON
  }

  package let action: Action
  package let kind: Kind
  package let app: String?
  package let name: String
  package let standing: Standing?
  package let declaration: Declaration?
  /// Without secrets.
  package let changes: [Change]
  /// The columns of the secrets that it sends.
  package let secrets: [String]

  /// The name for people, such as `client adventure/Website`.
  package var title: String { "\(kind.noun) \(app.map { "\($0)/" } ?? "")\(name)" }

  package var json: JSON {
    [
      "action": .string(action.rawValue), "kind": .string(kind.noun),
      "app": app.map(JSON.string) ?? .null, "name": .string(name),
      "changes": .array(
        changes.map {
          ["attribute": .string($0.column.name), "old": $0.old, "new": $0.new]
        }),
      "secrets": .array(secrets.map(JSON.string)),
    ]
  }
}

/// The steps that make a deployment equal to its files.
package struct Plan: Sendable {
  /// In the order in which they are applied.
  package private(set) var steps: [Step] = []

  package struct Options: Sendable {
    /// Whether records that no file names are deleted.
    package let prunes: Bool
    /// Whether secrets are sent to records that stand.
    package let sendsSecrets: Bool

    package init(prunes: Bool, sendsSecrets: Bool) {
      (self.prunes, self.sendsSecrets) = (prunes, sendsSecrets)
    }
  }

  /// - Throws: every name that is not clear, and every change that is not possible.
  package init(
    _ declared: Declarations, _ standing: [Standing], _ kinds: [Kind], _ options: Options
  ) throws(FileFaults) {
    var faults = FileFaults()
    var kept: Set<RecordName> = []
    for kind in kinds {
      for record in declared.records where record.kind.section == kind.section {
        let found = Self.matches(of: record, among: standing)
        guard found.count < 2 else {
          let ids = found.map(\.id).joined(separator: " and ")
          faults.add(
            record.place,
            "More than one \(kind.noun) could be this one: \(ids). Rename one, or delete it.")
          continue
        }
        if let one = found.first { kept.insert(RecordName(one.app, kind.section, one.id)) }
        steps.append(Self.step(record, found.first, options, &faults))
      }
    }
    guard faults.lines.isEmpty else { throw faults }
    guard options.prunes else { return }
    let apps = Set(declared.apps.map(ByteString.init))
    for kind in kinds.reversed() where !kind.isApp {
      for one in standing where one.kind.section == kind.section {
        let isGoverned =
          one.app.map { apps.contains(ByteString($0)) } ?? declared.namesClients
        guard isGoverned, kind.provided[one.name] == nil,
          !kept.contains(RecordName(one.app, kind.section, one.id))
        else { continue }
        steps.append(
          Step(
            action: .delete, kind: kind, app: one.app, name: one.name, standing: one,
            declaration: nil, changes: [], secrets: []))
      }
    }
  }

  package var differences: [Step] { steps.filter { $0.action != .unchanged } }

  /// Returns the records that have the name of a declared one, or its id.
  private static func matches(
    of record: Declaration, among standing: [Standing]
  ) -> [Standing] {
    let id = record.values["id"]?.string
    return standing.filter { one in
      one.kind.section == record.kind.section && one.app == record.app
        && (one.name.hasSameBytes(as: record.name) || id.map(one.id.hasSameBytes) == true)
    }
  }

  private static func step(
    _ record: Declaration, _ standing: Standing?, _ options: Options, _ faults: inout FileFaults
  ) -> Step {
    let kind = record.kind
    // An app has what is provided from its creation, which may be a step of this plan.
    let exists = standing != nil || kind.provided[record.name] != nil
    var changes: [Step.Change] = []
    for column in kind.shape.columns where !column.has(.secret) {
      let isNamed = record.values[column.name] != nil
      if exists, kind.initial.contains(column.name) { continue }
      if let whole = record.whole, !options.prunes, !whole.contains(column.name) { continue }
      let usual = kind.usual(column, of: record.name)
      if usual == .null, kind.provided[record.name]?[column.name] != nil, !isNamed { continue }
      let isName = column.name.hasSameBytes(as: kind.key)
      let name = standing?.name ?? (exists ? record.name : nil)
      let before = isName ? name.map(JSON.string) : standing?.values[column.name]
      let old = before ?? usual
      let new = isName ? .string(record.name) : record.values[column.name] ?? usual
      // A creation takes what no change can.
      guard old != new || !exists && column.has(.immutable) else { continue }
      if exists, column.has(.immutable) {
        faults.add(
          record.place,
          "\(column.name) of the \(kind.noun) cannot change from \(old.text) to \(new.text). "
            + "Delete it first.")
      }
      let takesNull = !column.has(.required) && (kind.takesNull || kind.isNested(column))
      let sent = !isNamed && !isName && takesNull && new == column.usual ? .null : new
      changes.append(Step.Change(column: column, old: old, new: new, sent: sent))
    }
    let secrets = record.secrets.keys.sorted().filter {
      !exists
        || !kind.initial.contains($0) && (options.sendsSecrets || standing?.hasSecret == false)
    }
    let action: Step.Action =
      !exists ? .create : changes.isEmpty && secrets.isEmpty ? .unchanged : .change
    return Step(
      action: action, kind: kind, app: record.app, name: record.name, standing: standing,
      declaration: record, changes: changes, secrets: secrets)
  }
}

// MARK: Bodies of requests

extension Step {
  /// Returns the body that creates the record, without its app and secrets.
  package var description: JSONObject {
    body(kind.isApp ? [] : changes.filter { $0.sent != .null }) { $0.sent }
  }

  /// Returns the merge patch that changes the record, without its secrets; nil without a change.
  package var patch: JSONObject? {
    let sent = action == .create && !kind.isApp ? [] : changes
    let body = body(sent, isPatch: true) { $0.old.patch(to: $0.sent) }
    return body.count == 0 ? nil : body
  }

  /// The change of scopes at APIs: nil removes those at one.
  package var scopes: [(server: String, scopes: JSON?)] {
    guard let change = changes.first(where: { $0.column.name == kind.scopes }) else { return [] }
    let (old, new) = (change.old.object ?? JSONObject(), change.new.object ?? JSONObject())
    return new.filter { old[$0.key] != $0.value }.map { ($0.key, $0.value) }
      + old.filter { new[$0.key] == nil }.map { ($0.key, nil) }
  }

  private func body(
    _ changes: [Change], isPatch: Bool = false, _ value: (Change) -> JSON
  ) -> JSONObject {
    var (body, settings) = (JSONObject(), JSONObject())
    if !isPatch { body[kind.key] = .string(name) }
    for change in changes where change.column.name != kind.scopes {
      let name = change.column.name
      if kind.isNested(change.column) {
        settings[name] = value(change)
      } else {
        body[name] = value(change)
      }
    }
    if settings.count > 0 { body["settings"] = .object(settings) }
    return body
  }
}

extension JSON {
  /// Returns the merge patch that makes another value of this one, which has no null.
  ///
  /// - Source: RFC 7396.
  fileprivate func patch(to new: JSON) -> JSON {
    guard let old = object, let object = new.object else { return new }
    var patch = JSONObject()
    for (name, _) in old where object[name] == nil { patch[name] = .null }
    for (name, value) in object where old[name] != value {
      patch[name] = old[name]?.patch(to: value) ?? value
    }
    return .object(patch)
  }
}
