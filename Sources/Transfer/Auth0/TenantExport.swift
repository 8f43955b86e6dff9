import Encoding
package import JSON
package import Runtime

/// The configuration of a tenant of Auth0: applications, APIs, grants, roles and connections.
///
/// It reads the files of Auth0's Deploy CLI and the lists of the Management API.
package struct TenantExport: Sendable {
  package enum Kind: String, CaseIterable, Sendable {
    case resourceServer = "resource_server"
    case client
    case clientGrant = "client_grant"
    case role
    case connection

    /// The names of its list in a file, by the Management API and by the Deploy CLI.
    fileprivate var lists: [String] {
      switch self {
      case .resourceServer: ["resource_servers", "resourceServers"]
      case .client: ["clients"]
      case .clientGrant: ["client_grants", "clientGrants"]
      case .role: ["roles"]
      case .connection: ["connections", "databases"]
      }
    }

    /// Guesses the kind of an object by its members; nil if it is another kind of object.
    fileprivate init?(of object: JSONObject) {
      func has(_ names: String...) -> Bool { names.contains { object[$0] != nil } }
      if has("audience"), has("client_id") {
        self = .clientGrant
      } else if has("identifier") {
        self = .resourceServer
      } else if has("strategy") {
        self = .connection
      } else if has("client_id", "app_type", "callbacks", "grant_types"), has("name") {
        self = .client
      } else if has("name"), has("permissions") || Self.isRole(object) {
        self = .role
      } else {
        return nil
      }
    }

    private static func isRole(_ object: JSONObject) -> Bool {
      let isNamed = object["id"]?.string?.hasPrefix("rol_") == true
      return isNamed && object["description"] != nil
    }
  }

  /// An object of the export.
  package struct Item: Sendable {
    package let kind: Kind
    package let file: String
    /// Its place in the file, as a JSON Pointer.
    package let place: String
    package let object: JSONObject

    /// The identifier, the name, or the client and audience of the object.
    package var name: String {
      func text(_ member: String) -> String? { object[member]?.string }
      return switch kind {
      case .resourceServer: text("identifier") ?? ""
      case .clientGrant: "\(text("client_id") ?? "") at \(text("audience") ?? "")"
      case .client, .role, .connection: text("name") ?? ""
      }
    }

    /// A placeholder of the Deploy CLI in its values, such as `##NAME##` or `@@NAME@@`.
    ///
    /// Nil without one, and for connections: they are not imported, and the Deploy CLI masks their
    /// secrets.
    package var placeholder: String? {
      kind == .connection ? nil : TenantExport.placeholder(in: .object(object))
    }
  }

  package private(set) var items: [Item] = []
  /// The names of parts that are not imported.
  package private(set) var others: [String] = []

  /// The most objects of one kind: more than a page of an operator shows.
  package static let most = 1_000
  private static let mostOthers = 100

  package init() {}

  /// Adds a file.
  ///
  /// - Parameters:
  ///   - text: its content.
  ///   - file: its name, for messages.
  ///   - kind: the kind of its only object; nil for a file with lists, or with any object.
  /// - Throws: `.invalid` with places in the file.
  package mutating func add(_ text: [UInt8], file: String, kind: Kind? = nil) throws(Failure) {
    let json: JSON
    do throws(JSONError) {
      json = try JSON.parse(text)
    } catch {
      throw .invalid([FieldError(error)])
    }
    if let kind {
      try add(json, kind, file, "")
    } else if let list = json.array {
      try add(list, nil, file, "")
    } else if let object = json.object {
      try add(object, file)
    } else {
      throw .invalid([FieldError("", "type", "An export must be an object or a list of objects.")])
    }
  }

  private mutating func add(_ object: JSONObject, _ file: String) throws(Failure) {
    if let kind = Kind(of: object) { return try add(.object(object), kind, file, "") }
    var hasList = false
    for (name, value) in object {
      let place = "/\(JSONPointer.escaped(name))"
      if let kind = Kind.allCases.first(where: { $0.lists.contains { $0.hasSameBytes(as: name) } })
      {
        hasList = true
        guard value != .null else { continue }
        guard let list = value.array else { throw .invalid([.wrongType(place, "a list")]) }
        try add(list, kind, file, place)
      } else if value.array?.isEmpty == false || value.object?.count ?? 0 > 0 {
        leaveOut("\(name) in \(file)")
      }
    }
    if !hasList { leaveOut(file) }
  }

  private mutating func add(
    _ list: JSONArray, _ kind: Kind?, _ file: String, _ place: String
  ) throws(Failure) {
    for (index, json) in list.enumerated() {
      let place = "\(place)/\(index)"
      guard let kind = kind ?? json.object.flatMap({ Kind(of: $0) }) else {
        let rule = "This is no application, API, grant, role or connection of Auth0."
        throw .invalid([FieldError(place, "type", rule)])
      }
      try add(json, kind, file, place)
    }
  }

  private mutating func add(
    _ json: JSON, _ kind: Kind, _ file: String, _ place: String
  ) throws(Failure) {
    guard let object = json.object else { throw .invalid([.wrongType(place, "an object")]) }
    guard items.count(where: { $0.kind == kind }) < Self.most else {
      let rule = "An export may have at most \(Self.most) objects of one kind."
      throw .invalid([FieldError(place, "length", rule)])
    }
    items.append(Item(kind: kind, file: file, place: place, object: object))
  }

  /// Records a part that is not imported.
  package mutating func leaveOut(_ name: String) {
    if others.count < Self.mostOthers { others.append(name.excerpt(200)) }
  }

  private static func placeholder(in json: JSON) -> String? {
    if let text = json.string { return placeholder(in: Array(text.utf8)) }
    if let list = json.array { return list.lazy.compactMap { placeholder(in: $0) }.first }
    return json.object?.lazy.compactMap { placeholder(in: $0.value) }.first
  }

  private static let longestName = 100

  private static func placeholder(in text: [UInt8]) -> String? {
    var start = 0
    while start + 1 < text.count {
      let mark = text[start]
      guard mark == UInt8(ascii: "#") || mark == UInt8(ascii: "@"), text[start + 1] == mark else {
        start += 1
        continue
      }
      let name = text[(start + 2)...].prefix(longestName).prefix {
        $0.isLetterOrDigit || $0 == UInt8(ascii: "_")
      }
      let end = name.endIndex
      if !name.isEmpty, end + 1 < text.count, text[end] == mark, text[end + 1] == mark {
        return String(decoding: text[start...(end + 1)], as: UTF8.self)
      }
      start = max(end, start + 1)
    }
    return nil
  }
}
