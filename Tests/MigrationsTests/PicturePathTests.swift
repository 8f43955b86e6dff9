import FoundationEssentials
import Testing

/// What `0023_read_models.sql` makes of what was there before.
@Suite struct PicturePathTests {
  private static let name = "0023_read_models.sql"
  private static let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")

  @Test func `pictures go from paths to their names, and back`() async throws {
    let place = try await Workspace()
    let files = try FileManager.default.contentsOfDirectory(atPath: "\(Self.root)/migrations")
      .sorted().filter { $0.first?.isNumber == true && $0 <= Self.name }
    for name in files.dropLast() { try copy(name, to: place) }
    try await place.run("up")
    try await place.sql(
      """
      insert into users (user_id, app_id, anonymous, picture)
      select lpad(g::text, 24, '0'), app_id, true, case g when 1 then '/v1/pictures/a.png' end
      from apps, generate_series(1, 2) g
      """
    )
    try copy(Self.name, to: place)
    try await place.run("up")
    let pictures = "select coalesce(picture, '-') from users order by user_id"
    #expect(try await place.sql(pictures) == "a.png\n-")
    let last = try #require(files.dropLast().last?.prefix(4))
    try await place.run("to", "\(try #require(Int(last)))")
    #expect(try await place.sql(pictures) == "/v1/pictures/a.png\n-")
  }

  private func copy(_ name: String, to place: Workspace) throws {
    try FileManager.default.copyItem(
      atPath: "\(Self.root)/migrations/\(name)",
      toPath: "\(place.folder)/\(name)"
    )
  }
}
