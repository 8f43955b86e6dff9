import Configuration
import EventLoop
import Glibc

/// The body of a command, which runs on the loop.
typealias CommandBody =
  @EventLoop @Sendable (CommandContext) async throws(CommandFailure) -> CommandOutput

extension ConfigurationOptions {
  /// Runs `body` on the loop, prints its output and ends the process.
  ///
  /// - Parameters:
  ///   - asJSON: whether to print JSON instead of a table.
  ///   - isLarge: whether the command changes much at once. The database then allows it a minute.
  ///   - lacksKey: whether secrets may be encrypted with a master key other than the given one.
  ///   - signals: the signals that the command handles itself.
  ///   - body: the command.
  func run(
    asJSON: Bool, isLarge: Bool = false, lacksKey: Bool = false, signals: [Int32] = [],
    _ body: @escaping CommandBody
  ) -> Never {
    let configuration: Configuration
    do throws(ConfigurationError) {
      configuration = try Configuration(values, serves: false)
    } catch {
      end([error.description], .configuration)
    }
    EventLoop.task {
      // Blocked before any other thread exists, since it could receive the signals.
      Signals.block(signals)
      let context = CommandContext(configuration, isLarge: isLarge)
      do throws(CommandFailure) {
        try await context.requireReadiness(lacksKey: lacksKey)
        let output = try await body(context)
        Output.write(output.text(asJSON: asJSON), to: 1)
        if let remark = output.remark { say(remark) }
        end([], output.status)
      } catch {
        end([error.reason], error.status)
      }
    }
    EventLoop.reactor.run()
    end([], .internalError)
  }
}

/// Prints the reasons and ends the process.
func end(_ reasons: [String], _ status: ExitStatus) -> Never {
  for line in reasons.joined(separator: "\n").split(separator: "\n") { say(String(line)) }
  exit(status.rawValue)
}

/// Prints a progress line for the operator.
func say(_ line: String) { Output.write("dossier: \(line)\n", to: 2) }
