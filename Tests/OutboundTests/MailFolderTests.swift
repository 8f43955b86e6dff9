import EventLoop
import FoundationEssentials
import Glibc
import Outbound
import TestSupport
import Testing

/// Tests mail delivery into a folder.
@Suite struct MailFolderTests {
  init() { LoopThread.start() }

  private func message(_ subject: String) throws -> MailMessage {
    try MailMessage(
      from: MailAddress("dossier@example.com"), to: MailAddress("ada@example.com", name: "Ada"),
      subject: subject, text: "https://example.com/confirm?token=1\n.\n", html: "<p>Ü</p>"
    )
  }

  @EventLoop private func send(_ messages: [MailMessage], to folder: String) async throws(MailError)
  {
    let relay = try MailRelay(MailRelaySettings(.folder(folder)))
    for message in messages { try await relay.send(message) }
  }

  @Test func `each message is a complete private file, named by time`() async throws {
    let folder = try Workplace.shared.makeFolder()
    let messages = try (0..<20).map { try message("Grüße \($0)") }
    try await send(messages, to: folder)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    #expect(names.count == 20)
    #expect(names.allSatisfy { $0.hasSuffix(".eml") && $0.utf8.count == 23 + 1 + 32 + 4 })
    for (name, message) in zip(names, messages) {
      let bytes = try Array(Data(contentsOf: URL(filePath: "\(folder)/\(name)")))
      #expect(bytes == message.composed())
    }
    var state = stat()
    stat("\(folder)/\(names.first ?? "")", &state)
    #expect(state.st_mode & 0o777 == 0o600)
    let parsed = try await ParsedMessage.read(names.map { "\(folder)/\($0)" })
    for (one, message) in zip(parsed, messages) { one.expectToBe(message) }
  }

  @Test func `a missing folder is an error of the configuration`() async throws {
    let message = try message("x")
    for path in ["/nowhere/mail", "/etc/passwd", "", "/tmp\0"] {
      await #expect(throws: MailError.self) { try await send([], to: path) }
    }
    let folder = try Workplace.shared.makeFolder()
    await #expect {
      try await sendAfterRemoving(message, folder)
    } throws: { error in
      guard case MailError.misconfigured = error else { return false }
      return true
    }
  }

  @EventLoop private func sendAfterRemoving(
    _ message: MailMessage, _ folder: String
  ) async throws(MailError) {
    let relay = try MailRelay(MailRelaySettings(.folder(folder)))
    rmdir(folder)
    try await relay.send(message)
  }
}
