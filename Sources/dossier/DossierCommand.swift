import ArgumentParser
import Configuration

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
      AppCommand.self, ClientCommand.self, ResourceServerCommand.self, RoleCommand.self,
      IssuerCommand.self, KeyCommand.self, UserCommand.self, SessionCommand.self,
      RateLimitCommand.self,
      MailCommand.self,
      IndexCommand.self, SchemaCommand.self, BreachedPasswordCommand.self, AuditCommand.self,
      APICommand.self, Calibrate.self, Doctor.self,
    ]
  )
}
