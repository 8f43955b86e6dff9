import Administration
import Declarations
import Representations
import Documents
import Runtime
import EventLoop
import HTTP
import JSON
import WireKit

/// The routes of one class of documents.
struct DocumentResource: Sendable {
  private let document: DocumentKind

  static var operations: [Operation] {
    let metadata = DocumentResource(.metadata)
    let appMetadata = DocumentResource(.appMetadata)
    let customData = DocumentResource(.customData)
    return [BasePath.me, .users].flatMap { metadata.operations($0) + customData.operations($0) }
      + appMetadata.operations(.usersAppMetadata) + appMetadata.reads(.me)
  }

  /// The replacement of several documents of a user at once.
  static let together = [
    Operation(
      .put, "/v1/users/{user}/documents", access: .client(scope: Scopes.updateUsers),
      takes: .body(.json(limit: 1_048_576).holdingDocuments, .documentReplacements),
      gives: [.ok(.documentNumbers)],
      refuses: [.documentTooLarge, .schemaMismatch, .notFound],
      summary: "Replace several documents of a user, each at a given version, all or none",
      replace
    )
  ]

  @EventLoop private static func replace(_ call: Call) async throws(Failure) -> Response {
    let names = DocumentKind.allCases.map(\.rawValue)
    var reader = try MemberReader(call.json, known: names)
    var documents: [UserAdministration.DocumentReplacement] = []
    for kind in DocumentKind.allCases where reader.has(kind.rawValue) {
      let given = reader.object(kind.rawValue)
      var inner: [FieldError] = []
      for (name, _) in given where name != "document" && name != "version" {
        inner.append(MemberReader.unknown(name))
      }
      if given["document"]?.object == nil { inner.append(.wrongType("/document", "an object")) }
      let version = given["version"]?.number?.int.flatMap { $0 >= 0 ? $0 : nil }
      if version == nil { inner.append(.wrongType("/version", "a number from 0")) }
      for fault in inner {
        reader.refuse(FieldError("/\(kind.rawValue)\(fault.place)", fault.code, fault.detail))
      }
      documents.append(.init(kind, given["document"] ?? [:], version: version ?? 0))
    }
    if documents.isEmpty {
      let rule = "Send at least one of \(names.joined(separator: ", "))."
      reader.refuse(FieldError("", "choice", rule))
    }
    try reader.check()
    let user: UserID = try call.captured("user")
    let versions: [Int]
    do throws(Failure) {
      versions = try await UserAdministration.replace(documents, of: user, call.context)
    } catch let failure where failure.is(.preconditionFailed) && call.wantsConflict {
      throw try await Documents.conflict(
        over: documents.map { ($0.kind, $0.body, $0.version) }, failure, of: user, call.context)
    }
    var body = JSONObject()
    for (document, version) in zip(documents, versions) {
      body[document.kind.rawValue] = ["version": .number(JSONNumber(version))]
    }
    return Response(.ok, json: JSON.object(body).serialized())
  }

  private var path: String { document.pathName }
  private var name: String { path.replacing("-", with: " ") }
  /// The shape in requests; `answered` is the shape in responses.
  private var shape: Shape { document == .customData ? .document : .metadata.shown(as: example) }
  private var answered: Shape { .document.shown(as: example) }

  private var example: JSON {
    switch document {
    case .metadata: Example.metadata
    case .appMetadata: Example.appMetadata
    case .customData: Example.customData
    }
  }

  init(_ document: DocumentKind) { self.document = document }

  private func operations(_ base: BasePath) -> [Operation] {
    let pattern = "\(base.prefix)/\(path)"
    let operations =
      [reading(base)] + [
        Operation(
          .put,
          pattern,
          access: base.write,
          takes: .body(.json(limit: document.limit), shape),
          versions: .write,
          gives: [.ok(answered)],
          refuses: [.documentTooLarge, .schemaMismatch, .memberNotWritable],
          summary: "Replace the \(name)",
          write
        ),
        Operation(
          .patch,
          pattern,
          access: base.write,
          takes: .body(
            .patch(limit: document.limit),
            document == .customData ? shape.shown(as: ["level": 7]) : shape
          ),
          versions: .write,
          gives: [.ok(answered)],
          refuses: [
            .documentTooLarge, .schemaMismatch, .patchTestFailed, .patchNotApplicable,
            .memberNotWritable,
          ],
          summary: "Change the \(name)",
          write
        ),
      ] + history(base)
    // Unlike this API, App Services distinguishes a deleted document from an empty one.
    guard document == .customData else { return operations }
    return operations + [
      Operation(
        .delete, pattern, access: base.write, versions: .write, gives: [.noContent],
        refuses: [.memberNotWritable], summary: "Delete the \(name), which then reads as {}", delete
      )
    ]
  }

  private func reads(_ base: BasePath) -> [Operation] { [reading(base)] + history(base) }

  private func reading(_ base: BasePath) -> Operation {
    Operation(
      .get, "\(base.prefix)/\(path)", access: base.read, versions: .read, gives: [.ok(answered)],
      summary: "Read the \(name)", read
    ).needing(.support).viewing(.documents)
  }

  private func history(_ base: BasePath) -> [Operation] {
    let pattern = "\(base.prefix)/\(path)/versions"
    return [
      Operation(
        .get, pattern, access: base.read, takes: .query(.limit, .versionCursor),
        gives: [.ok(.documentVersions)],
        summary: "List the stored versions of the \(name), the newest first", listVersions
      ).needing(.support).viewing(.documents),
      Operation(
        .get, "\(pattern)/{version}", access: base.read, versions: .read, gives: [.ok(answered)],
        summary: "Read an earlier version of the \(name)", readVersion
      ).needing(.support).viewing(.documents),
    ]
  }

  @EventLoop func read(_ call: Call) async throws(Failure) -> Response {
    Response(.ok, try await Documents.read(document, of: call.user, call.context))
  }

  /// Returns a page of versions.
  ///
  /// The query has the `cursor` of a `Link`, and `limit`.
  @EventLoop private func listVersions(_ call: Call) async throws(Failure) -> Response {
    let query = try ListQuery(call.request.query)
    let page = try await DocumentHistory.page(
      of: document, before: query.cursor(), count: query.limit, of: call.user, call.context
    )
    return query.response(page, call, \.json)
  }

  @EventLoop private func readVersion(_ call: Call) async throws(Failure) -> Response {
    guard let version = call.captures["version"].flatMap({ Int($0) }) else { throw .notFound }
    return Response(
      .ok, try await DocumentHistory.read(version, of: document, of: call.user, call.context)
    )
  }

  @EventLoop func write(_ call: Call) async throws(Failure) -> Response {
    let condition = try call.condition
    let change: DocumentChange
    switch call.body {
    case .json(let json, let bytes):
      guard json.object != nil else { throw Self.notAnObject }
      change = .replace(json, size: bytes.count)
    case .mergePatch(let json, let bytes):
      guard json.object != nil else { throw Self.notAnObject }
      change = .merge(json, size: bytes.count)
    case .jsonPatch(let patch): change = .patch(patch)
    case .none, .form, .multipart, .bytes: throw .internalError(reason: "a write without a body")
    }
    do throws(Failure) {
      let written = try await Documents.write(
        document, change, if: condition, of: call.user, call.context
      )
      return Response(.ok, written)
    } catch .preconditionFailed where call.wantsConflict {
      throw try await call.conflict(over: document, .change(change), condition)
    }
  }

  @EventLoop func delete(_ call: Call) async throws(Failure) -> Response {
    try await Documents.delete(document, if: call.condition, of: call.user, call.context)
    return Response(.noContent)
  }

  private static var notAnObject: Failure {
    .invalid([FieldError("", "type", "The document must be an object.")])
  }
}

extension Call {
  /// Whether the client wants both sides of a conflict, and may read; `Documents` checks clients.
  @EventLoop var wantsConflict: Bool {
    let principal = context.principal
    return request.prefersConflict
      && (principal.user == nil || principal.scopes.contains(Scopes.readUser))
  }

  /// Returns the error for a write of a document that has another version.
  @EventLoop func conflict(
    over document: DocumentKind, _ write: RefusedWrite, _ condition: VersionCondition
  ) async throws(Failure) -> Failure {
    let versions = condition.oneOf ?? []
    return try await Documents.conflict(
      over: document, write, expected: versions.count == 1 ? versions[0] : nil, of: user, context)
  }
}

extension Request {
  /// Whether the client wants both sides of a conflict in the error.
  ///
  /// - Source: RFC 7240 section 2.
  fileprivate var prefersConflict: Bool {
    field(.prefer)?.split(separator: ",").contains { preference in
      let words = preference.prefix { $0 != ";" }.filter { !$0.isWhitespace && $0 != "\"" }
      return words.lowercased().utf8.elementsEqual("return=conflict".utf8)
    } == true
  }
}

extension Shape {
  fileprivate static let documentReplacements = Shape.object(
    optional: DocumentKind.allCases.map { ($0.rawValue, documentReplacement) }, isClosed: true
  )
  .named("DocumentReplacements", "Documents of a user to replace, each with its stored version.")
  .like([
    "app_metadata": ["document": Example.appMetadata, "version": 1],
    "custom_data": ["document": Example.customData, "version": 1],
  ])

  private static let documentReplacement = Shape.body([
    "document": .document,
    "version": .count.saying("the stored version; 0 for a document that was never written").like(1),
  ]).named("DocumentReplacement", "A document, and the version that it replaces.")
}
