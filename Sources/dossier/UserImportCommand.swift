import ArgumentParser
import Configuration
import Dossier

struct UserImportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Makes or changes users by the lines of a file.",
    discussion: """
      A line is a JSON object; all of its members may be left out:

        id              24 hexadecimal digits; made anew without it
        email           an address
        email_verified  true: it is the user's and nobody else's
        password_hash   $2a$ $2b$ $2y$ (bcrypt), $5$ $6$ (SHA-crypt), $argon2id$, $argon2i$,
                        $scrypt$ln=,r=,p=$salt$key, $pbkdf2-sha256$i=$salt$key (also sha1, sha512);
                        replaced by Dossier's own at the first login. null, or an address and no
                        identities: the user chooses a password by mail
        name given_name family_name nickname phone locale zone
        blocked         true or false
        created_at      2025-04-30T12:00:00Z; for new users
        identities      [{"provider": "jwt:ISS", "subject": "..."}], ISS as the tokens of an issuer have it
        metadata app_metadata custom_data    objects, which fit the schemas of the app, if any
        properties      an object of strings, numbers, true and false

      A line is of an existing user by its id; without one by its address or an identity. A change \
      replaces what the line has (documents and properties as a whole), leaves what it has not, and \
      takes no identity away; null removes a member of the profile.

      With --format app-services a line is a user as the administration of Atlas App Services lists it \
      (one a line: jq -c '.[]'), or a document of custom data as mongoexport writes it, whose user is \
      in the app's app_services_user_field. Import the users first, then the documents with \
      --update-existing. Passwords are not in such files: users choose a new one by mail.

      A batch is written as one, with how far the input is read; a bad line fails alone. With \
      --resume the run goes on behind the last batch of the same input (a path or -) into the same \
      app, whatever ended the run before, and completes the file of results. Without anything to \
      resume it begins. Ctrl-C ends it after the batch, again at once.

      Results are lines of JSON: {"line", "id", "status": created | updated | skipped | failed, \
      "errors": [{"pointer", "code", "detail"}]}.

      Exit codes: 0 all rows done, 17 some failed, 18 stopped by a signal, 19 not the input that was \
      begun, 21 a file cannot be read or written; others as dossier --help has them.
      """
  )
  @OptionGroup var options: AppOptions

  @Flag(name: .customLong("skip-existing"), help: "Leaves users alone that are there.")
  var skipsExisting = false

  @Flag(name: .customLong("update-existing"), help: "Changes users that are there.")
  var updatesExisting = false

  @Option(help: ArgumentHelp("Rows of a transaction, from 1 to 10000.", valueName: "number"))
  var batch = 500

  @Option(help: ArgumentHelp("Where to tell what became of each row.", valueName: "file"))
  var results: String?

  @Option(help: "How lines are written: dossier, or app-services (see below).")
  var format = ImportFormat.dossier

  @Option(help: "With app-services: whose tokens the users of custom-token bring.")
  var issuer: String?

  @Flag(help: "Goes on where the last run ended.")
  var resume = false

  @Argument(help: ArgumentHelp("The input; - is standard input.", valueName: "file"))
  var source: String

  func validate() throws {
    guard !(skipsExisting && updatesExisting) else {
      throw ValidationError("Give either --skip-existing or --update-existing.")
    }
    guard (1...10_000).contains(batch) else {
      throw ValidationError("--batch takes a number from 1 to 10000.")
    }
  }

  func run() throws {
    let request = ImportRequest(
      source: source,
      app: options.app,
      existing: updatesExisting ? .update : skipsExisting ? .skip : .fail,
      batch: batch,
      results: results,
      isResumed: resume,
      format: format,
      issuer: issuer
    )
    do throws(ReferenceListError) {
      try ReferenceLists.load()
    } catch {
      end([error.description], .configuration)
    }
    let settings = options.common.settings
    let output = options.common.output.output
    settings.run(output, isLarge: true, signals: ImportRun.signals) {
      session async throws(CommandFailure) in
      try await ImportRun(request, session).run()
    }
  }
}

/// How the lines of an input are written.
enum ImportFormat: String, ExpressibleByArgument, CaseIterable {
  case dossier
  case appServices = "app-services"
}
