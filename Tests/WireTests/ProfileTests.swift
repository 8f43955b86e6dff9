import EventLoop
import HTTP
import JSON
import TestSupport
import Testing

/// Compares the two renderers of the profile: the database for `GET /v1/me`, and Swift for the rest.
@Suite(.fewAtOnce) struct ProfileTests {
  init() { LoopThread.start() }

  @Test @EventLoop func `reads and changes of the profile return the same`() async throws {
    let world = try await TestService.shared.value.get()
    let cast = try await world.cast()
    let member = try await cast.member("profile-\(cast.app)@example.com")
    cast.become(member)
    var upload = cast.asUser(.put, "/v1/me/picture")
    upload.body = Scenario.pixel
    upload.fields[.contentType] = MediaType.png.rawValue
    let pictured = try await cast.expect(200, upload)
    let path = pictured.json["picture"]?.string ?? ""
    #expect(path.hasPrefix("/v1/pictures/\(member.id)-"))
    try await cast.expect(200, cast.question(.get, path))
    #expect(try await cast.expect(200, cast.asUser(.get, "/v1/me")).json == pictured.json)
    var patch = cast.asUser(
      .patch, "/v1/me",
      #"{"name":"Ada \"L\"","given_name":"A","family_name":"L","locale":"de-DE","zone":null}"#
    )
    patch.fields[.contentType] = MediaType.mergePatch.rawValue
    let changed = try await cast.expect(200, patch)
    let read = try await cast.expect(200, cast.asUser(.get, "/v1/me"))
    #expect(read.json == changed.json)
    #expect(read.json.object?.keys == changed.json.object?.keys)
    #expect(read.json["picture"]?.string == path)
    let list = try await cast.expect(200, cast.asProgram(.get, "/v1/users"))
    #expect(list.json.array?.contains(read.json) == true)
    let export = try await cast.expect(200, cast.asUser(.get, "/v1/me/export"))
    #expect(export.json["profile"] == read.json)
    #expect(export.json["pictures"]?.array?.first?["path"]?.string == path)
  }
}
