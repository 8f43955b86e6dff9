import Encoding
package import JSON
import Records

/// Returns the content of a file that describes what stands.
///
/// It has only what differs from defaults, in a fixed order, and no secrets.
/// - Parameters:
///   - standing: the records.
///   - kinds: the kinds of records.
/// - Returns: the content.
/// - Throws: every name that two records have.
package func deploymentFile(
  of standing: [Standing], _ kinds: [Kind]
) throws(FileFaults) -> JSON {
  var faults = FileFaults()
  var apps: [(String, JSON)] = []
  for app in standing.filter({ $0.kind.isApp }).sorted(by: \.name) {
    var members = JSONObject()
    members["hosts"] = app.values["hosts"]
    var settings = app.values
    settings["hosts"] = nil
    if settings.count > 0 { members["settings"] = .object(settings) }
    for kind in kinds where !kind.isApp {
      let records = records(kind, standing.filter { $0.app == app.name }, &faults)
      if records.count > 0 { members[kind.section] = .object(records) }
    }
    apps.append((app.name, .object(members)))
  }
  var file = JSONObject()
  if !apps.isEmpty { file["apps"] = .object(JSONObject(apps)) }
  if let kind = kinds.first(where: { $0.section == "clients" }) {
    let clients = records(kind, standing.filter { $0.app == nil }, &faults)
    if clients.count > 0 { file["clients"] = .object(clients) }
  }
  guard faults.lines.isEmpty else { throw faults }
  return .object(file)
}

private func records(
  _ kind: Kind, _ standing: [Standing], _ faults: inout FileFaults
) -> JSONObject {
  var records: [(String, JSON)] = []
  var last: Standing?
  for one in standing.filter({ $0.kind.section == kind.section }).sorted(by: \.name) {
    if let last, last.name.hasSameBytes(as: one.name) {
      let place = Place(file: one.app ?? "operator", line: nil, pointer: "")
      faults.add(
        place,
        "Two \(kind.noun)s have the name \(one.name): \(last.id) and \(one.id). Rename one.")
    }
    last = one
    var values = one.values
    for (name, value) in kind.provided[one.name] ?? JSONObject() where value == .null {
      values[name] = nil
    }
    values[kind.key] = nil
    if kind.provided[one.name] != nil, values.count == 0 { continue }
    if one.hasSecret == true, let secret = kind.storedSecret {
      values[secret.name] = ["env": .string(variable(of: one, secret))]
    }
    let value = kind.value.flatMap { name in
      values[name] ?? kind.shape.column(named: name)?.usual
    }
    records.append((one.name, value ?? .object(values)))
  }
  return JSONObject(records)
}

/// Returns a name for the variable of the environment that has the secret of a record.
private func variable(of one: Standing, _ secret: Column) -> String {
  let name = "\(one.app.map { "\($0)_" } ?? "")\(one.name)_\(secret.name)".uppercased()
  let bytes = name.utf8.map { $0.isLetterOrDigit ? $0 : UInt8(ascii: "_") }
  return String(decoding: bytes, as: UTF8.self)
}

extension [Standing] {
  fileprivate func sorted(by name: KeyPath<Standing, String>) -> [Standing] {
    sorted { ByteString($0[keyPath: name]) < ByteString($1[keyPath: name]) }
  }
}
