package import EventLoop
package import Postgres

/// The database, the keys, the pools and the services that the functions of the domain use.
///
/// A process has one.
@EventLoop package final class Dependencies {
  package let database: Database
  package let keys: Keyring
  package let tokens: AccessTokens
  package let passwords: PasswordHasher
  package let apps: Apps
  package let mailer: MailQueue
  package let external: ExternalTokens
  package let pictures: PictureService
  /// Threads for `calculate`.
  let calculator: FairPool
  /// Serializes concurrent writers of one document.
  let revisions = KeyedMutex()

  package init(
    database: Database,
    keys: Keyring,
    tokens: AccessTokens,
    passwords: PasswordHasher,
    apps: Apps,
    mailer: MailQueue,
    external: ExternalTokens,
    pictures: PictureService,
    calculator: FairPool
  ) {
    self.database = database
    self.keys = keys
    self.tokens = tokens
    self.passwords = passwords
    self.apps = apps
    self.mailer = mailer
    self.external = external
    self.pictures = pictures
    self.calculator = calculator
  }
}
