import CommandKit
import Administration
import Tenancy
import ArgumentParser
import EventLoop
import Federation
import HTTP
import JSON
import Records
import Runtime

extension ConnectionRecord: CommandRecord {
  static var furtherCommands: [any ParsableCommand.Type] { [ConnectionCommand.Check.self] }

  static var guide: String {
    """

      dossier connection create google client_id=ID client_secret=@FILE

    It prints the redirect URI to register at the service, and checks the connection as `dossier \
    connection check` does.

    """
  }

  static var force: String? { "Deletes it also if users have no other way to sign in." }

  static func addendum(
    to connection: JSON, in app: String?, _ context: CommandContext
  ) async throws(CommandFailure) -> (members: JSONObject, remark: String?) {
    let found = try await context.check(connection["name"]?.string ?? "", of: app)
    let fault = found.faults.first.map { "it does not work yet: \($0)" }
    return (found.result.object ?? JSONObject(), fault)
  }

  static func warning(after patch: JSONObject, of connection: JSON) -> String? {
    guard patch["client_id"] != nil else { return nil }
    return switch connection["preset"]?.string {
    case "microsoft":
      "Microsoft gives each client_id another sub for the same user: users of the old one become new "
        + "users"
    case "facebook":
      "Facebook gives each client_id another id for the same user: users of the old one become new "
        + "users"
    default: nil
    }
  }
}

/// The commands of connections beyond those of each record.
enum ConnectionCommand {
  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Checks whether users can sign in by a connection, without a user.",
      discussion: """
        It prints the redirect URI to register at the service, which an app without a host name does \
        not have, and the URI for its logout tokens if it sends any. It checks the day on which the secret \
        expires, the discovery document, the scopes, the key set, the clock, and whether the token \
        endpoint accepts the secret: it sends a code that nobody has issued. It ends with an error if \
        something is wrong.
        """)
    @OptionGroup var connection: RecordArgument<ConnectionRecord>

    func run() throws {
      connection.options.common.run { context async throws(CommandFailure) in
        let found = try await context.check(connection.key, of: connection.options.app)
        return CommandOutput(
          found.result, remark: found.faults.first,
          status: found.faults.isEmpty ? .success : .checksFailed)
      }
    }
  }
}

extension CommandContext {
  /// Checks a connection of an app; nil for the default app.
  fileprivate func check(
    _ connection: String, of app: String?
  ) async throws(CommandFailure) -> (result: JSON, faults: [String]) {
    let path = "\(ConnectionRecord.words.path)/\(segment(connection))/check"
    let result = try await send(.post, path, to: app)
    let faults = (result["checks"]?.array ?? []).filter { $0["ok"] != true }.map { line in
      "\(line["check"]?.string ?? ""): \(line["detail"]?.string ?? "")"
    }
    return (result, faults)
  }

  /// Checks the connections of all apps.
  func connectionFindings(of apps: [String]) async -> [Doctor.Finding] {
    var findings: [Doctor.Finding] = []
    for app in apps {
      do throws(CommandFailure) {
        for one in try await send(.get, ConnectionRecord.words.path, to: app).array ?? [] {
          guard let name = one["name"]?.string, one["enabled"] == true else { continue }
          let what = "connection \(name) of \(app)"
          do throws(CommandFailure) {
            let (result, faults) = try await check(name, of: app)
            // A service may refuse for the redirect URI alone, which no check sees.
            let uri = (result["redirect_uri"]?.string).map { "its redirect URI is \($0)" }
            let said = faults + [uri].compactMap(\.self)
            findings.append(
              Doctor.Finding(what, faults.isEmpty ? nil : said.joined(separator: "; ")))
          } catch {
            findings.append(Doctor.Finding(what, "it cannot be checked: \(error)"))
          }
        }
      } catch {
        findings.append(Doctor.Finding("connections of \(app)", "they cannot be read: \(error)"))
      }
    }
    return findings
  }
}
