import FoundationEssentials
import JSON

/// The parts of a schema with an address of their own: the whole schema, and each with an `$id`.
///
/// - Source: draft-bhutton-json-schema-01, section 8.2.
struct SchemaResources {
  private var all: [Resource] = []
  private var byAddress: [ByteString: Int] = [:]

  private struct Resource {
    let address: URL
    /// The root schema of the resource.
    let schema: Int
    let pointer: String
    var anchors: [ByteString: Int] = [:]
    var dynamicAnchors: Set<ByteString> = []
  }

  /// The longest address, since each relative address is resolved against one.
  private static let addressLimit = 1_024
  /// The address of a schema without an `$id`.
  private static let unnamed = "schema:///"

  /// Begins a resource at a schema, by its `$id`.
  mutating func open(
    _ id: JSON?, at pointer: String, schema: Int, within outer: Int
  ) throws(SchemaError) -> Int {
    let place = "\(pointer)/\(Keyword.id.rawValue)"
    guard let text = (id ?? "").string else {
      throw SchemaError(place, "type", "This must be a string.")
    }
    let (address, fragment) = Self.split(text)
    guard text.utf8.count <= Self.addressLimit, fragment?.isEmpty ?? true,
      let resolved = resolve(address, against: all.isEmpty ? nil : outer)
    else {
      throw SchemaError(
        place, "id",
        "An $id must be an address without a fragment, of at most \(Self.addressLimit) bytes."
      )
    }
    let index = all.count
    guard byAddress.updateValue(index, forKey: ByteString(resolved.absoluteString)) == nil else {
      throw SchemaError(place, "id", "The $id \(resolved.absoluteString) is defined twice.")
    }
    all.append(Resource(address: resolved, schema: schema, pointer: pointer))
    return index
  }

  func isRoot(_ schema: Int) -> Bool { all.contains { $0.schema == schema } }

  /// Adds an anchor for a schema within its resource.
  mutating func name(_ schema: Int, by member: Member, in resource: Int) throws(SchemaError) {
    let name = try member.text()
    guard Self.isAnchor(name) else {
      throw member.error("anchor", "An anchor must be a name such as address, in ASCII.")
    }
    let key = ByteString(name)
    guard all[resource].anchors.updateValue(schema, forKey: key) == nil else {
      throw member.error("anchor", "The anchor \(name) is defined twice.")
    }
    if member.keyword == .dynamicAnchor { all[resource].dynamicAnchors.insert(key) }
  }

  // MARK: References

  /// The target of a reference: a location by its pointer, or a schema by its anchor.
  enum Target {
    case place(String)
    case schema(Int, dynamicName: ByteString?)
  }

  /// Returns the target of a reference from within a resource; nil if it does not exist.
  func target(of reference: String, in resource: Int) -> Target? {
    let (address, fragment) = Self.split(reference)
    var resource = resource
    if !address.isEmpty {
      guard let resolved = resolve(address, against: resource),
        let found = byAddress[ByteString(resolved.absoluteString)]
      else { return nil }
      resource = found
    }
    let part = all[resource]
    guard let fragment, !fragment.isEmpty else { return .schema(part.schema, dynamicName: nil) }
    guard let text = URL(string: "#\(fragment)")?.fragment(percentEncoded: false) else {
      return nil
    }
    let name = ByteString(text)
    if let schema = part.anchors[name] {
      return .schema(schema, dynamicName: part.dynamicAnchors.contains(name) ? name : nil)
    }
    return JSONPointer(text).map { .place(part.pointer + $0.description) }
  }

  /// Returns the schemas with a dynamic anchor, by their resources.
  func schemas(named name: ByteString) -> [Int: Int] {
    var found: [Int: Int] = [:]
    for (index, resource) in all.enumerated() where resource.dynamicAnchors.contains(name) {
      found[index] = resource.anchors[name]
    }
    return found
  }

  /// Resolves an address against that of a resource.
  ///
  /// - Source: RFC 3986 section 5.
  private func resolve(_ address: Substring, against resource: Int?) -> URL? {
    let base = resource.map { all[$0].address } ?? URL(string: Self.unnamed)
    guard !address.isEmpty else { return base }
    return URL(string: String(address), relativeTo: base)?.absoluteURL
  }

  private static func split(_ text: String) -> (address: Substring, fragment: Substring?) {
    guard let end = text.utf8.firstIndex(of: UInt8(ascii: "#")) else { return (text[...], nil) }
    return (text[..<end], text[text.utf8.index(after: end)...])
  }

  /// Returns whether a name is a valid anchor.
  ///
  /// - Source: the core specification, section 8.2.2.
  private static func isAnchor(_ name: String) -> Bool {
    guard let first = name.utf8.first, !"-.0123456789".utf8.contains(first) else { return false }
    return name.unicodeScalars.allSatisfy { scalar in
      switch scalar {
      case "A"..."Z", "a"..."z", "0"..."9", "_", "-", ".": true
      default: false
      }
    }
  }
}
