/// A value whose equality is MongoDB's: `1`, `1.0` and a decimal `1.00` are one.
struct ByValue: Hashable, Sendable {
  let value: BSON

  init(_ value: BSON) { self.value = value }

  static func == (first: ByValue, second: ByValue) -> Bool {
    BSON.compare(first.value, second.value) == .same
  }

  func hash(into hasher: inout Hasher) { Self.hash(value, into: &hasher) }

  private static func hash(_ value: BSON, into hasher: inout Hasher) {
    hasher.combine(value.kind.rank)
    switch value {
    case .int32, .int64: hash(Double(value.int64 ?? 0), into: &hasher)
    case .double(let number): hash(number.value, into: &hasher)
    case .decimal(let number): hash(number.double, into: &hasher)
    case .string(let text), .symbol(let text), .objectID(let text), .javascript(let text, _):
      hasher.combine(text)
    case .document(let document):
      for field in document.fields {
        hasher.combine(field.name)
        hash(field.value, into: &hasher)
      }
    case .array(let elements): for element in elements { hash(element, into: &hasher) }
    case .binary(let bytes, _): hasher.combine(bytes)
    case .bool(let flag): hasher.combine(flag)
    case .date(let milliseconds): hasher.combine(milliseconds)
    case .timestamp(let seconds, _): hasher.combine(seconds)
    case .regularExpression(let text, _), .dbPointer(_, let text): hasher.combine(text)
    case .undefined, .null, .minKey, .maxKey: break
    }
  }

  /// Equal numbers have one nearest double.
  private static func hash(_ number: Double, into hasher: inout Hasher) {
    hasher.combine(number.isNaN ? 0 : number)
    hasher.combine(number.isNaN)
  }
}
