import Imaging
import Accounts
import Delivery
import OpenID
import OpenIDWire
package import Runtime
import Sessions
import Tenancy
import WireKit
package import EventLoop
import Outbound
package import Postgres

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
    let pages = AppPages()
    // Each kind of call has its own places, so that a slow receiver delays no sign-in.
    let (keySets, notices) = (HTTPSource(issuerSource), HTTPSource(noticeSource))
    return Dependencies(
      database: database,
      keys: keys,
      calculator: pools.calculator,
      services: [
        AccessTokens(keys: keys, issuer: issuer),
        Apps(database: database, .all, fallback: app, age: appCacheTTL, complain: report),
        MailQueue(
          isConfigured: sendsMail, pages: MailPages(issuer: issuer, usualApp: app), design: pages,
          report: report
        ),
        pages,
        ServiceAddress(fallback: issuer),
        PasswordHasher(pool: pools.passwords, cost: hashingCost),
        BreachedPasswordCheck(breachedPasswords, pool: pools.files),
        ExternalTokens(database: database, source: keySets, keys: keys), LogoutSender(notices),
        PictureService(
          decoder: PictureDecoder(program: pictureProgram, pool: pools.pictures),
          shelf: PictureStorage(folder: pictureFolder, pool: pools.files)
        ),
      ]
    )
  }
}
