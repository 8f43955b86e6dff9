package import JSON

/// A compiled schema for documents.
///
/// It supports all assertions, applicators and annotations of draft 2020-12. References within the
/// schema and its parts may use any address. A schema with an unknown keyword is refused, since a
/// schema that ignores it would seem to validate. Numbers compare exactly and strings by code points.
/// - Source: draft-bhutton-json-schema-01, draft-bhutton-json-schema-validation-01.
package struct JSONSchema: Sendable {
  let subschemas: [Subschema]
  /// Whether the schema contains an `unevaluated…` keyword.
  let hasLeftovers: Bool

  /// The largest schema, in bytes.
  package static let sizeLimit = 65_536

  /// Compiles a schema.
  ///
  /// - Parameters:
  ///   - json: the schema.
  ///   - plain: the mapping of `const` and `enum` values, if validated values are mapped in the
  ///     same way.
  /// - Throws: the first error in the schema.
  package init(_ json: JSON, plain: (JSON) -> JSON = { $0 }) throws(SchemaError) {
    guard json.serialized().count <= Self.sizeLimit else {
      throw SchemaError("", "size", "A schema may have at most \(Self.sizeLimit) bytes.")
    }
    let compiled = try withoutActuallyEscaping(plain) { (plain) throws(SchemaError) in
      var compiler = SchemaCompiler(plain: plain)
      _ = try compiler.add(json, at: "", in: nil)
      try compiler.resolveReferences()
      return (compiler.subschemas, compiler.hasLeftovers)
    }
    (subschemas, hasLeftovers) = compiled
  }

  /// Returns the errors of a value; empty if it is valid.
  ///
  /// At most `faultLimit` errors are returned. The work is bounded for any schema and value. A
  /// value over the bound gets an error with the code `cost`.
  package func faults(in value: JSON) -> [SchemaFault] {
    var validation = Validation(self)
    return validation.faults(in: value)
  }

  /// The most errors in one result; a client rarely corrects more at once.
  package static let faultLimit = 20
}

/// The error in a schema.
package struct SchemaError: Error, Equatable {
  /// The location in the schema, by RFC 6901.
  package let pointer: String
  /// A stable rule code for programs.
  ///
  /// One of `unknown_keyword`, `unsupported_keyword`, `type`, `range`, `pattern`, `reference`,
  /// `cycle`, `anchor`, `id`, `size`, `limit`.
  package let rule: String
  /// The violated rule, in one sentence.
  package let detail: String

  init(_ pointer: String, _ rule: String, _ detail: String) {
    self.pointer = pointer
    self.rule = rule
    self.detail = detail
  }
}

/// One error of a value.
package struct SchemaFault: Sendable, Equatable {
  /// The location in the value, by RFC 6901; also names a missing member.
  package let pointer: String
  /// The location of the keyword in the schema, by RFC 6901.
  package let schemaPointer: String
  /// A stable code for programs: the keyword in lower case, such as `min_length`, or `cost`.
  package let code: String
  /// The violated rule, in one sentence.
  package let detail: String
}
