import Declarations
import Documents
import Runtime
import EventLoop
import HTTP
import JSON
import Operators
import WireKit

/// `/v1/me/custom-data/update`: MongoDB's update operators.
@EventLoop enum UpdateResource {
  nonisolated static let operations = [BasePath.me, .users].map { base in
    Operation(
      .post,
      "\(base.prefix)/custom-data/update",
      access: base.write,
      takes: .body(.json(limit: 1_048_576).holdingDocuments, parts),
      versions: .write,
      gives: [.ok(.updateOutcome)],
      refuses: [.updateRefused, .documentTooLarge, .schemaMismatch, .memberNotWritable],
      summary: "Change the custom data with MongoDB's update operators",
      update
    )
  }

  private nonisolated static let parts = Fields(
    "DocumentUpdate",
    "An update with MongoDB's operators.",
    .object(
      "update",
      .members.saying(
        "operators (\(names(of: UpdateOperator.self))), or a document that replaces the "
          + "stored one"
      )
    ),
    .optional(.list("array_filters", of: .object)),
    .optional(
      .json("filter", .members.saying("a query, with operators \(names(of: QueryOperator.self))"))
    ),
    .optional(.flag("upsert"))
  ).like([
    "update": ["$inc": ["level": 1], "$push": ["items": "rope"]], "filter": ["level": ["$lt": 10]],
  ])

  private nonisolated static func names<Operator>(of _: Operator.Type) -> String
  where Operator: CaseIterable & RawRepresentable<String> {
    Operator.allCases.map(\.rawValue).joined(separator: " ")
  }

  private static func update(
    _ call: Call, _ update: JSONObject, _ arrayFilters: JSONArray?, _ filter: JSON?,
    _ isUpsert: Bool?
  ) async throws(Failure) -> Response {
    let documentUpdate = try await call.context.calculate(on: .max) { () throws(Failure) in
      try DocumentUpdate(
        .object(update), arrayFilters: arrayFilters ?? [], filter: filter ?? [:],
        isUpsert: isUpsert == true
      )
    }
    let condition = try call.condition
    let result: DocumentUpdate.UpdateResult
    do throws(Failure) {
      result = try await documentUpdate.apply(
        to: .customData, if: condition, of: call.user, call.context)
    } catch .preconditionFailed where call.wantsConflict {
      throw try await call.conflict(over: .customData, .update(documentUpdate), condition)
    }
    let body: JSON = [
      "outcome": .string(result.word.rawValue),
      "matched_count": .number(JSONNumber(result.matched)),
      "modified_count": .number(JSONNumber(result.modified)),
      "upserted": .bool(result.isUpserted), "version": .number(JSONNumber(result.version)),
    ]
    let tag = result.version > 0 ? EntityTag(result.version) : nil
    return Response(.ok, json: body.serialized(), tag: tag)
  }
}

extension DocumentUpdate.UpdateResult {
  fileprivate var word: UpdateWord {
    if isUpserted { return .created }
    if modified > 0 { return .updated }
    if matched > 0 { return .unchanged }
    return version > 0 ? .noMatch : .noDocument
  }
}
