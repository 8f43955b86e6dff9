package import EventLoop
package import JSON
package import Runtime

/// The read and write permissions of documents, for every route and export.
extension DocumentKind {
  private var readScope: String {
    self == .appMetadata ? Scopes.readAppMetadata : Scopes.readUsers
  }

  private var updateScope: String {
    self == .appMetadata ? Scopes.updateAppMetadata : Scopes.updateUsers
  }

  /// Refuses users hidden app metadata, and API clients documents that their scopes do not cover.
  ///
  /// The same permission covers the versions of a document.
  @EventLoop package func requireReadable(_ context: RequestContext) throws(Failure) {
    guard isReadable(context) else { throw .insufficientScope(scope: readScope) }
  }

  @EventLoop package func isReadable(_ context: RequestContext) -> Bool {
    context.principal.user != nil
      ? self != .appMetadata || context.app.documentSettings.isAppMetadataReadable
      : context.principal.scopes.contains(readScope)
  }

  /// Refuses users all app metadata, and API clients documents that their scopes do not cover.
  @EventLoop package func requireWritable(_ context: RequestContext) throws(Failure) {
    let isWritable =
      context.principal.user != nil
      ? self != .appMetadata : context.principal.scopes.contains(updateScope)
    guard isWritable else { throw .insufficientScope(scope: updateScope) }
  }
}

extension DocumentKind {
  /// The greatest length of a key, in characters.
  package static let keyLimit = 255
  /// Returns the faults of the keys of a document, or of a merge patch for one.
  ///
  /// Keys of metadata have 1 to `keyLimit` characters without `.` and `$`, at every depth: paths
  /// contain them, here and in the languages of other services' clients. Keys of custom data may be
  /// any.
  /// - Parameters:
  ///   - json: an object.
  ///   - isPatch: whether null removes a member, whose key is then not checked.
  /// - Returns: at most `FieldError.limit` faults.
  package func keyFaults(in json: JSON, isPatch: Bool = false) -> [FieldError] {
    guard self != .customData else { return [] }
    var faults: [FieldError] = []
    var place: [String] = []
    Self.look(at: json, &place, isPatch, &faults)
    return faults
  }

  /// Builds a pointer only for a fault, since each nested value would copy a long name.
  private static func look(
    at json: JSON, _ place: inout [String], _ isPatch: Bool, _ faults: inout [FieldError]
  ) {
    switch json {
    case .array(let elements):
      // A patch replaces whole arrays.
      for (index, element) in elements.enumerated() {
        place.append(String(index))
        look(at: element, &place, false, &faults)
        place.removeLast()
      }
    case .object(let object):
      for (key, value) in object where faults.count < FieldError.limit {
        place.append(key)
        if !isFit(key), !(isPatch && value == .null) {
          let detail =
            "A key of metadata must have 1 to \(keyLimit) characters, and no . or $ among them."
          faults.append(FieldError(JSONPointer(tokens: place).description, "key", detail))
        }
        look(at: value, &place, isPatch, &faults)
        place.removeLast()
      }
    case .null, .bool, .number, .string: break
    }
  }

  private static func isFit(_ key: String) -> Bool {
    !key.isEmpty && key.utf8.allSatisfy { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "$") }
      && (key.utf8.count <= keyLimit || key.unicodeScalars.count <= keyLimit)
  }
}
