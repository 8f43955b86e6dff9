import ArgumentParser
import Configuration
import Localization
import WireKit

/// Prints the files for nginx that the wires' declarations determine.
///
/// `deploy/nginx` contains the first two. `deploy/up` and `deploy/package` write the long third one.
struct FastCGIParameters: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fastcgi-params",
    abstract: "Prints nginx's list of request parameters for workers."
  )

  func run() { print(WebServer.parameters(of: clientWires), terminator: "") }
}

struct BodyLimits: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "body-limits", abstract: "Prints nginx's limits on bodies, by path."
  )

  func run() { print(WebServer.bodyLimits(of: clientWires), terminator: "") }
}

struct ErrorPages: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "error-pages", abstract: "Prints nginx's responses to requests that it refuses."
  )
  @OptionGroup var options: ConfigurationOptions

  func run() throws {
    let languages = try Languages(in: options.values[.languageFolder]?.value ?? "")
    print(WebServer.errorPages(of: clientWires, in: languages.catalogs[0]), terminator: "")
  }
}
