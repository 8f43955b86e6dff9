import Runtime
import EventLoop
import HTTP

extension Service {
  /// Reads the body by the rule of its route.
  func body(of call: Call, _ rule: BodyRule) async throws(Failure) -> Body {
    let field = call.request.field(.contentType)
    // Most clients send exactly one of these names. Only other texts are parsed.
    let known = field.flatMap { rule.format(of: MediaType(rawValue: $0)) }
    let type = known == nil ? field.flatMap { FieldParameters($0) } : nil
    let format =
      field == nil ? rule.assumed : known ?? type.flatMap(MediaType.init).flatMap(rule.format)
    guard let format else {
      // An absent body needs no type.
      guard field == nil, rule.isOptional else { throw .mediaType(accepted: rule.mediaTypes) }
      guard try await call.bodySource.body(limit: rule.limit).isEmpty else {
        throw .mediaType(accepted: rule.mediaTypes)
      }
      return .none
    }
    let bytes = try await call.bodySource.body(limit: rule.limit)
    if rule.isOptional, bytes.isEmpty { return .none }
    if case .bytes = format { return .bytes(bytes) }
    let boundary = type.flatMap(Multipart.boundary)
    return try await call.context.calculate(on: bytes.count) { () throws(Failure) in
      try Body.read(bytes, as: format, by: rule, boundary: boundary)
    }
  }
}
