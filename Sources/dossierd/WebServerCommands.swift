import ArgumentParser
import Wiring

/// Prints the files for nginx that the wires' declarations determine.
///
/// `deploy/nginx` contains them.
struct FastCGIParameters: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fastcgi-params",
    abstract: "Print nginx's list of what a worker is told of a request."
  )

  func run() { print(WebServer.parameters(of: clientWires()), terminator: "") }
}

struct BodyLimits: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "body-limits",
    abstract: "Print how large a body nginx lets through, by path."
  )

  func run() { print(WebServer.bodyLimits(of: clientWires()), terminator: "") }
}

struct ErrorPages: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "error-pages",
    abstract: "Print nginx's answers to what it refuses by itself."
  )

  func run() { print(WebServer.errorPages(of: clientWires()), terminator: "") }
}
