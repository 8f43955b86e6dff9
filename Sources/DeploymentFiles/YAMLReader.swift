import CYAML
import JSON

/// Reads a YAML document as JSON, and remembers the line of each value.
///
/// Plain words mean what they mean in JSON: `true`, `null` and numbers. All others are strings, as
/// in the core schema of YAML 1.2; so `no` is a string, and `012` too. Aliases are copies of a
/// value. Tags, merge keys and a second document are refused.
/// - Source: YAML 1.2.2 section 10.3.
struct YAMLReader {
  /// The lines of values by their JSON Pointers, from 1.
  private(set) var lines: [String: Int] = [:]
  private var stack: [Collection] = []
  private var anchors: [ByteString: (value: JSON, size: Int)] = [:]
  private var aliases = 0
  /// The count of values, with those that aliases repeat.
  private var size = 0
  private var root: JSON?

  private static let deepest = 64
  private static let mostAliases = 100
  private static let mostValues = 200_000
  /// In bytes.
  private static let longestPointer = 256

  /// A list or an object that is being read.
  private struct Collection {
    let isObject: Bool
    let anchor: String?
    let pointer: String
    /// The count of values before it.
    let start: Int
    var elements: [JSON] = []
    var members: [(String, JSON)] = []
    var names: Set<ByteString> = []
    var name: String?
  }

  struct Refusal: Error {
    let line: Int
    let pointer: String
    let detail: String
  }

  /// Reads a text in UTF-8.
  ///
  /// - Throws: `Refusal` with the first place that breaks a rule.
  mutating func read(_ text: [UInt8]) throws(Refusal) -> JSON {
    var parser = unsafe yaml_parser_t()
    guard unsafe yaml_parser_initialize(&parser) == 1 else {
      throw Refusal(line: 1, pointer: "", detail: "There is not enough memory to read it.")
    }
    defer { unsafe yaml_parser_delete(&parser) }
    unsafe yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING)
    // The parser keeps a pointer to the text.
    let result = unsafe text.withUnsafeBufferPointer { bytes -> Result<Void, Refusal> in
      unsafe yaml_parser_set_input_string(&parser, bytes.baseAddress, bytes.count)
      do throws(Refusal) {
        while unsafe try step(&parser) {}
        return .success(())
      } catch {
        return .failure(error)
      }
    }
    try result.get()
    guard let root else { throw Refusal(line: 1, pointer: "", detail: "The file is empty.") }
    return root
  }

  /// Reads one event; returns false at the end.
  private mutating func step(_ parser: inout yaml_parser_t) throws(Refusal) -> Bool {
    var event = unsafe yaml_event_t()
    guard unsafe yaml_parser_parse(&parser, &event) == 1 else {
      let problem = unsafe parser.problem.map { unsafe String(cString: $0) } ?? "wrong syntax"
      let line = unsafe Int(parser.problem_mark.line) + 1
      throw refusal("This is not YAML: \(problem).", line)
    }
    defer { unsafe yaml_event_delete(&event) }
    let line = unsafe Int(event.start_mark.line) + 1
    switch unsafe event.type {
    case YAML_STREAM_END_EVENT: return false
    case YAML_DOCUMENT_START_EVENT:
      if root != nil { throw refusal("A file has one document. Remove this one.", line) }
    case YAML_ALIAS_EVENT: try unsafe alias(Self.string(event.data.alias.anchor) ?? "", line)
    case YAML_SCALAR_EVENT: try unsafe scalar(event.data.scalar, line)
    case YAML_SEQUENCE_START_EVENT:
      let start = unsafe event.data.sequence_start
      try unsafe begin(
        isObject: false, Self.string(start.anchor), tag: Self.string(start.tag), line)
    case YAML_MAPPING_START_EVENT:
      let start = unsafe event.data.mapping_start
      try unsafe begin(
        isObject: true, Self.string(start.anchor), tag: Self.string(start.tag), line)
    case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT:
      guard let done = stack.popLast() else { break }
      let value: JSON =
        done.isObject ? .object(JSONObject(done.members)) : .array(done.elements)
      try add(value, done.anchor, size: size - done.start)
    default: break
    }
    return true
  }

  private static func string(_ text: UnsafePointer<UInt8>?) -> String? {
    unsafe text.map { unsafe String(cString: $0) }
  }

  private mutating func begin(
    isObject: Bool, _ anchor: String?, tag: String?, _ line: Int
  ) throws(Refusal) {
    guard stack.count < Self.deepest else {
      throw refusal("Values may be nested \(Self.deepest) deep.", line)
    }
    if isObject, tag ?? Self.map != Self.map || !isObject, tag ?? Self.list != Self.list {
      throw refusal("Tags are not read. Remove \(tag ?? "").", line)
    }
    let pointer = try place(line)
    stack.append(Collection(isObject: isObject, anchor: anchor, pointer: pointer, start: size))
    try count(1, line)
  }

  private static let map = "tag:yaml.org,2002:map"
  private static let list = "tag:yaml.org,2002:seq"
  private static let text = "tag:yaml.org,2002:str"

  private mutating func scalar(
    _ scalar: yaml_event_s.__Unnamed_union_data.__Unnamed_struct_scalar, _ line: Int
  ) throws(Refusal) {
    let bytes = unsafe Array(UnsafeBufferPointer(start: scalar.value, count: scalar.length))
    guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
      throw refusal("A text may not contain NUL, which the database cannot store.", line)
    }
    let tag = unsafe Self.string(scalar.tag)
    if let tag, tag != Self.text { throw refusal("Tags are not read. Remove \(tag).", line) }
    let isPlain = unsafe scalar.style == YAML_PLAIN_SCALAR_STYLE && tag == nil
    if let top = stack.last, top.isObject, top.name == nil {
      if isPlain, text == "<<" {
        throw refusal("Merge keys are not read. Use an alias of a whole value.", line)
      }
      guard stack[stack.count - 1].names.insert(ByteString(text)).inserted else {
        throw refusal("The name \(text) stands twice in this object.", line)
      }
      stack[stack.count - 1].name = text
      return
    }
    _ = try place(line)
    try count(1, line)
    try add(
      isPlain ? Self.value(of: text) : .string(text), unsafe Self.string(scalar.anchor), size: 1)
  }

  /// Returns the value of a plain word.
  static func value(of word: String) -> JSON {
    switch word {
    case "", "~", "null": .null
    case "true": true
    case "false": false
    default:
      if let json = try? JSON.parse(Array(word.utf8)), json.number != nil {
        json
      } else {
        .string(word)
      }
    }
  }

  private mutating func alias(_ name: String, _ line: Int) throws(Refusal) {
    aliases += 1
    guard aliases <= Self.mostAliases else {
      throw refusal("A file may have \(Self.mostAliases) aliases.", line)
    }
    guard let (value, size) = anchors[ByteString(name)] else {
      throw refusal("No value before this one has the anchor &\(name).", line)
    }
    _ = try place(line)
    try count(size, line)
    try add(value, nil, size: size)
  }

  private mutating func count(_ values: Int, _ line: Int) throws(Refusal) {
    size += values
    guard size <= Self.mostValues else {
      throw refusal("A file may have \(Self.mostValues) values, with those of aliases.", line)
    }
  }

  /// Stores the line of the next value, and returns its pointer.
  private mutating func place(_ line: Int) throws(Refusal) -> String {
    guard let top = stack.last else {
      lines[""] = line
      return ""
    }
    if top.isObject, top.name == nil { throw refusal("The name of a member must be a text.", line) }
    let token = top.name.map(JSONPointer.escaped) ?? "\(top.elements.count)"
    // An enclosing value stands for one with long names, of which all values inside would repeat
    // them.
    let pointer = JSONPointer.shortened("\(top.pointer)/\(token)", Self.longestPointer)
    if lines[pointer] == nil { lines[pointer] = line }
    return pointer
  }

  private mutating func add(_ value: JSON, _ anchor: String?, size: Int) throws(Refusal) {
    if let anchor { anchors[ByteString(anchor)] = (value, size) }
    guard let last = stack.indices.last else {
      root = value
      return
    }
    if let name = stack[last].name {
      stack[last].members.append((name, value))
      stack[last].name = nil
    } else {
      stack[last].elements.append(value)
    }
  }

  private func refusal(_ detail: String, _ line: Int) -> Refusal {
    let top = stack.last
    let name = top?.name.map { "/\(JSONPointer.escaped($0))" } ?? ""
    return Refusal(line: line, pointer: (top?.pointer ?? "") + name, detail: detail)
  }
}
