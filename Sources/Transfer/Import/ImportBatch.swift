import Accounts
internal import Crypto
import EventLoop
package import JSON
package import Postgres
package import Runtime

/// The writes for the rows of one transaction.
struct ImportBatch {
  /// Nil for a user who is created singly.
  private let `import`: ImportID?
  private(set) var writes: [ImportWrite] = []

  init(import id: ImportID?) { `import` = id }

  /// Adds a row to the batch, and returns its outcome.
  mutating func add(
    _ row: ImportedUser, _ match: ImportMatch, _ action: ImportAction
  ) -> (UserID?, ImportResult.Outcome) {
    switch action {
    case .fail(let user, let faults): return (user, .failed(faults))
    case .skip(let user): return (user, .skipped)
    case .create(let user):
      let isVerified = row.isVerified ?? false
      writes.append(ImportWrite(row, match, user, stored: nil, isVerified: isVerified))
      return (user, .created)
    case .update(let user, let wasVerified):
      let isVerified = row.isVerified ?? wasVerified
      writes.append(ImportWrite(row, match, user.id, stored: user, isVerified: isVerified))
      return (user.id, .updated)
    }
  }

  /// Runs `body`, which examines and writes rows, and repeats it after a conflict.
  ///
  /// Another transaction may create one of the users, or take an address or identity, between the
  /// two steps. The next examination then finds its changes.
  /// - Throws: errors of `body`; `.identityTaken` only after several attempts.
  @EventLoop static func repeating<Outcome>(
    _ body: @EventLoop () async throws(Failure) -> Outcome
  ) async throws(Failure) -> Outcome {
    for _ in 0..<8 {
      do throws(Failure) {
        return try await body()
      } catch .identityTaken {
        continue
      }
    }
    return try await body()
  }

  /// Writes the batch.
  ///
  /// - Throws: `.identityTaken` if another transaction has created one of the users, or has taken
  ///   an address or identity, since the rows were examined.
  @EventLoop func write(in transaction: Transaction) async throws(Failure) {
    let context = transaction.context
    guard !writes.isEmpty else { return }
    let writing = ImportWriting(transaction: transaction)
    try await writing.write(writes)
    guard let `import` else { return }
    // The events name no session, as the rows have none.
    let place = EventPlace(session: nil, device: nil)
    for write in writes {
      let status: JSON = write.stored == nil ? "created" : "updated"
      let detail: JSON = ["import": .string(`import`.text), "status": status]
      Event("user_import", of: write.user, at: place, detail: detail)
        .record(in: transaction, by: context.principal)
    }
  }
}

/// A position in an input, at the end of a line.
package struct InputPosition: Sendable {
  package private(set) var lines = 0
  package private(set) var bytes = 0
  private var hash = SHA256()

  package init() {}

  /// Advances past a line, including its line end.
  package mutating func pass(_ line: some Collection<UInt8>, isEnd: Bool = true) {
    if let done: Void = line.withContiguousStorageIfAvailable({
      hash.update(bufferPointer: UnsafeRawBufferPointer($0))
    }) {
      done
    } else {
      hash.update(data: Array(line))
    }
    bytes += line.count
    if isEnd { lines += 1 }
  }

  /// Binds the position to other data, which must be the same if the import is resumed.
  package mutating func bind(to data: BinaryBytes) { hash.update(data: data.bytes) }

  /// The hash of everything read so far.
  package var digest: BinaryBytes { BinaryBytes(Array(hash.finalize())) }
}

/// The stored progress of an import.
package struct ImportProgress: RowDecodable, Sendable {
  package let id: ImportID
  /// The finished lines and bytes of the input.
  package let lines: Int
  package let bytes: Int
  let digest: BinaryBytes
  package internal(set) var tally: ImportTally
  /// The offset of the last batch's results among all results, in bytes.
  package let resultsBefore: Int
  /// The last batch's results, until the import is finished.
  package let results: [UInt8]

  package init(from row: Row) throws(DatabaseError) {
    id = ImportID(trusted: try row.text(0))
    lines = try row.int(1)
    bytes = try row.int(2)
    digest = BinaryBytes(try row.binary(3))
    tally = ImportTally()
    tally.created = try row.int(4)
    tally.updated = try row.int(5)
    tally.skipped = try row.int(6)
    tally.failed = try row.int(7)
    resultsBefore = try row.int(8)
    results = try row.bytes(9)
  }

  /// Returns whether the input read so far is the same as in the earlier run.
  package func isBehind(_ position: InputPosition) -> Bool {
    position.lines == lines && position.bytes == bytes
      && (bytes == 0 || position.digest == digest)
  }
}

/// The counts of results of an import.
package struct ImportTally: Sendable, Equatable {
  package internal(set) var created = 0
  package internal(set) var updated = 0
  package internal(set) var skipped = 0
  package internal(set) var failed = 0

  package init() {}

  package var rows: Int { created + updated + skipped + failed }

  package var json: JSON {
    [
      "rows": .number(JSONNumber(rows)), "created": .number(JSONNumber(created)),
      "updated": .number(JSONNumber(updated)), "skipped": .number(JSONNumber(skipped)),
      "failed": .number(JSONNumber(failed)),
    ]
  }

  mutating func count(_ outcome: ImportResult.Outcome) {
    switch outcome {
    case .created: created += 1
    case .updated: updated += 1
    case .skipped: skipped += 1
    case .failed: failed += 1
    }
  }
}

/// The result of one line.
package struct ImportResult: Sendable {
  package enum Outcome: Sendable {
    case created
    case updated
    case skipped
    case failed([FieldError])

    var isWritten: Bool {
      switch self {
      case .created, .updated: true
      case .skipped, .failed: false
      }
    }
  }

  package let line: Int
  package let user: UserID?
  package let outcome: Outcome
  /// The parts of the line that were not imported, with the reasons.
  package let leftOut: [FieldError]

  /// `line, id, status, errors, left_out`, as a line of JSON.
  package var text: String {
    var object = JSONObject()
    object["line"] = .number(JSONNumber(line))
    if let user { object["id"] = .string(user.text) }
    switch outcome {
    case .created: object["status"] = "created"
    case .updated: object["status"] = "updated"
    case .skipped: object["status"] = "skipped"
    case .failed(let faults):
      object["status"] = "failed"
      object["errors"] = FieldError.json(of: faults)
    }
    if !leftOut.isEmpty { object["left_out"] = FieldError.json(of: leftOut) }
    return JSON.object(object).text + "\n"
  }
}
