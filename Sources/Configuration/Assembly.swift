import Accounts
import Administration
import AppServicesWire
import BreachedPasswords
import ConsoleKit
import Delivery
import Documents
package import EventLoop
import Federation
import Glibc
import HostedPages
import Imaging
import LogStreams
import ManagementWire
import OpenID
import OpenIDWire
import Outbound
import ParraWire
import PasswordHashes
package import Postgres
import RateLimiting
package import Records
package import Runtime
import Sessions
package import Tenancy
import Webhooks
import WireKit

/// The thread pools of a process, for work that would block its loop.
package struct Pools {
  /// Hashes passwords.
  let passwords: FairPool
  /// Decodes pictures.
  let pictures: FairPool
  /// Reads and writes the files of pictures.
  package let files: BlockingPool
  /// Runs other long calculations.
  let calculator: FairPool

  package init(passwords: FairPool, pictures: FairPool, files: BlockingPool, calculator: FairPool) {
    self.passwords = passwords
    self.pictures = pictures
    self.files = files
    self.calculator = calculator
  }
}

extension Configuration {
  /// The most connections to PostgreSQL of the workers of this host: a reload doubles the workers.
  ///
  /// 0 with a pooler, which decides about them itself.
  private var connectionsInReload: Int {
    guard pooler == .none else { return 0 }
    var database = DatabaseSettings(conninfo: "", applicationName: "")
    database.writeConnections = writeConnections
    return workers * database.allConnections * 2
  }

  /// Assembles the dependencies of the domain.
  ///
  /// - Parameters:
  ///   - database: the database.
  ///   - pools: the thread pools.
  ///   - sendsMail: whether mail can be queued.
  ///   - report: receives errors for the operator.
  /// - Returns: the dependencies.
  @EventLoop package func dependencies(
    on database: Database, _ pools: Pools, sendsMail: Bool,
    report: @escaping @EventLoop (String) -> Void
  ) -> Dependencies {
    let keys = Keyring(master: masterKey, database: database)
    let pages = AppPages(languages, issuer: issuer)
    // Each kind of call has its own places, so that a slow receiver delays no sign-in.
    let (keySets, notices) = (HTTPSource(issuerSource), HTTPSource(noticeSource))
    let apps = Apps(
      database: database, .all, fallback: app, age: appCacheTTL, complain: report)
    let dependencies = Dependencies(
      database: database,
      keys: keys,
      calculator: pools.calculator,
      services: [
        AccessTokens(keys: keys, issuer: issuer),
        apps,
        MailQueue(
          isConfigured: sendsMail, pages: MailPages(issuer: issuer, usualApp: app), design: pages,
          report: report
        ),
        pages,
        ServiceAddress(fallback: issuer),
        DeploymentCheck(
          ReadinessCheck(database, masterKey, app: app), mail: mail, host: HostName.own,
          version: Version.text, connections: connectionsInReload
        ),
        ConsoleAddress(console.origin(besides: issuer)),
        Console(isOn: console != .off, host: console.host, networks: consoleNetworks),
        PasswordHasher(pool: pools.passwords, cost: hashingCost),
        BreachedPasswordCheck(breachedPasswords, pool: pools.files),
        ExternalTokens(database: database, source: keySets, keys: keys), LogoutSender(notices),
        WebhookCalls(outgoingSource),
        LogStreamSender(
          outgoingSource, syslog: syslogSocket,
          SyslogSender(host: HostName.own, process: Int(getpid()), version: Version.text)),
        Upstream(HTTPSource(issuerSource), allowsPlainHTTP: issuerSource.allowsPlainHTTP),
        PictureService(
          decoder: PictureDecoder(program: pictureProgram, pool: pools.pictures),
          shelf: PictureStorage(folder: pictureFolder, pool: pools.files)
        ),
      ]
    )
    dependencies.appWithID = { [unowned apps] in apps.known($0) }
    return dependencies
  }
}

extension RecordShape {
  /// The settings of all features and wires.
  package static let all = RecordShape([
    AccountSettings.self, PasskeySettings.self, SessionSettings.self, LimitSettings.self,
    BrowserSettings.self,
    DocumentSettings.self, EventSettings.self, MailSettings.self, AppTexts.self,
    BrandingSettings.self,
    SignOutSettings.self,
    AppServicesSettings.self, ParraSettings.self, ManagementSettings.self,
  ])
}

extension AppCatalog {
  /// The settings and data of all features and wires.
  package static let all = AppCatalog(
    settings: .all,
    parts: [
      DocumentSchemas.self, IndexedDocuments.self, ClientOrigins.self, NativeApps.self,
      UserDataAPI.self, AppConnections.self, AppWebhooks.self, AppLogStreams.self,
    ]
  )
}
