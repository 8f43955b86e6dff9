package import EventLoop
package import HTTP
package import JSON
package import Runtime

/// The body that a route accepts.
package struct BodyRule: Sendable, Equatable {
  /// The accepted formats; empty for a route without a body.
  package let formats: [BodyFormat]
  /// The largest size, in bytes.
  package let limit: Int
  /// Whether the body may be absent.
  package private(set) var isOptional = false
  /// The format of a body without a media type; nil if the type is required.
  package private(set) var assumed: BodyFormat?
  /// Whether the body contains documents, and so may be deeper than one document.
  package private(set) var holdsDocuments = false
  /// The fields of a form that may be repeated.
  fileprivate private(set) var repetition = FormValues.Repetition.none

  private init(_ formats: [BodyFormat], limit: Int) {
    self.formats = formats
    self.limit = limit
  }

  package static let none = BodyRule([], limit: 0)

  /// Returns a rule for a body in one of these formats, of at most `limit` bytes.
  package static func of(_ formats: BodyFormat..., limit: Int) -> BodyRule {
    BodyRule(formats, limit: limit)
  }

  package static func json(limit: Int) -> BodyRule { .of(.json, limit: limit) }

  /// Returns a rule for a merge patch or a JSON Patch.
  package static func patch(limit: Int) -> BodyRule {
    .of(.mergePatch, .jsonPatch, limit: limit)
  }

  /// Returns a rule for a merge patch.
  package static func mergePatch(limit: Int) -> BodyRule { .of(.mergePatch, limit: limit) }

  /// Returns a rule for uninterpreted bytes of one of these types.
  package static func bytes(limit: Int, types: [MediaType]) -> BodyRule {
    .of(.bytes(types), limit: limit)
  }

  /// Returns the same rule for clients that omit the body or its type.
  package func lenient(assuming format: BodyFormat? = nil) -> BodyRule {
    var rule = self
    rule.isOptional = true
    rule.assumed = format
    return rule
  }

  /// The same rule for a body that contains documents.
  package var holdingDocuments: BodyRule {
    var rule = self
    rule.holdsDocuments = true
    return rule
  }

  /// Returns the same rule for a form in which fields may be repeated.
  package func repeating(_ repetition: FormValues.Repetition) -> BodyRule {
    var rule = self
    rule.repetition = repetition
    return rule
  }

  package var mediaTypes: [MediaType] { formats.flatMap(\.mediaTypes) }

  /// Returns the format for a media type; nil if the route does not accept the type.
  func format(of type: MediaType) -> BodyFormat? {
    formats.first { $0.mediaTypes.contains(type) }
  }
}

/// The format of a body.
package enum BodyFormat: Sendable, Equatable {
  case json
  /// A merge patch. Also accepted as plain JSON, the type that most clients send.
  case mergePatch
  case jsonPatch
  case form
  case multipart(Multipart.Limits)
  case bytes([MediaType])

  package var mediaTypes: [MediaType] {
    switch self {
    case .json: [.json]
    case .mergePatch: [.mergePatch, .json]
    case .jsonPatch: [.jsonPatch]
    case .form: [.form]
    case .multipart: [.multipart]
    case .bytes(let types): types
    }
  }
}

/// A parsed body.
///
/// The `bytes` of JSON are those that the client sent.
package enum Body: Sendable {
  case none
  case json(JSON, bytes: [UInt8])
  case mergePatch(JSON, bytes: [UInt8])
  case jsonPatch(JSONPatch)
  case form(FormValues)
  case multipart(Multipart)
  case bytes([UInt8])

  /// Parses a body.
  ///
  /// - Parameters:
  ///   - bytes: the whole body.
  ///   - format: the format of the body.
  ///   - rule: the rule of the route.
  ///   - boundary: the boundary of a multipart body.
  /// - Returns: the body.
  /// - Throws: the error in the body.
  static func read(
    _ bytes: [UInt8], as format: BodyFormat, by rule: BodyRule, boundary: String?
  ) throws(Failure) -> Body {
    let limits: JSONLimits = rule.holdsDocuments ? .holding : .standard
    switch format {
    case .json: return .json(try json(bytes, limits), bytes: bytes)
    case .mergePatch: return .mergePatch(try json(bytes, limits), bytes: bytes)
    case .jsonPatch: return try patch(try json(bytes, .holding))
    case .form:
      guard let form = FormValues(bytes, repeating: rule.repetition) else { throw .formMalformed }
      return .form(form)
    case .multipart(let limits):
      do throws(MultipartError) {
        guard let boundary else { throw .noBoundary }
        return .multipart(try Multipart(bytes, boundary: boundary, limits: limits))
      } catch {
        throw Failure(error)
      }
    case .bytes: return .bytes(bytes)
    }
  }

  private static func json(_ bytes: [UInt8], _ limits: JSONLimits) throws(Failure) -> JSON {
    do throws(JSONError) {
      return try JSON.parse(bytes, limits: limits)
    } catch {
      throw Failure(error)
    }
  }

  private static func patch(_ json: JSON) throws(Failure) -> Body {
    do throws(JSONPatchError) {
      return .jsonPatch(try JSONPatch(json))
    } catch {
      switch error {
      case .malformed(let pointer, let reason), .notApplicable(let pointer, let reason):
        throw .patchMalformed(at: pointer, reason)
      case .testFailed(let pointer): throw .patchMalformed(at: pointer, "")
      }
    }
  }
}

/// The source of a request body, read on demand.
@EventLoop package protocol BodySource: AnyObject {
  /// Reads the whole body.
  ///
  /// - Throws: `.bodyTooLarge`, `.bodyTruncated`, or `.overloaded`.
  func body(limit: Int) async throws(Failure) -> [UInt8]
  /// Whether the client no longer waits for the response.
  var isGone: Bool { get }
}

/// A body that is in memory.
@EventLoop package final class BodyInMemory: BodySource {
  private let bytes: [UInt8]
  package var isGone: Bool { false }

  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  package func body(limit: Int) throws(Failure) -> [UInt8] {
    guard bytes.count <= limit else { throw .bodyTooLarge(above: limit) }
    return bytes
  }
}
