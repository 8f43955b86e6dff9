import CommandKit
import ArgumentParser
import EventLoop
import Runtime
import HTTP
import JSON
import Outbound

struct RateLimitCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rate-limit", abstract: "Rate limits, which refuse too many attempts (429).",
    subcommands: [List.self, Reset.self]
  )

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the rate limits of an app that refuse attempts now.",
      discussion: """
        For a user, it lists the limits of sign-ins and mails, in the networks of the user's latest \
        sessions and failures, and in that of --address.

          dossier limits list --user ada@example.com
          dossier limits list --address 203.0.113.7
        """)
    @OptionGroup var options: AppOptions

    @Option(help: "Only limits of this user: an id, or an email address with or without a user.")
    var user: String?

    @Option(
      help: ArgumentHelp(
        "Only limits of the network of this address.", valueName: "IP address"))
    var address: String?

    func validate() throws {
      guard let address, IPAddress(address) == nil else { return }
      throw ValidationError("--address must be an IP address, such as 203.0.113.7.")
    }

    func run() throws {
      options.common.run { context async throws(CommandFailure) in
        if let user { return try await limits(of: user, context) }
        let rows = try await context.send(.get, "/v1/rate-limits", to: options.app).array ?? []
        let network = address.flatMap(IPAddress.init)
        let found = rows.filter { row in
          guard let network else { return true }
          guard let other = row["network"]?.string.flatMap(IPAddress.init) else { return false }
          return other.network == network.network
            || network.site != nil && other.site == network.site
        }
        return CommandOutput(
          .array(JSONArray(found)), columns: ["limit", "network", "refused_at", "ends_at"])
      }
    }

    /// Returns the limits that refuse a user, as the sign-in check finds them.
    @EventLoop private func limits(
      of user: String, _ context: CommandContext
    ) async throws(CommandFailure) -> CommandOutput {
      var body = JSONObject([(UserID(user) == nil ? "email" : "user_id", .string(user))])
      body["network"] = address.map(JSON.string)
      let check = try await context.send(
        .post, "/v1/sign-in-checks", .json(.object(body)), to: options.app)
      let rows: [JSON] = (check["reasons"]?.array ?? []).compactMap { reason in
        guard reason["code"]?.string == "rate_limited", let facts = reason["facts"] else {
          return nil
        }
        return [
          "limit": facts["limit"] ?? .null, "network": facts["network"] ?? .null,
          "device_id": facts["device_id"] ?? .null, "ends_at": reason["until"] ?? .null,
          "reason": reason["reason"] ?? .null,
        ]
      }
      return CommandOutput(
        .array(JSONArray(rows)), columns: ["limit", "network", "device_id", "ends_at", "reason"])
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
