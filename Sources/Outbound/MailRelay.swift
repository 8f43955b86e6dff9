package import EventLoop

/// Where Dossier's mail goes: the operator's SMTP relay, or a folder.
///
/// It neither keeps nor repeats messages: what `.tryAgain` means is the caller's to decide.
@EventLoop package final class MailRelay {
  private let pool: BlockingPool
  private let deliver: @Sendable (MailMessage) -> MailError?

  /// Looks at the settings; talks to nobody yet.
  ///
  /// - Parameters:
  ///   - pool: each message holds one of its threads, for about `settings.reach.timeout` at most.
  ///   - settings: of the operator.
  /// - Throws: `.misconfigured`, saying what is wrong with the settings.
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

  /// Hands a message on.
  ///
  /// It returns when the relay has taken the responsibility, or the file is written. A task that is
  /// cancelled waits for that all the same.
  /// - Throws: `MailError`; `.overloaded` when the pool is full.
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

/// How mail is sent.
package struct MailRelaySettings: Sendable {
  package enum Destination: Sendable {
    /// Nowhere: every message is answered with `.notConfigured`.
    case none
    case relay(SMTPRelay)
    /// The path of a folder that exists; each message becomes one file in it, see `MailFolder`.
    case folder(String)
  }

  package var destination: Destination
  /// 5 s to connect, 30 s in total: relays that look up who we are answer slowly.
  package var reach = Reach(connectTimeout: .seconds(5), timeout: .seconds(30))

  package init(_ destination: Destination = .none) { self.destination = destination }

  package var isSomewhere: Bool { if case .none = destination { false } else { true } }

  /// What is wrong with the settings; nil when mail can be tried.
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

  /// What keeps mail from being sent now; nil when it can be sent.
  ///
  /// Connects, and logs in where that is needed. Blocks, for about `reach.timeout` at most.
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

/// A relay that takes mail for all the world from us.
package struct SMTPRelay: Sendable {
  package enum StartTLS: Sendable {
    /// Nothing but EHLO is said before.
    case required
    /// Taken when offered. Whoever sits between can remove the offer, and then reads all, the
    /// password too: for a relay on the same machine.
    case optional
  }

  /// `smtp://host[:port]` (port 25; submission is 587) or `smtps://host[:port]` (port 465, TLS from
  /// the first byte).
  package var url: String
  /// For `smtp://` alone.
  package var startTLS = StartTLS.required
  /// Logs in when there is one, by the strongest mechanism that the relay offers.
  package var user: String?
  package var password: String?
  /// The name said in EHLO; nil for that of the machine.
  package var clientName: String?

  package init(url: String) { self.url = url }
}
