import EventLoop
import HTTP
import Runtime

extension Scenario {
  /// The scenarios of jobs.
  static let jobs = [
    Scenario("GET /v1/jobs", 200),
    Scenario("POST /v1/jobs", 201, #"{"kind":"import","format":"dossier"}"#),
    Scenario("GET /v1/jobs/{job}", 200, importJob),
    Scenario(
      "PUT /v1/jobs/{job}/input/{part}", 200, bytes: Array("{}".utf8), as: .octets, importJob),
    Scenario("POST /v1/jobs/{job}/start", 202, #"{"dry_run":true}"#) {
      let ids = try await importJob($0)
      var upload = $0.asOperator(.put, "/v1/jobs/\(ids["job"] ?? "")/input/1")
      upload.body = Array("{}".utf8)
      upload.fields[.contentType] = MediaType.octets.rawValue
      try await $0.expect(200, upload)
      return ids
    },
    Scenario("DELETE /v1/jobs/{job}", 204, importJob),
    Scenario("GET /v1/jobs/{job}/results", 200, importJob),
  ]

  private static let importJob: Preparation = { cast in
    let body = #"{"kind":"import","format":"dossier"}"#
    let made = try await cast.expect(201, cast.asOperator(.post, "/v1/jobs", body))
    return ["job": try made.string("id"), "part": "1"]
  }
}
