package import HTTP
package import JSON

/// What a route reads.
package struct BodyRule: Sendable, Equatable {
  /// None for a route that reads nothing.
  package let formats: [BodyFormat]
  /// In bytes.
  package let limit: Int
  /// Whether there may be no body.
  package private(set) var isOptional = false
  /// As what a body is read that comes without a type; nil where it must have one.
  package private(set) var assumed: BodyFormat?
  /// Whether documents are parts of it, so that it may be deeper than one.
  package private(set) var holdsDocuments = false

  private init(_ formats: [BodyFormat], limit: Int) {
    self.formats = formats
    self.limit = limit
  }

  package static let none = BodyRule([], limit: 0)

  /// A body in one of these formats, of at most so many bytes.
  package static func of(_ formats: BodyFormat..., limit: Int) -> BodyRule {
    BodyRule(formats, limit: limit)
  }

  package static func json(limit: Int) -> BodyRule { .of(.json, limit: limit) }

  /// A merge patch or a JSON Patch.
  package static func patch(limit: Int) -> BodyRule {
    .of(.mergePatch, .jsonPatch, limit: limit)
  }

  /// A merge patch.
  package static func mergePatch(limit: Int) -> BodyRule { .of(.mergePatch, limit: limit) }

  /// Anything of these types; nobody looks into it.
  package static func bytes(limit: Int, types: [MediaType]) -> BodyRule {
    .of(.bytes(types), limit: limit)
  }

  /// The same, for clients that leave out the body, or its type.
  package func lenient(withoutBody: Bool = true, assuming format: BodyFormat? = nil) -> BodyRule {
    var rule = self
    rule.isOptional = withoutBody
    rule.assumed = format
    return rule
  }

  /// The same, with documents as parts of it.
  package var holdingDocuments: BodyRule {
    var rule = self
    rule.holdsDocuments = true
    return rule
  }

  package var mediaTypes: [MediaType] { formats.flatMap(\.mediaTypes) }

  /// What a body of that type is read as; nil when the route reads none of it.
  func format(of type: MediaType) -> BodyFormat? {
    formats.first { $0.mediaTypes.contains(type) }
  }
}

/// How a body is written.
package enum BodyFormat: Sendable, Equatable {
  case json
  /// Also by the name of plain JSON, which is what most clients send.
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

/// A body that has passed its gate; bytes of JSON are as the client sent them.
package enum Body: Sendable {
  case none
  case json(JSON, bytes: [UInt8])
  case mergePatch(JSON, bytes: [UInt8])
  case jsonPatch(JSONPatch)
  case form(FormValues)
  case multipart(Multipart)
  case bytes([UInt8])

  /// - Parameters:
  ///   - bytes: all of it.
  ///   - format: of them.
  ///   - rule: of the route.
  ///   - boundary: of a multipart body.
  /// - Returns: the body, or what is wrong with it.
  static func read(
    _ bytes: [UInt8],
    as format: BodyFormat,
    by rule: BodyRule,
    boundary: String?
  ) -> Result<Body, Refusal> {
    Result { () throws(Refusal) in
      let limits: JSONLimits = rule.holdsDocuments ? .holding : .standard
      switch format {
      case .json: return .json(try json(bytes, limits), bytes: bytes)
      case .mergePatch: return .mergePatch(try json(bytes, limits), bytes: bytes)
      case .jsonPatch: return try patch(try json(bytes, .holding))
      case .form:
        guard let form = FormValues(bytes) else { throw .form }
        return .form(form)
      case .multipart(let limits):
        do throws(MultipartError) {
          guard let boundary else { throw .noBoundary }
          return .multipart(try Multipart(bytes, boundary: boundary, limits: limits))
        } catch {
          throw .multipart(error)
        }
      case .bytes: return .bytes(bytes)
      }
    }
  }

  private static func json(_ bytes: [UInt8], _ limits: JSONLimits) throws(Refusal) -> JSON {
    do throws(JSONError) {
      return try JSON.parse(bytes, limits: limits)
    } catch {
      throw .json(error)
    }
  }

  private static func patch(_ json: JSON) throws(Refusal) -> Body {
    do throws(JSONPatchError) {
      return .jsonPatch(try JSONPatch(json))
    } catch {
      switch error {
      case .malformed(let pointer, let reason), .notApplicable(let pointer, let reason):
        throw .patch(pointer: pointer, reason: reason)
      case .testFailed(let pointer): throw .patch(pointer: pointer, reason: "")
      }
    }
  }
}
