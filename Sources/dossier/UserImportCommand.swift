import CommandKit
import Transfer
import ArgumentParser
import Configuration
import Documents
import ReferenceData

struct UserImportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Creates or changes users from the lines of a file.",
    discussion: """
      Each line is a JSON object. Every member is optional:

        id              24 hexadecimal digits; by default a new id
        email           an address
        email_verified  true if the user has verified the address
        foreign_id      the id that clients of Auth0 know, such as auth0|65f1c0de
        password_hash   $2a$ $2b$ $2y$ (bcrypt), $5$ $6$ (SHA-crypt), $argon2id$, $argon2i$,
                        $scrypt$ln=,r=,p=$salt$key, $pbkdf2-sha256$i=$salt$key (also sha1, sha512),
                        $digest-sha256$prefix$suffix$digest, $hmac-sha256$key$prefix$suffix$digest
                        (also md5, sha1, sha384, sha512; the parts in base64 without padding).
                        Dossier replaces it by its own hash at the first sign-in. With null, or with
                        an address and no identities, the user chooses a password by mail
        totp_secrets    base32 secrets of authenticator apps, for users who have none
        passkeys        [{"credential_id", "public_key", "user_handle": base64url, ...}], as export
                        --all writes them, for the app's passkey_rp_id; public_key is COSE's format
        name given_name family_name nickname phone locale zone
        blocked         true or false
        created_at last_login_at login_count    2025-04-30T12:00:00Z and a number; for new users
        identities      [{"provider": "jwt:ISS", "subject": "..."}]; ISS is the iss of the issuer
        metadata app_metadata custom_data    objects that match the schemas of the app, if any
        properties      an object of strings, numbers, true and false

      The id of a line names an existing user. Without an id, the address or an identity does. A \
      change replaces the members of the line (documents and properties as a whole), and leaves all \
      others. It removes no identity; null removes a member of the profile.

      An address belongs to one user, verified or not. A line with the address of another user fails \
      with email_taken. So does a line that names, by the address alone, a user who registered or \
      linked it and has not verified it: anyone can do that. Give the id of the user, or \
      email_verified: true, which takes an unverified user over. It ends the user's password, \
      sessions, API keys, linked identities, consents and second factors, before it adds those of \
      the line. A mail reports it.

      With --format app-services, a line is a user as the administration of Atlas App Services lists \
      it (one user a line: jq -c '.[]'). These lines contain no passwords, so users choose new ones \
      by mail. Addresses are unverified, so the first reset by mail revokes all other credentials. \
      --verified-emails is for apps that verified every address by mail.

      With --format app-services-documents, a line is a document of custom data as mongoexport writes \
      it. The app's setting app_services_user_field names the member with the user's id. The import \
      creates no users or identities, since users wrote these documents. Each user must exist and \
      have one document. A line fails with no_such_user if its user does not exist, and with \
      duplicate if an earlier line has written the document.

      --rules FILE is rules.json of the collection, as App Services exports it. Give it with either \
      format. Rules are not imported: without a setting, users may read and write all of their custom \
      data. So if the file has roles, the import begins only when the app's settings \
      custom_data_writable and custom_data_readable are chosen.

      With --format auth0, a line is a user of Auth0's export (NDJSON). --hashes FILE is the \
      decrypted file of password hashes (NDJSON) that Auth0's support sends. Add the connections \
      first (dossier connection create google ...), and other issuers under the names of Auth0's \
      connections (dossier issuer create NAME ...). \
      user_id stays the sub of the user, and user_metadata becomes metadata. mfa_factors contains \
      the secrets of authenticator apps, and authentication_methods passkeys, as Auth0's Management \
      API lists them for each user. A user is created without the parts that Dossier cannot \
      take. The results list these parts in left_out, with the reason. A user without an address and \
      without an identity of an issuer fails with no_login_method.

      Lines are written in batches, each in one transaction; an invalid line fails alone. With \
      --resume, the run continues after the last batch of an earlier run with the same input (a path \
      or -) and app, however that run ended. It completes the file of results. Without an earlier \
      run it starts from the beginning. Ctrl-C stops after the batch, and a second Ctrl-C at once.

      Results are lines of JSON: {"line", "id", "status": created | updated | skipped | failed, \
      "errors": [{"pointer", "code", "detail"}], "left_out": [as errors]}.

      Exit codes: 0 if all lines are done, 17 if some failed, 18 after a signal, 19 if the input is \
      not that of the earlier run, 21 if a file cannot be read or written, 23 if rules need a \
      decision; dossier --help has others.
      """)
  @OptionGroup var options: AppOptions

  @Flag(name: .customLong("skip-existing"), help: "Skip lines of existing users.")
  var skipsExisting = false

  @Flag(name: .customLong("update-existing"), help: "Change existing users.")
  var updatesExisting = false

  @Option(help: ArgumentHelp("Lines per transaction, from 1 to 10000.", valueName: "number"))
  var batch = 500

  @Option(help: ArgumentHelp("The file for the result of each line.", valueName: "file"))
  var results: String?

  @Option(help: "The format of the lines: dossier, app-services, app-services-documents or auth0.")
  var format = ImportFormat.dossier

  @OptionGroup var appServices: AppServicesOptions

  @Option(help: ArgumentHelp("With auth0: the file of password hashes.", valueName: "file"))
  var hashes: String?

  @Option(help: ArgumentHelp("With app-services: the rules of the collection.", valueName: "file"))
  var rules: String?

  @Flag(help: "Continue where the last run ended.")
  var resume = false

  @Argument(help: ArgumentHelp("The input; - is standard input.", valueName: "file"))
  var source: String

  func validate() throws {
    guard !(skipsExisting && updatesExisting) else {
      throw ValidationError("Give either --skip-existing or --update-existing.")
    }
    guard format == .appServices || appServices.issuer == nil && !appServices.areEmailsVerified
    else {
      throw ValidationError("--issuer and --verified-emails go with --format app-services.")
    }
    guard format == .auth0 || hashes == nil else {
      throw ValidationError("--hashes goes with --format auth0.")
    }
    guard rules == nil || format == .appServices || format == .appServicesDocuments else {
      throw ValidationError("--rules goes with --format app-services or app-services-documents.")
    }
    guard rules != "-" || source != "-" else {
      throw ValidationError("Only one of the two files can be standard input.")
    }
    guard hashes != "-" || source != "-" else {
      throw ValidationError("Only one of the two files can be standard input.")
    }
    guard format != .appServicesDocuments || !(skipsExisting || updatesExisting) else {
      throw ValidationError(
        "app-services-documents changes existing users: omit --skip-existing and --update-existing."
      )
    }
    guard (1...10_000).contains(batch) else {
      throw ValidationError("--batch must be a number from 1 to 10000.")
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
      issuer: appServices.issuer,
      areEmailsVerified: appServices.areEmailsVerified,
      hashes: hashes,
      rules: rules
    )
    do throws(ReferenceListError) {
      try ReferenceLists.load()
    } catch {
      end([error.description], .configuration)
    }
    let settings = options.common.settings
    settings.run(
      asJSON: options.common.output.isJSON, as: options.common.person, isLarge: true,
      signals: ImportRun.signals
    ) { context async throws(CommandFailure) in
      try await ImportRun(request, context).run()
    }
  }
}

extension ImportFormat: ExpressibleByArgument {}

/// The options that only lines of App Services need.
struct AppServicesOptions: ParsableArguments {
  @Option(help: "With app-services: the issuer of the tokens of custom-token users.")
  var issuer: String?

  @Flag(
    name: .customLong("verified-emails"),
    help: "With app-services: users verified their addresses by email.")
  var areEmailsVerified = false
}
