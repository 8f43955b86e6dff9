import ArgumentParser
import Configuration
import Delivery
import Federation
import Permissions
import Postgres
import Runtime
import Tenancy
import Webhooks

/// The command line for the operators of a deployment.
@main struct DossierCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "dossier",
    abstract: "Administers apps, clients, APIs, issuers, keys, indexes, schemas, users and mail.",
    discussion: """
      The program works on the database, with the settings of dossierd (DOSSIER_DATABASE, \
      DOSSIER_MASTER_KEY or DOSSIER_MASTER_KEY_FILE, --config, --set). No server needs to run. Most \
      commands are requests to the REST API, which the program answers itself. The audit log \
      names the operator as their author. Results go to standard output, all else to standard error.

      `dossier --generate-completion-script bash` (or zsh, fish) prints a script for tab completion. \
      The Debian package installs it.

      Exit codes:
      \(ExitStatus.table)
      """,
    version: Version.text,
    subcommands: [
      AppCommand.self, RecordCommand<ClientRecord>.self, RecordCommand<ResourceServerRecord>.self,
      RecordCommand<RoleRecord>.self, AdministratorCommand.self,
      RecordCommand<IssuerRecord>.self, RecordCommand<ConnectionRecord>.self, KeyCommand.self,
      UserCommand.self, SearchCommand.self, DeviceCommand.self, SessionCommand.self,
      RecordCommand<WebhookRecord>.self, SupportSessionCommand.self, RateLimitCommand.self,
      JobCommand.self, MailCommand.self,
      IndexCommand.self,
      SchemaCommand.self, BreachedPasswordCommand.self, AuditCommand.self,
      StatisticsCommand.self, EventsCommand.self,
      ApplyCommand.self, ExportConfigCommand.self, APICommand.self, Calibrate.self, Doctor.self,
    ]
  )
}

/// The exit statuses of `dossier`.
///
/// Numbers are never reused, since scripts depend on them.
enum ExitStatus: Int32, CaseIterable, Sendable {
  case success = 0
  case internalError = 1
  case differs = 2
  case notFound = 10
  case conflict = 11
  case invalid = 12
  case preconditionFailed = 13
  case cannotConnect = 15
  case overloaded = 16
  case someFailed = 17
  case interrupted = 18
  case inputChanged = 19
  case files = 21
  case notReady = 22
  case unconfirmed = 23
  case checksFailed = 24
  case usage = 64
  case configuration = 78

  /// Returns the status for a failure.
  init(_ failure: Failure) {
    self =
      switch failure {
      // The database server itself may have reported the error.
      case .databaseUnavailable: failure.cause?.serverFault == nil ? .cannotConnect : .notReady
      case .mailNotConfigured: .configuration
      default: ExitStatus(failure.type.kind)
      }
  }

  private init(_ kind: ErrorKind) {
    self =
      switch kind {
      case .malformed, .invalid, .tooLarge, .unsupportedMedia: .invalid
      case .notFound, .gone: .notFound
      case .conflict: .conflict
      case .precondition: .preconditionFailed
      case .tooMany, .unavailable: .overloaded
      case .unauthenticated, .forbidden, .internal: .internalError
      }
  }

  /// The line of the status in the help.
  var meaning: String {
    switch self {
    case .success: "done"
    case .internalError: "an error that is not in this list"
    case .differs: "apply --check: something differs from the files"
    case .notFound: "the app, user, client, issuer, key, mail, index or schema does not exist"
    case .conflict: "a name, host, address or path is taken, or an app is in use"
    case .invalid: "the input breaks a rule; the message names the place"
    case .preconditionFailed: "the version is not the one of --if-version"
    case .cannotConnect: "no connection to the database"
    case .overloaded: "the database was overloaded; run the command again"
    case .someFailed:
      "the whole input was read, but some lines or objects failed; the results list their errors"
    case .interrupted: "stopped by a signal between two batches; --resume continues"
    case .inputChanged: "the input is not that of the earlier run, or another run is importing it"
    case .files: "a file could not be read or written"
    case .notReady:
      "the database cannot be used: a wrong schema, missing rights, read-only, or a full disk"
    case .checksFailed: "the doctor has found a fault"
    case .unconfirmed: "refused: this cannot be undone; confirm with --yes"
    case .usage: "wrong arguments"
    case .configuration: "the settings are not usable"
    }
  }

  /// The table of statuses in the help.
  static var table: String {
    allCases.map { status in
      "  " + (status.rawValue < 10 ? " " : "") + "\(status.rawValue)  \(status.meaning)"
    }.joined(separator: "\n")
  }
}
