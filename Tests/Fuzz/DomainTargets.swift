import Glibc
import JSON
import Migrations
import Postgres
@testable import Accounts
@testable import Documents
@testable import Events
@testable import Runtime
@testable import Transfer
import Outbound
import Telemetry
import TestSupport

extension FuzzTarget {
  static let filters = FuzzTarget(
    "filters",
    words: ProfileMember.allCases.map(\.rawValue)
      + FilterOperator.allCases.map { " \($0.rawValue) " } + [
        "metadata.", "app_metadata.", "custom_data.", "\"a b\"", "and ", "or ", "not ", "in (",
        "exists", "true", "false", "(", ")", "\"2026-01-31\"", "\"2026-01-31T12:00:00+15:59\"",
        "1e308", "-0", "\"\\u0041\"", "\"\\ud83d\\ude00\"", "metadata.text", "metadata.number",
        "user.*", "user.created,", "session.ended", "AAAAAAAAACrW0pVt5x7oF9kNfQ8",
        "0123456789abcdef01234567.", "WsOpbWlsZQ", "https://", "[::1]", ":8443", "0x7f000001",
        "MjAyMC0wMi0yOSAxMjowMDowMCswMA", "00-0af7651916cd43dd8448eb211c80319c-",
        "b7ad6b7169203331-01",
      ],
    bound: MemoryBound(factor: 60, base: 131_072)
  ) { input in
    let filter = text(input)
    _ = try? SampleSearch.sql(filter)
    // The cursor of a sorted list, without its order.
    if let position = UserPosition(filter) {
      expect(UserPosition(position.description) == position, "\(filter) is another position")
      _ = UserSort.allCases.map { $0.isOrder(of: position) }
    }
    if let bytes = MarkedCursor.bytes(of: filter, count: 8, isMarked: { _, mark in mark.count > 0 })
    {
      expect(bytes.count == 8, "\(filter) has other bytes")
    }
    if let url = try? ReceiverURL(filter) {
      expect(!url.host.isEmpty && (443...65_535).contains(url.port), "\(filter) has no host")
    }
    if let trace = TraceContext(Array(filter.utf8).span) {
      expect(trace.parent != 0 && trace.trace.high | trace.trace.low != 0, "\(filter) has no ids")
    }
    if let types = EventTypes(matching: filter) { expect(!types.isEmpty, "\(filter) has no types") }
    if let (document, names) = try? Filter.path(filter) {
      let spelled = Filter.spelled(document, names)
      let again = try? Filter.path(spelled)
      expect(
        again?.document == document
          && again?.names.map { Array($0.utf8) } == names.map { Array($0.utf8) },
        "\(spelled) is read as another path"
      )
    }
    guard let found = try? Filter.parse(filter) else { return }
    expect(found.terms.count <= FilterLimits.terms, "there are \(found.terms.count) terms")
    let marked = "name exists and (\(filter))"
    guard marked.utf8.count <= FilterLimits.length, found.terms.count < FilterLimits.terms,
      let sql = try? SampleSearch.sql(marked)
    else { return }
    // A client's text is only in parameters, never in a statement.
    for term in found.terms {
      guard case .compares(_, .text(let value)) = term.test, value.utf8.count >= 12 else {
        continue
      }
      expect(!sql.contains { $0.contains(value) }, "\(value) is in the statement")
    }
  }

  /// The lines of an import, one user each.
  static let imports = FuzzTarget(
    "imports",
    isJSON: true,
    words: [
      "id", "email", "email_verified", "password_hash", "name", "given_name", "family_name",
      "nickname", "phone", "locale", "zone", "blocked", "created_at", "identities", "provider",
      "subject", "metadata", "app_metadata", "custom_data", "properties", "jwt:web",
      "0123456789abcdef01234567", "ada@example.com", "Ada <ada@example.com>", "de-CH", "zh-Hans-CN",
      "Europe/Zurich", "+41441234567", "2025-04-30T12:00:00Z", "1970-01-01T00:00:00-14:59",
      "$2b$10$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234",
      "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g",
      "$argon2id$v=19$m=4294967295,t=18446744073709551615,p=1$c29tZXNhbHQ$aGFzaA",
      "$scrypt$ln=17,r=8,p=1$c29tZXNhbHQ$aGFzaA", "pbkdf2_sha256$600000$salt$aGFzaA==",
      "$pbkdf2-sha512$i=210000,l=64$c2FsdA$aGFzaA",
    ],
    bound: MemoryBound(factor: 200, base: 1_048_576)
  ) { input in
    let lines = lines(input).prefix(8)
    var batch = ImportBatch(import: nil)
    for line in lines {
      do throws(Failure) {
        let row = try ImportedUser(line, stringLimit: 128)
        _ = batch.add(row, ImportMatch(emailKey: row.email), .create(UserID()))
      } catch let error where error.is(.invalid) {
        expect(!error.faults.isEmpty, "a row is refused without a fault")
        for fault in error.faults {
          expect(JSONPointer(fault.place) != nil, "\(fault.place) is no pointer")
        }
      } catch {
        fatalError("a row is refused otherwise: \(error)")
      }
    }
    var credentials = ImportedCredentials()
    for write in batch.writes {
      expectStorable(.object(write.members), "the members of a user")
      credentials.add(write, to: [])
    }
    expectStorable(.array(credentials.passwords), "the passwords of a batch")
    expectStorable(.array(credentials.identities), "the identities of a batch")
    expectStorable(.array(credentials.subjects), "the subjects of a batch")
  }

  static let migrations = FuzzTarget(
    "migrations",
    words: [
      "-- migrate: up\n", "-- migrate: down\n", "-- migrate: irreversible because\n",
      "-- migrate: no transaction\n", "create index concurrently if not exists a on only b (c);\n",
      "drop index concurrently \"a\".\"b\"\"c\";\n", "/*", "*/", "$$", "$tag$", "E'\\'", "''",
      "\"\"",
      "create or replace function f() begin atomic ", "case ", "end;", "set x to 1;", "--", "\r\n",
      "SELECT pg_catalog.set_config('a', 'b');", "\\restrict x\n", ";",
    ],
    bound: MemoryBound(factor: 200, base: 262_144)
  ) { input in
    let text = text(input)
    _ = SchemaDump.normalized(text)
    do throws(MigrationError) {
      let migration = try Migration(file: "0001_fuzz.sql", text: text)
      expect(!migration.up.isEmpty, "a migration does nothing")
      let other = try Migration(file: "0001_fuzz.sql", text: crossed(text))
      expect(other.checksum == migration.checksum, "the checksum depends on the ends of lines")
      let entry = Ledger.Entry(version: 1, name: "fuzz", checksum: "", down: migration.undoing)
      let kept = try Migration.kept(entry)
      expect(kept.undoing == migration.undoing, "what is kept of a migration is not read back")
      expect(kept.down.text == migration.down.text, "the ledger undoes another thing")
      for script in [migration.up, migration.down] {
        _ = (script.concurrentIndex, script.isConcurrentIndexCreation, script.objection)
        let last = script.line + script.text.unicodeScalars.count { $0 == "\n" }
        expect(script.line(of: .max) == last, "an error is behind the end")
      }
    } catch .badFile(_, let line, _) {
      expect(line ?? 1 >= 1, "there is no line \(line ?? 1)")
    } catch {
      fatalError("a file is refused otherwise: \(error)")
    }
  }

  /// Returns the text with CRLF line ends.
  private static func crossed(_ text: String) -> String {
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      if byte == UInt8(ascii: "\n") {
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        bytes.append(UInt8(ascii: "\r"))
      }
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
