import CommandKit
import ArgumentParser
import HTTP
import JSON

struct SearchCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "search",
    abstract: "Finds users, sessions, devices, clients and events of an app by one text.",
    discussion: """
      The text is an id, an address or its start, the start of a telephone number, words of a name or \
      their starts, or a domain with an @ before it. It prints at most 20 of each kind. Text inside a \
      word is not searched.

        dossier search ada
        dossier search @example.com
        dossier search 697deec0e5087f36371ad126
      """)
  @OptionGroup var options: AppOptions

  @Argument(help: "An id, an address, a name, a telephone number, or @ and a domain.")
  var text: String

  func run() throws {
    options.common.run { context async throws(CommandFailure) in
      var request = APIRequest(.get, "/v1/search")
      (request.app, request.query) = (options.app, [("q", text)])
      let found = try await context.send(request).json
      let full = (found.object ?? JSONObject()).filter { $0.value.array?.isEmpty == false }
      return CommandOutput(
        found, brief: .object(JSONObject(full.map { ($0.key, Self.brief($0.key, $0.value)) })),
        remark: full.isEmpty ? "nothing found; text inside a word is not searched" : nil)
    }
  }

  /// Returns the columns of users that tell them apart; other kinds are short.
  private static func brief(_ kind: String, _ rows: JSON) -> JSON {
    guard kind == "users" else { return rows }
    let names = ["id", "email", "name", "email_verified", "anonymous", "blocked", "created_at"]
    return .array((rows.array ?? []).map { $0.brief(names) })
  }
}
