import Administration
import ArgumentParser
import JSON
import Runtime
import Tenancy

struct UserAddressesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "canonicalize",
    abstract: "Rewrites stored addresses whose domain has another spelling, in all apps.",
    discussion: """
      An international domain has two spellings, as münchen.de and xn--mnchen-3ya.de. Both are one \
      address, which is stored in the second form. The command rewrites the addresses that an older \
      version has stored otherwise: until then, their users cannot sign in by address. It lists \
      conflicts: users who have the same address in two spellings. Delete or readdress one of them, \
      then run the command again. It changes nothing else, and can be repeated.
      """)
  @OptionGroup var common: CommonOptions

  @Flag(help: "Only counts what it would rewrite, and lists the conflicts.")
  var dryRun = false

  func run() throws {
    common.run { context async throws(CommandFailure) in
      let apps = try await context.run { context async throws(Failure) in
        try await Apps.list(context)
      }
      var (count, conflicts) = (0, [JSON]())
      for name in apps.map(\.app.name) {
        let result = try await context.run(in: name) { context async throws(Failure) in
          try await StoredAddresses.canonicalize(context, trial: dryRun)
        }
        count += result.rewritten
        conflicts += result.conflicts.map { conflict in
          [
            "app": .string(name), "user_id": .string(conflict.user.text),
            "email": .string(conflict.address), "canonical": .string(conflict.canonical),
            "other_user_id": .string(conflict.other.text),
          ]
        }
      }
      let remark = dryRun ? "\(count) addresses would be rewritten" : "\(count) addresses rewritten"
      return CommandOutput(
        .array(conflicts), columns: ["app", "user_id", "email", "canonical", "other_user_id"],
        remark: "\(remark), \(conflicts.count) in conflict",
        status: conflicts.isEmpty ? .success : .conflict
      )
    }
  }
}
