import ArgumentParser
import Dossier
import EventLoop
import JSON
import Outbound

struct LimitCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "limit",
    abstract: "Limits that slow down who tries too often (429).",
    subcommands: [Lift.self]
  )

  struct Lift: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lets somebody try again at once who was told to wait.",
      discussion: """
        For a user: logins, registrations, passwords and mail, from wherever somebody was refused in \
        the past two days. For a network: all that is counted by it and, in IPv6, by its /48, whoever \
        tries from there; `dossier audit` shows the addresses of those who were slowed down \
        (attempts_refused). nginx has a limit of its own, which this does not lift.
        """
    )
    @OptionGroup var options: AppOptions

    @Option(help: ArgumentHelp("Also what is counted by its network.", valueName: "IP address"))
    var network: String?

    @Flag(help: "All that is counted in the app.")
    var all = false

    @Argument(help: "A user's id, or an address of mail, which need not be anybody's.")
    var user: String?

    func validate() throws {
      guard all ? user == nil && network == nil : user != nil || network != nil else {
        throw ValidationError("Name a user, a --network or both; or --all.")
      }
      guard network.map({ IPAddress($0) != nil }) != false else {
        throw ValidationError("--network takes an address, as 198.51.100.7 or 2001:db8::1.")
      }
    }

    func run() throws {
      options.common.run { console async throws(CommandFailure) in
        let context = try await console.context(of: options.app)
        let count = try await console.doing(context) { context async throws(Failure) in
          guard !all else { return try await Attempts.liftAll(context) }
          let id = user.flatMap { UserID($0) }
          let email = id == nil ? user : nil
          var holder = id
          if let email {
            holder = try await Users.holder(of: email, context)
          }
          return try await Attempts.lift(
            of: email,
            holder.map { [$0] } ?? [],
            from: network.flatMap { IPAddress($0) },
            context
          )
        }
        return CommandOutput(["lifted": .number(JSONNumber(count))])
      }
    }
  }
}
