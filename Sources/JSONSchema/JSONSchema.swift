package import JSON

/// A schema for documents, compiled.
///
/// Of draft 2020-12 all assertions, applicators and annotations, and references within the schema and
/// its parts, by whichever address. What is not known here is refused and never passed over, for it
/// would seem to hold. Numbers are compared exactly and strings by code points.
/// - Source: draft-bhutton-json-schema-01, draft-bhutton-json-schema-validation-01.
package struct JSONSchema: Sendable {
  let subschemas: [Subschema]
  /// Whether anything in it asks for what the keywords beside it have not looked at.
  let hasLeftovers: Bool

  /// Bytes of a schema.
  package static let sizeLimit = 65_536

  /// Compiles a schema.
  ///
  /// - Parameters:
  ///   - json: the schema.
  ///   - plain: what stands for a value of `const` and `enum`, where the values that are validated
  ///     are mapped in the same way.
  /// - Throws: the first thing that is wrong in it.
  package init(_ json: JSON, plain: (JSON) -> JSON = { $0 }) throws(SchemaError) {
    guard json.serialized().count <= Self.sizeLimit else {
      throw SchemaError("", "size", "A schema has at most \(Self.sizeLimit) bytes.")
    }
    let compiled = try withoutActuallyEscaping(plain) { (plain) throws(SchemaError) in
      var compiler = SchemaCompiler(plain: plain)
      _ = try compiler.add(json, at: "", in: nil)
      try compiler.resolveReferences()
      return (compiler.subschemas, compiler.hasLeftovers)
    }
    (subschemas, hasLeftovers) = compiled
  }

  /// What does not fit the schema; nothing when all does.
  ///
  /// At most `faultLimit` faults are found. Work is bounded whatever schema and value are: what
  /// would take longer is a fault with the code `cost`.
  package func faults(in value: JSON) -> [SchemaFault] {
    var validation = Validation(self)
    return validation.faults(in: value)
  }

  /// More than anybody corrects at once.
  package static let faultLimit = 20
}

/// What is wrong in a schema.
package struct SchemaError: Error, Equatable {
  /// Into the schema, by RFC 6901.
  package let pointer: String
  /// Stable, for programs: `unknown_keyword`, `unsupported_keyword`, `type`, `range`, `pattern`,
  /// `reference`, `cycle`, `anchor`, `id`, `size`, `limit`.
  package let rule: String
  /// The rule, in one sentence.
  package let detail: String

  init(_ pointer: String, _ rule: String, _ detail: String) {
    self.pointer = pointer
    self.rule = rule
    self.detail = detail
  }
}

/// One place of a value that does not fit.
package struct SchemaFault: Sendable, Equatable {
  /// Into the value, by RFC 6901; a member that is missing is named too.
  package let pointer: String
  /// Of the keyword, into the schema, by RFC 6901.
  package let schemaPointer: String
  /// Stable, for programs: the keyword in lower case, as `min_length`; or `cost`.
  package let code: String
  /// The rule, in one sentence.
  package let detail: String
}
