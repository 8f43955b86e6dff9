package import EventLoop
package import Outbound

/// Sends what the domain has to say by mail.
///
/// In the background: nobody who asks for mail learns by the time it takes whether any was sent.
@EventLoop package final class Mailer {
  private let relay: MailRelay?
  private let report: @EventLoop (String) -> Void
  /// Waits before each further attempt.
  private static let delays: [Duration] = [.seconds(2), .seconds(20)]

  /// - Parameters:
  ///   - relay: takes the mail; nil when the operator has not said how it is sent.
  ///   - report: hears, for the operator, of mail that could not be sent.
  package init(relay: MailRelay?, report: @escaping @EventLoop (String) -> Void) {
    self.relay = relay
    self.report = report
  }

  var isConfigured: Bool { relay != nil }

  /// Tells the operator of a mail that nobody will get.
  func lose(_ reason: String) { report("mail is lost: \(reason)") }

  /// Sends a message in the background.
  func send(_ message: MailMessage) { EventLoop.task { [self] in _ = await deliver(message) } }

  /// Sends a message; returns whether it was accepted for sending.
  func deliver(_ message: MailMessage) async -> Bool {
    guard let relay else { return false }
    for delay in Self.delays + [.zero] {
      do throws(MailError) {
        try await relay.send(message)
        return true
      } catch {
        guard delay != .zero, error.isPassing else {
          lose("\(error)")
          return false
        }
        await EventLoop.sleep(for: delay)
      }
    }
    return false
  }
}

extension MailError {
  fileprivate var isPassing: Bool {
    switch self {
    case .tryAgain, .overloaded, .misconfigured: true
    case .refused, .notConfigured: false
    }
  }
}
