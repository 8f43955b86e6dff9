import CommandKit
import ArgumentParser
import HTTP
import JSON

extension AppCommand {
  struct Host: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Changes the host names by which requests find an app."
    )

    enum Verb: String, ExpressibleByArgument, CaseIterable, Sendable { case set, add, remove }

    @OptionGroup var options: AppOptions

    @Argument(help: "set (these and no others), add or remove.")
    var verb: Verb

    @Argument(help: "Host names in lower case, without a port.")
    var hosts: [String] = []

    func run() throws {
      options.common.run { context async throws(CommandFailure) in
        let path = context.path(of: options.app)
        // Each round in which another operator was faster has changed the app.
        while true {
          let app = try await context.send(.get, path)
          let hosts = hosts(after: app["hosts"]?.array?.compactMap(\.string) ?? [])
          let body = JSON.object(JSONObject([("hosts", .array(hosts.map(JSON.string)))]))
          do throws(CommandFailure) {
            let version = app["version"]?.number?.int
            let changed = try await context.send(
              .patch, path, .mergePatch(body), ifVersion: version
            )
            return CommandOutput(changed, brief: changed.brief(["name", "hosts", "version"]))
          } catch {
            guard error.status == .preconditionFailed else { throw error }
          }
        }
      }
    }

    /// Returns the host names of the app after the change.
    private func hosts(after stored: [String]) -> [String] {
      switch verb {
      case .set: hosts
      case .add: stored + hosts.filter { !stored.contains($0) }
      case .remove: stored.filter { !hosts.contains($0) }
      }
    }
  }
}
