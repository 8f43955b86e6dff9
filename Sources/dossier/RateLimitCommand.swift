import CommandKit
import ArgumentParser
import Runtime
import HTTP
import JSON

struct RateLimitCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rate-limit", abstract: "Rate limits, which refuse too many attempts (429).",
    subcommands: [List.self, Reset.self]
  )

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the rate limits of an app that refuse attempts now.")
    @OptionGroup var options: AppOptions

    func run() throws {
      options.send(
        .get, "/v1/rate-limits", columns: ["limit", "network", "refused_at", "ends_at"])
    }
  }

  struct Reset: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Resets rate limits, so that refused callers can try again at once.",
      discussion: """
        For a user, it resets the limits of logins, registrations, passwords and mail, for the \
        networks of the app's last 1,000 refusals, at most two days old. For a network, it resets all \
        limits of the network and, in IPv6, of its /48. `dossier audit` shows the addresses of \
        refused callers (rate_limited). nginx has limits of its own, which this command does not \
        reset.
        """)
    @OptionGroup var options: AppOptions

    @Option(
      help: ArgumentHelp(
        "Reset the limits of this network, alone or with those of a user.", valueName: "IP address"
      )
    )
    var network: String?

    @Flag(help: "Reset all limits of the app.")
    var all = false

    @Argument(help: "The id of a user, or an email address with or without a user.")
    var user: String?

    func validate() throws {
      guard all ? user == nil && network == nil : user != nil || network != nil else {
        throw ValidationError("Give a user, a --network or both; or --all.")
      }
    }

    func run() throws {
      var body = JSONObject()
      if let user { body[UserID(user) == nil ? "email" : "user_id"] = .string(user) }
      if let network { body["network"] = .string(network) }
      if all { body["all"] = true }
      options.send(.post, "/v1/rate-limits/reset", .json(.object(body)))
    }
  }
}
