import Dossier
import EventLoop
import HTTP
import JSON
import Wiring

/// `/v1/me/custom-data/update`: MongoDB's update operators.
@EventLoop enum UpdateResource {
  nonisolated static let operations = [BasePath.me, .users].map { base in
    Operation(
      .post,
      "\(base.prefix)/custom-data/update",
      access: base.write,
      body: .json(limit: 1_048_576),
      takes: .documentUpdate,
      versions: .write,
      gives: [.ok(.updateOutcome)],
      refuses: [.updateRefused, .documentTooLarge, .schemaMismatch],
      summary: "Change the custom data by MongoDB's update operators",
      update
    )
  }

  private static func update(_ call: Call) async throws(Failure) -> Response {
    var members = try Members(
      call.json,
      known: ["update", "array_filters", "filter", "upsert"]
    )
    let isUpsert = call.json["upsert"] != nil && members.flag("upsert")
    let filters = call.json["array_filters"] ?? []
    if filters.array == nil { members.refuse("array_filters", "an array") }
    if call.json["update"]?.object == nil { members.refuse("update", "an object") }
    try members.check()
    let json = call.json
    let update = try await call.store.calculate(on: .max) { () throws(Failure) in
      try DocumentUpdate(
        json["update"] ?? [:],
        arrayFilters: filters.array ?? [],
        filter: json["filter"] ?? [:],
        isUpsert: isUpsert
      )
    }
    let outcome = try await update.apply(
      to: .customData,
      if: call.condition,
      of: call.caller,
      call.context
    )
    let body: JSON = [
      "matched_count": .number(JSONNumber(outcome.matched)),
      "modified_count": .number(JSONNumber(outcome.modified)),
      "upserted": .bool(outcome.isUpserted), "version": .number(JSONNumber(outcome.version)),
    ]
    let tag = outcome.version > 0 ? EntityTag(outcome.version) : nil
    return Response(.ok, json: body.serialized(), tag: tag)
  }
}
