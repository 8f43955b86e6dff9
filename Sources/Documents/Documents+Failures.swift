package import Runtime
package import JSON
package import Operators

extension ErrorType {
  package static let patchTestFailed = ErrorType("patch_test_failed", .conflict)
    .titled("A test operation of the patch failed.")
    .remedied("Read the document again, and make a new patch.")
  package static let documentTooLarge = ErrorType("document_too_large", .tooLarge)
    .titled("The document would become too large.")
    .remedied("Send at most as many bytes as limit allows.")
  package static let schemaMismatch = ErrorType("schema_mismatch", .invalid)
    .titled("The document would not match the app's schema.")
    .remedied("Correct the places that errors lists. dossier schema show prints the app's schema.")
  package static let memberNotWritable = ErrorType("member_not_writable", .forbidden)
    .titled("The app does not let users write a member of the document.")
    .remedied(
      "Leave the member at the pointer as it is. The app's settings metadata_writable and "
        + "custom_data_writable name the members that users may write."
    )
  package static let patchNotApplicable = ErrorType("patch_not_applicable", .invalid)
    .titled("The patch cannot be applied to the document.")
    .remedied("The member errors names the failed operation. Read the document again.")
  package static let updateRefused = ErrorType("update_refused", .invalid)
    .titled("The update cannot be applied to the document.")
    .remedied("Correct the operator that the pointer names. The code is MongoDB's.")

  package static let documentErrors = [
    patchTestFailed, documentTooLarge, schemaMismatch, patchNotApplicable, updateRefused,
    memberNotWritable,
  ]
}

extension Failure {
  package static func memberNotWritable(_ place: JSONPointer) -> Failure {
    Failure(.memberNotWritable, at: place.description, "Users may not write this member.")
  }

  package static func patchTestFailed(pointer: String) -> Failure {
    Failure(.patchTestFailed, at: pointer, "The stored value is different.")
  }

  package static func patchNotApplicable(pointer: String, reason: String) -> Failure {
    Failure(.patchNotApplicable, at: pointer, reason)
  }

  package static func schemaMismatch(_ faults: [FieldError]) -> Failure {
    Failure(.schemaMismatch, faults: faults)
  }

  /// Returns the error for a stored document of more than `limit` bytes.
  package static func documentTooLarge(limit: Int) -> Failure {
    Failure(
      .documentTooLarge,
      limit: limit,
      "The document may have at most \(limit) bytes of UTF-8, with a space after each comma and "
        + "colon."
    )
  }

  /// Returns the error for an update by operators that is malformed or cannot be applied.
  ///
  /// It has MongoDB's code. `place` is the place of the part of the update in the input, and empty
  /// for the stored document.
  package static func updateRefused(_ error: OperatorError, in place: String) -> Failure {
    let filters = "/arrayFilters"
    let pointer =
      error.pointer.hasPrefix(filters)
      ? "/array_filters" + error.pointer.dropFirst(filters.count) : place + error.pointer
    return Failure(
      .updateRefused,
      faults: [FieldError(pointer, error.code.name, error.detail)],
      members: [
        ("operator_code", .number(JSONNumber(error.code.rawValue))),
        ("operator_code_name", .string(error.code.name)), ("path", .string(error.path)),
      ]
    )
  }
}
