import Runtime
import PasswordHashes

/// The settings.
///
/// For example, `socket_directory` is `--set socket_directory=…` as a flag,
/// `DOSSIER_SOCKET_DIRECTORY` in the environment and `socket_directory = …` in the file.
package enum Setting: String, CaseIterable {
  case database
  case migrateDatabase = "migrate_database"
  case masterKey = "master_key"
  case issuer
  case app
  case appCacheTTL = "app_cache_ttl_ms"
  case workers
  case socketDirectory = "socket_directory"
  case socketMode = "socket_mode"
  case socketGroup = "socket_group"
  case listen
  case writeConnections = "write_connections"
  case lockSeconds = "lock_seconds"
  case threadSeconds = "thread_seconds"
  case hashingThreads = "hashing_threads"
  case argon2Memory = "argon2_memory"
  case argon2Passes = "argon2_passes"
  case connections
  case drainSeconds = "drain_seconds"
  case stallSeconds = "stall_seconds"
  case log
  case internalNetworks = "internal_networks"
  case mail
  case mailUser = "mail_user"
  case mailPassword = "mail_password"
  case mailTLS = "mail_tls"
  case mailClientName = "mail_client_name"
  case issuerNetwork = "issuer_network"
  case pictureProgram = "picture_program"
  case pictureFolder = "picture_folder"
  case breachedPasswords = "breached_passwords"

  package var environmentName: String { "DOSSIER_" + rawValue.uppercased() }

  /// The default value, or nil if the operator must give one.
  package var defaultValue: String? {
    switch self {
    case .database, .masterKey: nil
    case .issuer: "http://127.0.0.1:8080"
    case .app: "default"
    case .appCacheTTL: "5000"
    case .workers: "0"
    case .socketDirectory: "/run/dossier"
    case .socketMode: "0660"
    case .socketGroup: ""
    case .listen: ""
    case .writeConnections: "4"
    case .lockSeconds: "1"
    case .threadSeconds: "8"
    case .hashingThreads: "0"
    case .argon2Memory: String(HashingCost.least.memory)
    case .argon2Passes: String(HashingCost.least.passes)
    case .connections: "512"
    case .drainSeconds: "30"
    case .stallSeconds: "3"
    case .log: "requests"
    case .migrateDatabase, .internalNetworks, .mail, .mailUser, .mailPassword,
      .mailClientName, .pictureProgram, .pictureFolder, .breachedPasswords:
      ""
    case .mailTLS: "required"
    case .issuerNetwork: "public"
    }
  }

  /// Whether a change requires a restart, as for the sockets, which outlive the workers.
  package var needsRestart: Bool {
    switch self {
    case .workers, .socketDirectory, .socketMode, .socketGroup, .listen, .stallSeconds: true
    default: false
    }
  }

  /// Whether all hosts of a deployment need the same value.
  package var isShared: Bool {
    switch self {
    case .masterKey, .issuer, .app, .appCacheTTL, .argon2Memory, .argon2Passes, .internalNetworks,
      .mail, .mailUser, .mailPassword, .mailTLS, .issuerNetwork, .pictureFolder,
      .breachedPasswords:
      true
    case .database, .migrateDatabase, .workers, .socketDirectory, .socketMode, .socketGroup,
      .listen, .writeConnections, .lockSeconds, .threadSeconds, .hashingThreads, .connections,
      .drainSeconds, .stallSeconds, .log, .mailClientName, .pictureProgram:
      false
    }
  }

  package var meaning: String {
    switch self {
    case .database: "connection string of PostgreSQL, as libpq takes it"
    case .migrateDatabase: "connection string of dossier-migrate, as the owner of the schema"
    case .masterKey:
      "secret of 32 bytes or more, in base64; separate several by commas or lines: the first key encrypts, all keys decrypt"
    case .issuer: "the deployment's URL, the iss of its tokens"
    case .app: "default app, used if neither the host name nor Dossier-App selects one"
    case .appCacheTTL:
      "cache lifetime of app settings and schemas, in milliseconds; 0 disables the cache"
    case .workers: "number of worker processes; 0 starts one for each core"
    case .socketDirectory: "folder of the workers' Unix sockets"
    case .socketMode: "permissions of the sockets, octal"
    case .socketGroup:
      "group of the sockets, so that nginx can connect; empty keeps the group of dossierd"
    case .listen:
      "address:port (or [address]:port) of the first worker; further workers use the next ports"
    case .writeConnections: "connections of a worker for writes"
    case .lockSeconds:
      "seconds that a write may wait for a connection, and then for a lock in the database"
    case .threadSeconds:
      "seconds that a password, a large document or a picture may wait for a thread; nginx waits 15"
    case .hashingThreads: "threads of a worker for passwords; 0 is half the cores, at least one"
    case .argon2Memory:
      "memory of a password hash, in KiB; `dossier calibrate` suggests both values"
    case .argon2Passes: "passes over that memory; a sign-in replaces hashes of another cost"
    case .connections: "largest number of connections from nginx to a worker"
    case .drainSeconds: "seconds after which a worker that is ending is killed"
    case .stallSeconds:
      "seconds after which a worker that does not respond is killed and replaced; 0 never kills one"
    case .mail:
      "destination of mail: smtp://host:port, smtps://host:port or a folder; empty sends none"
    case .mailUser: "user name at the relay; empty for no authentication"
    case .mailPassword: "password of mail_user"
    case .mailTLS:
      "TLS with smtp://: required; or optional, with any certificate, for a relay on the same machine"
    case .mailClientName:
      "name in EHLO, fully qualified; empty takes the host of the issuer, or the name of this host"
    case .issuerNetwork:
      "where keys of issuers may be fetched: public networks, or any (also by plain http)"
    case .pictureProgram: "path of dossier-pictures; empty uses the folder of this program"
    case .pictureFolder: "folder from which nginx serves pictures; empty keeps them in the database"
    case .breachedPasswords:
      "file of breached passwords, which `dossier breached-password build` makes; empty for none"
    case .internalNetworks:
      "CIDR networks, in addition to localhost, that may read /metrics, /readyz and /healthz; nginx must allow them too"
    case .log:
      "requests: a line for each; errors: a line for each failure in the server; debug: a line for each request and each statement"
    }
  }
}
