import CommandKit
import ArgumentParser
import HTTP
import JSON

struct StatisticsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "statistics",
    abstract: "Prints the numbers of an app by day: new users, sign-ins, refusals, active users.",
    discussion: """
      A worker counts events every ten minutes, and users after 03:00 UTC. Days are in UTC.

        dossier statistics --from 2026-01-01 --to 2026-01-31
      """)
  @OptionGroup var options: AppOptions

  @Option(help: ArgumentHelp("The first day; by default 29 days before --to.", valueName: "day"))
  var from: String?

  @Option(help: ArgumentHelp("The last day, included; by default today.", valueName: "day"))
  var to: String?

  func run() throws {
    options.common.run { context async throws(CommandFailure) in
      var request = APIRequest(.get, "/v1/statistics")
      request.app = options.app
      request.query = [("from", from), ("to", to)].compactMap { name, value in
        value.map { (name: name, value: $0) }
      }
      let found = try await context.send(request).json
      let users = found["users"]?.number.map { count in
        "\(count.text) users on \(found["users_on"]?.string ?? "")"
      }
      return CommandOutput(found, brief: found["days"] ?? .array([]), remark: users)
    }
  }
}
