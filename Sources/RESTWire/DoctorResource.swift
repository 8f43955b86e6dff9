import Administration
import Declarations
import EventLoop
import HTTP
import JSON
import Representations
import Runtime
import Tenancy
import WireKit

/// `/v1/doctor`, for the operator: the state of the deployment.
@EventLoop enum DoctorResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get, "/v1/doctor", access: .operator, takes: .query(.maxAge), gives: [.ok(.report)],
      refuses: [.invalid([])], summary: "Check the database, hosts, apps and the mail queue"
    ) { (call) async throws(Failure) in
      let query = try ListQuery.parameters(of: call.request.query)
      var faults = query.names.filter { $0 != "max_age" }.map { name in
        FieldError(ofParameter: name, "query", "The query may have only max_age.")
      }
      let age = query["max_age"].map { Int($0) ?? -1 } ?? 0
      if !(0...300).contains(age) {
        faults.append(
          FieldError(ofParameter: "max_age", "max_age", "max_age must be a number up to 300."))
      }
      guard faults.isEmpty else { throw .invalid(faults) }
      let check = call.context.dependencies[DeploymentCheck.self]
      let report = await check.report(since: age, call.context)
      return Response(.ok, json: report.json.serialized())
    }.needing(.deployment)
  ]
}

extension DeploymentCheck.Report {
  fileprivate var json: JSON {
    [
      "ready": .bool(isReady), "checked_at": .string(time.text), "version": .string(version),
      "findings": .array(findings.map(\.json)),
      "hosts": .array(
        hosts.map { ["name": .string($0.name), "version": .string($0.version)] }),
      "database": database.map {
        [
          "version": .string($0.version), "max_connections": .number(JSONNumber($0.maxConnections)),
          "migration": .number(JSONNumber(ReadinessCheck.schemaVersion)),
        ]
      } ?? .null,
    ]
  }
}

extension QueryParameter {
  fileprivate static let maxAge = QueryParameter(
    name: "max_age",
    says: "the seconds that an earlier result of the same worker may be old; by default 0",
    shape: .count.like(30))
}

extension Shape {
  fileprivate static let report = Shape.object([
    "ready": .flag.saying("whether requests can be served").like(true),
    "checked_at": .time(Example.played).saying("when the checks were made"),
    "version": .text.like("0.5.0"),
    "findings": .list(of: finding).saying("each check, as of dossier doctor"),
    "hosts": .list(of: host).saying("the hosts that have served within the last hour"),
    "database": database.orNull.saying("null if it does not respond"),
  ]).named("DeploymentReport", "The state of the deployment.")

  private static let finding = Shape.object([
    "what": .text.saying("what was checked").like("mail queue"),
    "fault": .text.orNull.saying("what is wrong, with its remedy; null if all is well")
      .like(.null),
  ]).named("Finding", "The result of a check.")

  private static let host = Shape.object([
    "name": .text.like("app-1"), "version": .text.like("0.5.0"),
  ]).named("ServingHost", "A host that serves from the database.")

  private static let database = Shape.object([
    "version": .text.saying("of PostgreSQL").like("15.14"),
    "max_connections": .count.saying("the most connections to it").like(100),
    "migration": .count.saying("the newest migration that this program needs").like(36),
  ]).named("DatabaseFacts", "Facts about the database.")
}
