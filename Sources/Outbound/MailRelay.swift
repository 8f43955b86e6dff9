package import EventLoop

/// The destination of Dossier's mail: the operator's SMTP relay, or a folder.
///
/// It neither stores nor repeats messages. The caller decides how to handle `.tryAgain`.
@EventLoop package final class MailRelay {
  private let pool: BlockingPool
  private let deliver: @Sendable (MailMessage) -> MailError?

  /// Checks the settings without a connection.
  ///
  /// - Parameters:
  ///   - pool: the threads. Each message uses one for about `settings.reach.timeout` at most.
  ///   - settings: the operator's settings.
  /// - Throws: `.misconfigured` with the error in the settings.
  package init(pool: BlockingPool, settings: MailRelaySettings) throws(MailError) {
    self.pool = pool
    switch settings.destination {
    case .none: deliver = { _ in .notConfigured }
    case .folder(let path):
      let folder = try MailFolder(path: path)
      deliver = { folder.store($0) }
    case .relay(let relay):
      let delivery = try SMTPDelivery(relay, settings.reach)
      deliver = { delivery.send($0) }
    }
  }

  /// Sends a message.
  ///
  /// It returns when the relay has accepted the message, or the file is written. A cancelled task
  /// still waits for that.
  /// - Throws: `MailError`; `.overloaded` if the pool is full.
  package func send(_ message: MailMessage) async throws(MailError) {
    let deliver = deliver
    let error: MailError?
    do throws(BlockingPoolError) {
      error = try await pool.run { deliver(message) }
    } catch {
      throw .overloaded
    }
    if let error { throw error }
  }
}

/// The settings of mail delivery.
package struct MailRelaySettings: Sendable {
  package enum Destination: Sendable {
    /// No destination: every message fails with `.notConfigured`.
    case none
    case relay(SMTPRelay)
    /// The path of an existing folder; each message becomes a file there, see `MailFolder`.
    case folder(String)
  }

  package var destination: Destination
  /// 5 s to connect, 30 s in total: relays that look up the client's name respond slowly.
  package var reach = TransferTimeouts(connectTimeout: .seconds(5), timeout: .seconds(30))

  package init(_ destination: Destination = .none) { self.destination = destination }

  package var isSomewhere: Bool { if case .none = destination { false } else { true } }

  /// The error in the settings; nil if they are valid.
  package var fault: String? {
    do throws(MailError) {
      switch destination {
      case .none: break
      case .folder(let path): _ = try MailFolder(path: path)
      case .relay(let relay): _ = try SMTPDelivery(relay, reach)
      }
      return nil
    } catch {
      return error.description
    }
  }

  /// The error that currently prevents delivery; nil if mail can be sent.
  ///
  /// It connects, and logs in if necessary. It blocks for about `reach.timeout` at most.
  package var faultNow: String? {
    if let fault { return fault }
    do throws(MailError) {
      guard case .relay(let relay) = destination else { return nil }
      return try SMTPDelivery(relay, reach).greet()?.description
    } catch {
      return error.description
    }
  }
}

/// An SMTP relay that accepts our mail for any recipient.
package struct SMTPRelay: Sendable {
  package enum StartTLS: Sendable {
    /// Before TLS, only EHLO is sent.
    case required
    /// Use TLS if the relay offers it, for a relay on the same machine.
    ///
    /// An attacker on the network can remove the offer, and then reads everything, including the
    /// password.
    case optional
  }

  /// `smtp://host[:port]` (port 25; submission is 587) or `smtps://host[:port]` (port 465, TLS from
  /// the first byte).
  package var url: String
  /// Applies only to `smtp://`.
  package var startTLS = StartTLS.required
  /// The user name; with it, logs in by the strongest mechanism that the relay offers.
  package var user: String?
  package var password: String?

  package init(url: String) { self.url = url }
}
