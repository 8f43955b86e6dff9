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
  package let mailer: Mailer
  package let external: ExternalTokens
  package let pictures: PictureStudio
  /// Threads for `calculate`.
  let calculator: FairPool
  /// Serializes concurrent writers of one document.
  let revisions = Turns()

  package init(
    database: Database,
    keys: Keyring,
    tokens: AccessTokens,
    passwords: PasswordHasher,
    apps: Apps,
    mailer: Mailer,
    external: ExternalTokens,
    pictures: PictureStudio,
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
