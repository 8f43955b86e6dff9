import CommandKit
import ArgumentParser
import Delivery
import JSON
import Passkeys
import Runtime

extension AppCommand {
  struct WellKnown: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "well-known",
      abstract: "Prints the files that browsers and phones read at passkey_rp_id.",
      discussion: """
        The server has them at the hosts of the app, so most apps need no copy. If passkey_rp_id is a \
        parent domain, such as example.com, serve them there: with status 200, without a redirect, \
        and as application/json.

          dossier app well-known assetlinks.json >assetlinks.json
        """)
    @OptionGroup var options: AppOptions

    @Argument(
      help: ArgumentHelp(
        "The file: \(AssociationFile.allCases.map(\.rawValue).joined(separator: ", ")); by default "
          + "all that the app has.", valueName: "file"))
    var file: AssociationFile?

    func run() throws {
      options.common.run { context async throws(CommandFailure) in
        let found = try await context.run(in: options.app) { (context) async throws(Failure) in
          let origin = context.mailer.pages?.origin(of: context.app)
          return AssociationFile.allCases.compactMap { file in
            file.content(of: context.app, at: origin).map { (file, $0) }
          }
        }
        guard let file else {
          return CommandOutput(.object(JSONObject(found.map { ($0.0.path, $0.1) })))
        }
        guard let content = found.first(where: { $0.0 == file })?.1 else {
          throw CommandFailure("The settings of the app ask for no such file.", .notFound)
        }
        return CommandOutput(text: Array(content.lines().utf8))
      }
    }
  }
}

extension AssociationFile: ExpressibleByArgument {}
