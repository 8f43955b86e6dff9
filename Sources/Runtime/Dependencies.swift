package import EventLoop
package import Postgres

/// A service that a module of the domain keeps for a process, such as the queue of mails.
@EventLoop package protocol DomainService: AnyObject {}

/// The database, the keys, the pools and the services that the functions of the domain use.
///
/// A process has one.
@EventLoop package final class Dependencies {
  package let database: Database
  package let keys: Keyring
  /// Threads for `calculate`.
  package let calculator: FairPool
  /// Serializes concurrent writers of one document.
  package let revisions = KeyedMutex()
  /// Returns an app if it is loaded.
  package var appWithID: @EventLoop (AppID) -> App? = { _ in nil }
  /// Called after the commit of an event that is to be published; nil if the process publishes none.
  package var onEvent: (@EventLoop () -> Void)?
  /// Called for each event that is sent to the audit log, with its action; nil if none counts them.
  package var onAudit: (@EventLoop (String) -> Void)?
  /// A linear search of this short list is faster than hashing.
  private let services: [(type: ObjectIdentifier, service: any DomainService)]

  package init(
    database: Database, keys: Keyring, calculator: FairPool, services: [any DomainService]
  ) {
    (self.database, self.keys, self.calculator) = (database, keys, calculator)
    self.services = services.map { (ObjectIdentifier(type(of: $0)), $0) }
  }

  /// Returns the service of a type; the process must have been given it.
  package subscript<Service: DomainService>(_ type: Service.Type) -> Service {
    for (known, service) in services where known == ObjectIdentifier(type) {
      return unsafeDowncast(service, to: type)
    }
    preconditionFailure("The process has no \(type).")
  }
}
