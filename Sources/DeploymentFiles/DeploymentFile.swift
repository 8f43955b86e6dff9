package import JSON
import Records

/// Where a value stands in a file.
package struct Place: Sendable {
  package let file: String
  /// From 1; nil where it is not known.
  package let line: Int?
  package let pointer: String

  package var description: String {
    "\(file)\(line.map { ":\($0)" } ?? "")\(pointer.isEmpty ? "" : ": ")\(pointer)"
  }
}

/// Faults of files, each with its place.
package struct FileFaults: Error {
  package private(set) var lines: [String] = []

  /// The most faults of one report.
  private static let most = 20

  init() {}

  init(_ place: Place, _ detail: String) { add(place, detail) }

  mutating func add(_ place: Place, _ detail: String) {
    if lines.count < Self.most { lines.append("\(place.description): \(detail)") }
  }
}

/// A file that describes apps and clients: JSON, or YAML.
package struct DeploymentFile: Sendable {
  let name: String
  package let json: JSON
  private let lines: [String: Int]

  /// In bytes: room for the texts and schemas of many apps.
  package static let longest = 4_194_304

  /// Reads a text; one that begins with a brace is JSON, all else YAML.
  ///
  /// - Throws: the first fault.
  package init(_ text: [UInt8], name: String) throws(FileFaults) {
    self.name = name
    guard text.count <= Self.longest else {
      throw FileFaults(
        Place(file: name, line: nil, pointer: ""),
        "A file may have \(Self.longest) bytes. Divide it; apply takes several.")
    }
    let isJSON = text.first { !" \t\r\n".utf8.contains($0) } == UInt8(ascii: "{")
    if isJSON || name.hasSuffix(".json") {
      do throws(JSONError) {
        json = try JSON.parse(text, limits: .holding)
        lines = [:]
      } catch {
        let line = 1 + text.prefix(error.offset).count { $0 == UInt8(ascii: "\n") }
        throw FileFaults(Place(file: name, line: line, pointer: error.pointer), error.detail)
      }
    } else {
      var reader = YAMLReader()
      do throws(YAMLReader.Refusal) {
        json = try reader.read(text)
        lines = reader.lines
      } catch {
        throw FileFaults(Place(file: name, line: error.line, pointer: error.pointer), error.detail)
      }
    }
  }

  /// Returns the place of a value, with the line of it or of what contains it.
  func place(_ pointer: String) -> Place {
    var outer = pointer[...]
    while lines[String(outer)] == nil, let slash = outer.lastIndex(of: "/") {
      outer = outer[..<slash]
    }
    return Place(file: name, line: lines[String(outer)], pointer: pointer)
  }
}

/// The value of a secret outside of the file.
package struct SecretSource: Sendable, Equatable {
  /// The name of a variable of the environment; nil for a file.
  package let variable: String?
  /// The path of a file, relative to that of the deployment file.
  package let path: String?

  fileprivate init?(_ json: JSON) {
    guard let object = json.object, object.count == 1 else { return nil }
    (variable, path) = (object["env"]?.string, object["file"]?.string)
    guard (variable ?? path)?.isEmpty == false, variable?.contains("=") != true else { return nil }
  }
}

/// A record that a file describes.
package struct Declaration: Sendable {
  package let kind: Kind
  /// The name of its app; nil for an app, and for clients of the operator.
  package let app: String?
  package let name: String
  package fileprivate(set) var values: JSONObject
  package let secrets: [String: SecretSource]
  /// The places of its values, and of itself for the empty name.
  fileprivate var places: [String: Place]
  /// The columns that return to their defaults where it names no value; nil for all.
  package fileprivate(set) var whole: Set<String>?

  package var place: Place { places[""] ?? Place(file: "", line: nil, pointer: "") }

  /// The file that names its secrets.
  package var file: String { place.file }
}

/// The records that files describe together.
package struct Declarations: Sendable {
  package private(set) var records: [Declaration] = []
  /// The sections that the files name, for each app.
  private var sections: Set<RecordName> = []
  private var positions: [RecordName: Int] = [:]
  private let kinds: [Kind]
  private let only: String?

  /// - Parameters:
  ///   - files: the files.
  ///   - kinds: the kinds of records.
  ///   - only: the name of the app to read alone; nil for all, and the clients of the operator.
  /// - Throws: every fault.
  package init(
    _ files: [DeploymentFile], _ kinds: [Kind], only: String? = nil
  ) throws(FileFaults) {
    (self.kinds, self.only) = (kinds, only)
    var faults = FileFaults()
    for file in files { read(file, &faults) }
    guard faults.lines.isEmpty else { throw faults }
  }

  /// The names of the apps.
  package var apps: [String] { records.filter { $0.kind.isApp }.map(\.name) }

  /// Whether a file names clients of the operator.
  package var namesClients: Bool { sections.contains(RecordName(nil, "clients", "")) }

  private mutating func read(_ file: DeploymentFile, _ faults: inout FileFaults) {
    let top = members(of: file.json, at: "", ["apps", "clients"], file, &faults)
    for (name, app) in objects(top["apps"], at: "/apps", file, &faults)
    where only.map(name.hasSameBytes) ?? true {
      read(app: app, name, file, &faults)
    }
    guard only == nil, let clients = top["clients"],
      let kind = kinds.first(where: { $0.section == "clients" })
    else { return }
    read(kind, clients, of: nil, at: "/clients", file, &faults)
  }

  private mutating func read(
    app json: JSON, _ name: String, _ file: DeploymentFile, _ faults: inout FileFaults
  ) {
    let pointer = "/apps/\(JSONPointer.escaped(name))"
    let sections = kinds.map(\.section).filter { !$0.isEmpty }
    let app = members(of: json, at: pointer, ["settings", "hosts"] + sections, file, &faults)
    for kind in kinds {
      guard kind.isApp else {
        guard let records = app[kind.section] else { continue }
        read(kind, records, of: name, at: "\(pointer)/\(kind.section)", file, &faults)
        continue
      }
      var (values, places) = (JSONObject(), ["": file.place(pointer)])
      var whole: Set<String> = []
      if let hosts = app["hosts"], hosts != .null {
        whole.insert("hosts")
        values["hosts"] = hosts
        places["hosts"] = file.place("\(pointer)/hosts")
      }
      if let settings = app["settings"] {
        whole.formUnion(kind.settings?.columns.map(\.name) ?? [])
        let inner = "\(pointer)/settings"
        for (name, value) in objects(settings, at: inner, file, &faults) {
          guard kind.settings?.column(named: name) != nil else {
            faults.add(file.place("\(inner)/\(JSONPointer.escaped(name))"), Self.unknown)
            continue
          }
          values[name] = value
          places[name] = file.place("\(inner)/\(JSONPointer.escaped(name))")
        }
      }
      let record = Declaration(
        kind: kind, app: nil, name: name, values: values, secrets: [:], places: places,
        whole: whole)
      add(record, &faults)
    }
  }

  private static let unknown = "This name is unknown."

  private mutating func read(
    _ kind: Kind, _ json: JSON, of app: String?, at pointer: String, _ file: DeploymentFile,
    _ faults: inout FileFaults
  ) {
    sections.insert(RecordName(app, kind.section, ""))
    for (name, value) in objects(json, at: pointer, file, &faults) {
      let pointer = "\(pointer)/\(JSONPointer.escaped(name))"
      var (values, places) = (JSONObject(), ["": file.place(pointer)])
      var secrets: [String: SecretSource] = [:]
      if let column = kind.value {
        values[column] = value
        places[column] = file.place(pointer)
      } else {
        for (name, value) in objects(value, at: pointer, file, &faults) {
          let place = file.place("\(pointer)/\(JSONPointer.escaped(name))")
          places[name] = place
          guard !name.hasSameBytes(as: kind.key) else {
            faults.add(place, "This name stands before the record. Remove it here.")
            continue
          }
          guard kind.shape.column(named: name)?.has(.secret) == true else {
            values[name] = value
            continue
          }
          secrets[name] = SecretSource(value)
          if secrets[name] == nil, value != .null {
            let rule =
              "A file has no secrets. Write {\"env\": \"NAME\"} for a variable of the environment, "
              + "or {\"file\": \"PATH\"}."
            faults.add(place, rule)
          }
        }
      }
      let record = Declaration(
        kind: kind, app: app, name: name, values: values, secrets: secrets, places: places,
        whole: nil)
      add(record, &faults)
    }
  }

  /// Adds a record that keeps the rules of its kind, or merges it with that of another file.
  private mutating func add(_ record: Declaration, _ faults: inout FileFaults) {
    let kind = record.kind
    var given = record.values
    for (name, value) in kind.provided[record.name] ?? JSONObject() where given[name] == nil {
      given[name] = value == .null ? nil : value
    }
    if kind.shape.column(named: kind.key) != nil { given[kind.key] = .string(record.name) }
    // A file need not name what a creation must, if it has a default.
    for column in kind.shape.columns where column.has(.required) && given[column.name] == nil {
      if column.rule.faults(in: column.usual, at: "").isEmpty { given[column.name] = column.usual }
    }
    let found = kind.shape.change(of: nil, by: given).faults
    for fault in found {
      let tokens = JSONPointer(fault.place)?.tokens ?? []
      let place = record.places[tokens.first ?? ""] ?? record.place
      let inner = tokens.dropFirst().map { "/\(JSONPointer.escaped($0))" }.joined()
      let missing = fault.code == "missing" ? " \(fault.place)" : ""
      faults.add(
        Place(file: place.file, line: place.line, pointer: place.pointer + inner),
        fault.detail + missing)
    }
    var record = record
    record.values = kind.canonical(record.values)
    let key = RecordName(record.app, kind.section, record.name)
    guard let position = positions[key] else {
      positions[key] = records.count
      records.append(record)
      return
    }
    merge(record, into: position, &faults)
  }

  private mutating func merge(
    _ record: Declaration, into position: Int, _ faults: inout FileFaults
  ) {
    var before = records[position]
    if let whole = record.whole {
      // Each setting of an app is a thing of its own.
      for (name, value) in record.values {
        if let old = before.values[name], old != value {
          conflict(record.places[name], before.places[name], &faults)
        }
        before.values[name] = value
        before.places[name] = before.places[name] ?? record.places[name]
      }
      before.whole?.formUnion(whole)
      records[position] = before
    } else if before.values != record.values || before.secrets != record.secrets {
      conflict(record.place, before.place, &faults)
    }
  }

  private func conflict(_ place: Place?, _ other: Place?, _ faults: inout FileFaults) {
    guard let place, let other else { return }
    faults.add(place, "It differs from \(other.description). Keep one of them.")
  }

  /// Returns the members of an object with known names.
  private func members(
    of json: JSON, at pointer: String, _ known: [String], _ file: DeploymentFile,
    _ faults: inout FileFaults
  ) -> JSONObject {
    let object = objects(json, at: pointer, file, &faults)
    for (name, _) in object where !known.contains(where: name.hasSameBytes) {
      faults.add(
        file.place("\(pointer)/\(JSONPointer.escaped(name))"),
        "\(Self.unknown) Known are \(known.joined(separator: ", ")).")
    }
    return object
  }

  /// Returns the members of an object; none for null, which YAML has for an empty value.
  private func objects(
    _ json: JSON?, at pointer: String, _ file: DeploymentFile, _ faults: inout FileFaults
  ) -> JSONObject {
    guard let json, json != .null else { return JSONObject() }
    guard let object = json.object else {
      faults.add(file.place(pointer), "This value must be an object.")
      return JSONObject()
    }
    return object
  }
}

/// The name of a record in files and in the deployment, compared by bytes.
struct RecordName: Hashable {
  private let app: ByteString?
  private let section: String
  private let name: ByteString

  init(_ app: String?, _ section: String, _ name: String) {
    (self.app, self.section, self.name) = (app.map(ByteString.init), section, ByteString(name))
  }
}
