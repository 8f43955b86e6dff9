import ArgumentParser
import Runtime
import HTTP
import JSON

struct RateLimitCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rate-limit",
    abstract: "Limits that slow down callers who try too often (429).",
    subcommands: [Reset.self]
  )

  struct Reset: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lets a caller try again at once who must wait.",
      discussion: """
        For a user: logins, registrations, passwords and mail, from all networks that were refused in \
        the past two days. For a network: all that is counted by it and, in IPv6, by its /48, for \
        every caller there; `dossier audit` shows the addresses of callers that were slowed down \
        (rate_limited). nginx has a limit of its own, which this does not reset.
        """
    )
    @OptionGroup var options: AppOptions

    @Option(help: ArgumentHelp("Also what is counted by its network.", valueName: "IP address"))
    var network: String?

    @Flag(help: "All that is counted in the app.")
    var all = false

    @Argument(help: "A user's id, or an address of mail, also one of no user.")
    var user: String?

    func validate() throws {
      guard all ? user == nil && network == nil : user != nil || network != nil else {
        throw ValidationError("Name a user, a --network or both; or --all.")
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
