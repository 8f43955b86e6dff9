import CommandKit
import ArgumentParser
import Configuration
import Delivery
import Federation
import Permissions
import Postgres
import Runtime
import Tenancy
import LogStreams
import Webhooks

/// The command line for the operators of a deployment.
struct DossierCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "dossier",
    abstract: "Administers apps, clients, APIs, issuers, keys, indexes, schemas, users and mail.",
    discussion: """
      The program works on the database, with the settings of dossierd (DOSSIER_DATABASE, \
      DOSSIER_MASTER_KEY or DOSSIER_MASTER_KEY_FILE, --config, --set). No server needs to run. Most \
      commands are requests to the REST API, which the program answers itself. The audit log \
      names the operator as their author. Results go to standard output, all else to standard error.

      Commands also take words that other programs have: users for user, ls for list, get for show, \
      add for create, edit for set, rm for delete.

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
      UserCommand.self, EraseCommand.self, SearchCommand.self, DeviceCommand.self,
      SessionCommand.self,
      RecordCommand<WebhookRecord>.self, RecordCommand<LogStreamRecord>.self,
      SupportSessionCommand.self, RateLimitCommand.self,
      JobCommand.self, MailCommand.self,
      IndexCommand.self,
      SchemaCommand.self, BreachedPasswordCommand.self, AuditCommand.self,
      StatisticsCommand.self, TopCommand.self, EventsCommand.self,
      ApplyCommand.self, ExportConfigCommand.self, APICommand.self, Calibrate.self, Doctor.self,
    ]
  )

  static func main() {
    do {
      main(try CommandWords.named(Array(CommandLine.arguments.dropFirst()), of: Self.self))
    } catch {
      exit(withError: error)
    }
  }
}
