import Transfer
import ArgumentParser
import Configuration
import Documents
import ReferenceData

struct UserImportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Makes or changes users by the lines of a file.",
    discussion: """
      A line is a JSON object; all of its members may be left out:

        id              24 hexadecimal digits; made anew without it
        email           an address
        email_verified  true: the user has shown that the address is its own
        foreign_id      the id that clients of Auth0 know, such as auth0|65f1c0de
        password_hash   $2a$ $2b$ $2y$ (bcrypt), $5$ $6$ (SHA-crypt), $argon2id$, $argon2i$,
                        $scrypt$ln=,r=,p=$salt$key, $pbkdf2-sha256$i=$salt$key (also sha1, sha512),
                        $digest-sha256$prefix$suffix$digest, $hmac-sha256$key$prefix$suffix$digest
                        (also md5, sha1, sha384, sha512; the parts in base64 without padding);
                        replaced by Dossier's own at the first sign-in. null, or an address and no
                        identities: the user chooses a password by mail
        totp_secrets    base32 texts of authenticator apps, for users who have none
        name given_name family_name nickname phone locale zone
        blocked         true or false
        created_at last_login_at login_count    2025-04-30T12:00:00Z and a number; for new users
        identities      [{"provider": "jwt:ISS", "subject": "..."}], ISS as the tokens of an issuer have it
        metadata app_metadata custom_data    objects, which fit the schemas of the app, if any
        properties      an object of strings, numbers, true and false

      A line is of an existing user by its id; without one by its address or an identity. A change \
      replaces what the line has (documents and properties as a whole), leaves what it has not, and \
      takes no identity away; null removes a member of the profile.

      An address belongs to one user, verified or not: a line with the address of another user fails \
      as email_taken. So does a line that would change a user who registered the address and has not \
      verified it, because anybody can register it. Give the id of the user, or email_verified: true. \
      The latter takes an unverified user over: its password, sessions, API keys, linked identities \
      and second factors end, but for what the line has.

      With --format app-services a line is a user as the administration of Atlas App Services lists it \
      (one a line: jq -c '.[]'). Passwords are not there: users choose a new one by mail. Addresses \
      are unverified, so the first reset by mail revokes all other credentials. --confirmed-emails is \
      for apps that had addresses confirmed.

      With --format app-services-documents a line is a document of custom data as mongoexport writes \
      it, whose user is in the app's app_services_user_field. Nothing in it makes a user or an \
      identity, for users wrote it. The users must be there, with one document each: a line fails as \
      no_such_user or, where an earlier one was written, as duplicate.

      With --format auth0 a line is a user of Auth0's export (NDJSON). --hashes FILE is the file of \
      password hashes that Auth0's support sends, decrypted: NDJSON too. Add the issuers of other \
      connections first (dossier issuer add google-oauth2 ...): their names are those of Auth0's \
      connections. user_id stays the sub of the user, and user_metadata becomes metadata. Secrets of \
      authenticator apps come from mfa_factors. A user is created without the parts that Dossier \
      cannot take. The results list these parts in left_out, with the reason. A user without an \
      address and without an identity of an issuer fails as no_login_method.

      A batch is written as one, with how far the input is read; a bad line fails alone. With \
      --resume the run goes on behind the last batch of the same input (a path or -) into the same \
      app, whatever ended the run before, and completes the file of results. Without anything to \
      resume it begins. Ctrl-C ends it after the batch, again at once.

      Results are lines of JSON: {"line", "id", "status": created | updated | skipped | failed, \
      "errors": [{"pointer", "code", "detail"}], "left_out": [as errors]}.

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

  @Option(help: "How lines are written: dossier, app-services, app-services-documents or auth0.")
  var format = ImportFormat.dossier

  @Option(help: "With app-services: whose tokens the users of custom-token bring.")
  var issuer: String?

  @Flag(
    name: .customLong("confirmed-emails"),
    help: "With app-services: the app had its users confirm their addresses by mail."
  )
  var areEmailsConfirmed = false

  @Option(help: ArgumentHelp("With auth0: the file of password hashes.", valueName: "file"))
  var hashes: String?

  @Flag(help: "Goes on where the last run ended.")
  var resume = false

  @Argument(help: ArgumentHelp("The input; - is standard input.", valueName: "file"))
  var source: String

  func validate() throws {
    guard !(skipsExisting && updatesExisting) else {
      throw ValidationError("Give either --skip-existing or --update-existing.")
    }
    guard format == .appServices || issuer == nil && !areEmailsConfirmed else {
      throw ValidationError("--issuer and --confirmed-emails go with --format app-services.")
    }
    guard format == .auth0 || hashes == nil else {
      throw ValidationError("--hashes goes with --format auth0.")
    }
    guard hashes != "-" || source != "-" else {
      throw ValidationError("Only one of the two files can be standard input.")
    }
    guard format != .appServicesDocuments || !(skipsExisting || updatesExisting) else {
      throw ValidationError(
        "Documents are of users who are there: leave --skip-existing and --update-existing out."
      )
    }
    guard (1...10_000).contains(batch) else {
      throw ValidationError("--batch takes a number from 1 to 10000.")
    }
  }

  func run() throws {
    let request = ImportRequest(
      source: source,
      app: options.app,
      existing: format == .appServicesDocuments
        ? .require : updatesExisting ? .update : skipsExisting ? .skip : .fail,
      batch: batch,
      results: results,
      isResumed: resume,
      format: format,
      issuer: issuer,
      areEmailsConfirmed: areEmailsConfirmed,
      hashes: hashes
    )
    do throws(ReferenceListError) {
      try ReferenceLists.load()
    } catch {
      end([error.description], .configuration)
    }
    let settings = options.common.settings
    settings.run(
      asJSON: options.common.output.isJSON,
      isLarge: true,
      signals: ImportRun.signals
    ) { context async throws(CommandFailure) in
      try await ImportRun(request, context).run()
    }
  }
}

/// The format of the input lines.
enum ImportFormat: String, ExpressibleByArgument, CaseIterable {
  case dossier
  case appServices = "app-services"
  case appServicesDocuments = "app-services-documents"
  case auth0
}
