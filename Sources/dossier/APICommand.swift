import CommandKit
import ArgumentParser
import EventLoop
import HTTP
import JSON

/// A request to any route of the API that operators or API clients may use.
struct APICommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "api",
    abstract: "Sends a request to a route of /v1, as the operator and without a secret.",
    discussion: """
      Use it for routes without a command of their own. `dossierd routes` lists the routes; those for users \
      and devices are refused here.

        dossier api GET /v1/users/697deec0e5087f36371ad126/metadata --json
        echo '{"plan":"premium"}' | dossier api PATCH /v1/users/697deec0e5087f36371ad126/app-metadata -
      """)
  @OptionGroup var options: AppOptions

  @Option(help: "Changes nothing unless the stored version is this one.")
  var ifVersion: Int?

  @Argument(help: "GET, PUT, POST, PATCH or DELETE.")
  var method: String

  @Argument(help: "The path, and the query if there is one.")
  var path: String

  @Argument(help: ArgumentHelp("The body, in JSON; - is standard input.", valueName: "file"))
  var body: String?

  func run() throws {
    options.common.run { context async throws(CommandFailure) in
      var request = APIRequest(HTTP.Method(rawValue: method.uppercased()), path)
      if let body {
        let text = try InputFile.read(body)
        request.body = request.method == .patch ? .patch(text) : .text(text)
      }
      (request.app, request.ifVersion) = (options.app, ifVersion)
      let response = try await context.send(request)
      let remark = response.next.map { "there may be more: cursor=\($0)" }
      return CommandOutput(response.json, remark: remark)
    }
  }
}
