package import Documents
import EventLoop
package import JSON
package import Runtime

extension UserAdministration {
  /// A document that replaces one version of the stored one.
  package struct DocumentReplacement: Sendable {
    package let kind: DocumentKind
    package let body: JSON
    /// The version that is stored; 0 for a document that was never written.
    package let version: Int

    package init(_ kind: DocumentKind, _ body: JSON, version: Int) {
      (self.kind, self.body, self.version) = (kind, body, version)
    }
  }

  /// Replaces documents of a user, all or none.
  ///
  /// The places of errors begin with the name of the document: `/metadata/document/theme`.
  /// - Returns: the new version of each document, in their order.
  /// - Throws: `.preconditionFailed` for each document with another version, `.schemaMismatch`,
  ///   `.invalid`, `.documentTooLarge`, `.insufficientScope`, `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func replace(
    _ documents: [DocumentReplacement], of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> [Int] {
    var writes: [DocumentWrite] = []
    var refused: Failure?
    for document in documents {
      try document.kind.requireWritable(context)
      let rule = try DocumentRule(of: document.kind, in: context.app)
      do throws(Failure) {
        let text = try await context.calculate(on: .max) { () throws(Failure) in
          try rule.text(of: document.body)
        }
        let condition = VersionCondition(oneOf: [document.version])
        writes.append(DocumentWrite(of: document.kind, text, if: condition))
      } catch let failure where !failure.faults.isEmpty {
        let placed = failure.placed { "/\(document.kind.rawValue)/document\($0)" }
        // One response reports the errors of one type.
        if refused?.is(placed) ?? true {
          refused = placed((refused?.faults ?? []) + placed.faults)
        }
      }
    }
    if let refused { throw refused }
    do throws(Failure) {
      return try await change(user, context) { [writes] (transaction, _) async throws(Failure) in
        var versions: [Int] = []
        for (document, write) in zip(documents, writes) {
          do throws(Failure) {
            versions.append(try await write.run(of: user, in: transaction).version)
          } catch let failure where failure.is(.documentTooLarge) {
            throw failure(at: "/\(document.kind.rawValue)/document", failure.detail)
          }
        }
        return versions
      }
    } catch let failure where failure.is(.preconditionFailed) {
      let versions = documents.map { ($0.kind, $0.version) }
      throw try await Documents.stale(versions, of: user, context) ?? failure
    }
  }
}
