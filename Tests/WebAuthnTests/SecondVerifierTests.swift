import Encoding
import FoundationEssentials
import JSON
import TestSupport
import Testing
import WebAuthn

/// Compares results with those of `webauthn` of PyPI for the same responses.
///
/// `deploy/test` installs it.
@Suite struct SecondVerifierTests {
  private static let package = "\(SourceFiles.repository)/.build/test-tools/webauthn"
  private static let isInstalled = FileManager.default.fileExists(atPath: package)

  /// A change of the response of an authenticator, and the verdict of each verifier.
  private struct Change: Sendable {
    let name: String
    let isValid: Bool
    /// Whether the other verifier agrees, or is known to be more lenient.
    let isValidThere: Bool
    let apply: @Sendable (inout TestAuthenticator) -> Void

    init(
      _ name: String, valid isValid: Bool = false, there isValidThere: Bool? = nil,
      _ apply: @escaping @Sendable (inout TestAuthenticator) -> Void
    ) {
      (self.name, self.isValid) = (name, isValid)
      (self.isValidThere, self.apply) = (isValidThere ?? isValid, apply)
    }
  }

  /// The other verifier ignores frames, extra members of a key and bytes of unknown meaning.
  private static let changes = [
    Change("none", valid: true) { _ in },
    Change("another origin") { $0.origin = "https://example.org.evil" },
    Change("another port") { $0.origin = "https://example.org:444" },
    Change("another RP ID") { $0.relyingPartyID = "example.com" },
    Change("another type") { $0.clientMembers = [("type", "payment.get")] },
    Change("another challenge") { $0.clientMembers = [("challenge", "AAAA")] },
    Change("no challenge") { $0.clientMembers = [("challenge", nil)] },
    Change("extra member", valid: true) { $0.clientMembers = [("extra", "a")] },
    Change("crossOrigin", there: true) { $0.clientMembers = [("crossOrigin", true)] },
    Change("topOrigin", there: true) {
      $0.clientMembers = [("topOrigin", "https://example.com")]
    },
    Change("no user present") { $0.flags = 0x04 },
    Change("no user verified") { $0.flags = 0x01 },
    Change("reserved bits", valid: true) { $0.flags |= 0x22 },
    Change("backed up without eligibility") { $0.flags |= 0x10 },
    Change("extensions", valid: true) {
      ($0.flags, $0.appendix) = ($0.flags | 0x80, CBOR.map(["a": .bool(true)]).encoded)
    },
    Change("bytes at the end") { $0.appendix = [0] },
    Change("extensions without bytes") { $0.flags |= 0x80 },
    Change("another type of credential") { $0.credentialMembers = [("type", "password")] },
    Change("no response") { $0.credentialMembers = [("response", nil)] },
    Change("ids that differ") { $0.credentialMembers = [("rawId", "AQ")] },
  ]

  private static let signatures = [
    Change("a signature with a byte more") { $0.changeSignature = { $0 + [0] } },
    Change("a signature with a byte less") { $0.changeSignature = { $0.dropLast() } },
    Change("an altered signature") {
      $0.changeSignature = { $0.dropLast() + [($0.last ?? 0) ^ 1] }
    },
    Change("a larger counter", valid: true) { $0.signCount = 6 },
    Change("the same counter") { $0.signCount = 5 },
    Change("a smaller counter") { $0.signCount = 0 },
  ]

  private struct Case {
    let name: String
    let isValid: Bool
    let expected: Bool
    let expectedThere: Bool
    let line: String
  }

  /// Returns the cases of an algorithm, each with the result of our verifier.
  private static func cases(_ algorithm: SignatureAlgorithm) throws -> [Case] {
    let authenticator = try TestAuthenticator(algorithm)
    let created = try Fixtures.register(authenticator)
    let registrations = try changes.map { change in
      var changed = authenticator
      change.apply(&changed)
      let isValid = (try? Fixtures.register(changed)) != nil
      return try Self.case(change, isValid, changed.create(Fixtures.challenge), nil)
    }
    return try registrations
      + (changes + signatures).map { change in
        var (changed, record) = (authenticator, created)
        changed.signCount = 7
        record.signCount = 5
        change.apply(&changed)
        let isValid = (try? Fixtures.signIn(changed, record)) != nil
        return try Self.case(change, isValid, changed.get(Fixtures.challenge), record)
      }
  }

  private static func `case`(
    _ change: Change, _ isValid: Bool, _ credential: JSON, _ record: CredentialRecord?
  ) throws -> Case {
    let line: JSON = [
      "credential": credential, "challenge": .string(Fixtures.challenge.base64URL),
      "rp_id": "example.org", "origin": "https://example.org",
      "public_key": record.map { .string($0.publicKey.base64URL) } ?? .null,
      "sign_count": .number(JSONNumber(Int(record?.signCount ?? 0))),
    ]
    return Case(
      name: "\(change.name), \(record == nil ? "registration" : "sign-in")", isValid: isValid,
      expected: change.isValid, expectedThere: change.isValidThere, line: line.text)
  }

  @Test(.enabled(if: isInstalled, "the package webauthn is installed by deploy/test"))
  func `responses get the results of another implementation`() async throws {
    let cases = try SignatureAlgorithm.allCases.flatMap(Self.cases)
    let file = "/tmp/dossier-passkeys-\(UInt64.random(in: 0 ... .max))"
    try (cases.map(\.line).joined(separator: "\n") + "\n")
      .write(toFile: file, atomically: false, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: file) }
    let script = "\(SourceFiles.repository)/Tests/WebAuthnTests/second_verifier.py"
    let program = try TestProgram(
      "/usr/bin/python3", ["-B", script, file], environment: ["PYTHONPATH": Self.package])
    try #require(await program.end() == 0, "\(program.errors)")
    let verdicts = program.output.split(separator: "\n")
    try #require(verdicts.count == cases.count)
    for (one, verdict) in zip(cases, verdicts) {
      #expect(one.isValid == one.expected, "\(one.name)")
      #expect((verdict == "valid") == one.expectedThere, "\(one.name): \(verdict)")
    }
  }
}
