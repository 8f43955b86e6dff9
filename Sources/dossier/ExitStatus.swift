import Dossier
import Postgres

/// The exit statuses of `dossier`.
///
/// Numbers are never reused, since scripts depend on them.
enum ExitStatus: Int32, CaseIterable, Sendable {
  case success = 0
  case unforeseen = 1
  case notFound = 10
  case conflict = 11
  case invalid = 12
  case versionMoved = 13
  case cannotConnect = 15
  case overloaded = 16
  case someFailed = 17
  case interrupted = 18
  case inputChanged = 19
  case files = 21
  case notReady = 22
  case unconfirmed = 23
  case unwell = 24
  case usage = 64
  case configuration = 78

  /// The line of the status in the help.
  var meaning: String {
    switch self {
    case .success: "done"
    case .unforeseen: "something went wrong that is not in this list"
    case .notFound: "there is no such app, user, client, issuer, key, mail, index or schema"
    case .conflict: "a name, host, address or path is taken, or an app is in use"
    case .invalid: "the input breaks a rule, which is told with its place"
    case .versionMoved: "the version is not the one of --if-version"
    case .cannotConnect: "no connection to the database"
    case .overloaded: "the database had no time; run it again"
    case .someFailed: "all was read, and some failed: the results tell which and why"
    case .interrupted: "stopped by a signal between two batches; --resume goes on"
    case .inputChanged: "the input is not the one to resume, or another run goes on with it"
    case .files: "a file could not be read or written"
    case .notReady:
      "the database is not as this program needs it: schema, rights, read-only, a full disk"
    case .unwell: "the doctor has found something"
    case .unconfirmed: "it cannot be taken back, and was not confirmed: say --yes"
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

/// The reason why a command failed.
enum CommandFailure: Error {
  case refused(Failure)
  /// An error in a file.
  case file(String, ExitStatus)
  case notReady(ReadinessCheck.Fault)
  /// The operator did not confirm the operation.
  case unconfirmed(String)
  /// The app is the default app.
  case usualApp(String)

  var status: ExitStatus {
    switch self {
    case .refused(let failure): failure.status
    case .file(_, let status): status
    case .unconfirmed: .unconfirmed
    case .usualApp: .conflict
    case .notReady(let fault):
      switch fault.check {
      case .database: .cannotConnect
      case .masterKey: .configuration
      case .pooler, .readOnly, .schema, .grants, .app, .writes: .notReady
      }
    }
  }

  var words: String {
    switch self {
    case .refused(let failure): failure.words
    case .file(let reason, _): reason
    case .notReady(let fault) where fault.check == .database:
      "PostgreSQL cannot be reached: \(fault.reason)"
    case .notReady(let fault): fault.description
    case .usualApp(let name):
      "\(name) is the app of requests that name none, by the setting app: name another there first"
    case .unconfirmed(let question): "not done: \(question) Say --yes."
    }
  }
}

extension Failure {
  fileprivate var status: ExitStatus {
    switch self {
    case .notFound, .unknownApp: .notFound
    case .appExists, .hostTaken, .issuerExists, .emailTaken, .identityTaken, .userExists,
      .indexExists,
      .tooManyIndexes:
      .conflict
    case .invalid, .invalidFilter, .notIndexed: .invalid
    case .versionMoved: .versionMoved
    case .mailNotConfigured: .configuration
    case .unavailable(_, let cause): cause?.serverFault == nil ? .cannotConnect : .notReady
    case .overloaded, .searchTooSlow: .overloaded
    default: .unforeseen
    }
  }

  /// The message for errors that this command can meet.
  ///
  /// Other errors concern users and their clients.
  fileprivate var words: String {
    switch self {
    case .notFound:
      "there is no such user, client, issuer, key, mail or schema, or the user has no address or second "
        + "factor"
    case .unknownApp: "there is no such app"
    case .appExists: "there is an app of that name"
    case .hostTaken: "a host belongs to another app"
    case .issuerExists: "the app has an issuer of that name"
    case .emailTaken: "another user has this address"
    case .identityTaken: "another user has this identity"
    case .mailNotConfigured: "nothing can be mailed: the setting mail is empty"
    case .invalid(let faults), .userExists(let faults):
      faults.map { "\($0.place): \($0.detail) (\($0.code))" }.joined(separator: "\n")
    case .invalidFilter(let error): "at byte \(error.position): \(error.detail) (\(error.rule))"
    case .notIndexed(let paths):
      "the filter has no term on an indexed path; these are: " + paths.joined(separator: ", ")
    case .searchTooSlow: "the search took too long; add a term that few users fit"
    case .indexExists: "the app has an index on that path, or one that is being removed"
    case .tooManyIndexes(let limit): "an app has at most \(limit) indexes"
    case .versionMoved(let current): "the version is \(current)"
    case .unavailable(_, let cause?) where cause.serverFault != nil:
      "\(cause.serverFault?.remedy ?? "") (\(cause))"
    case .unavailable(_, let cause):
      "PostgreSQL cannot be reached" + (cause.map { ": \($0)" } ?? "")
    case .overloaded: "the database is busy"
    case .unforeseen(let reason): reason
    default: "\(self)"
    }
  }
}
