import Administration
import ArgumentParser
import CommandKit
import EventLoop
import Glibc
import JSON
import Runtime
import Transfer

/// Keeps deleted users deleted after a restore.
struct EraseCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "erase",
    abstract: "Keeps a ledger of deleted users, and deletes them again after a restore.",
    discussion: """
      The ledger is a file beside the backups with the ids of deleted users, one a line, without other \
      data of them. It is made of the audit log, so the first run finds the deletions of \
      audit_retention_days. Users of deleted apps and merged users are not in it.

        dossier erase --record /var/lib/dossier/erasures.ndjson
        dossier erase --replay /var/lib/dossier/erasures.ndjson --yes

      Both can be repeated, also after they were killed. A user who was created again after the deletion \
      stays. An administrator is only named: use dossier administrator delete.
      """)
  @OptionGroup var common: CommonOptions
  @OptionGroup var confirmation: Confirmation

  @Option(
    help: ArgumentHelp("Adds the deletions that the ledger does not have.", valueName: "file"))
  var record: String?

  @Option(
    help: ArgumentHelp(
      "Deletes the users of the ledger that a restored database has again.", valueName: "file"))
  var replay: String?

  @Option(
    help: ArgumentHelp(
      "With --record: removes older deletions. Keep more than the age of the oldest backup.",
      valueName: "days"))
  var keepDays = 400

  func validate() throws {
    guard (record == nil) != (replay == nil) else {
      throw ValidationError("Give either --record or --replay.")
    }
    guard (1...36_500).contains(keepDays) else {
      throw ValidationError("--keep-days must be a number from 1 to 36500.")
    }
  }

  func run() throws {
    common.run(isLarge: true) { context async throws(CommandFailure) in
      if let record { return try await add(to: record, context) }
      return try await deleteAgain(by: replay ?? "", context)
    }
  }

  // MARK: Record

  @EventLoop private func add(
    to path: String, _ context: CommandContext
  ) async throws(CommandFailure) -> CommandOutput {
    var ledger = try LedgerFile(path)
    let (known, last, old) = try await ledger.read(keeping: keepDays)
    if old > 0 { try await ledger.prune(keeping: keepDays) }
    // An event may be stored some seconds after one with a greater id.
    let start = Timestamp(microseconds: max(0, (last ?? 60) - 60) * 1_000_000).text
    let query = [("action", "user_delete"), ("from", start), ("order", "oldest")]
    var count = 0
    var cursor: String?
    repeat {
      let page = try await context.events(query, size: PageLimit.most, after: cursor)
      let new = (page.json.array ?? []).filter { !known.contains($0["id"]?.string ?? "") }
        .compactMap(Erasure.init(event:))
      try ledger.add(new)
      count += new.count
      cursor = page.next
    } while cursor != nil
    return CommandOutput(["added": .number(JSONNumber(count)), "removed": .number(JSONNumber(old))])
  }

  // MARK: Replay

  @EventLoop private func deleteAgain(
    by path: String, _ context: CommandContext
  ) async throws(CommandFailure) -> CommandOutput {
    // The whole ledger is read before the first deletion, so that a damaged one deletes no user.
    var total = 0
    try await LedgerFile.each(of: path) { _ in total += 1 }
    try confirmation.ask("Delete those of \(total) erased users that the database has again?")
    var counts: [Erasure.Outcome: Int] = [:]
    var left: [String] = []
    try await LedgerFile.each(of: path) { erasure async throws(CommandFailure) in
      let outcome = try await context.run { context async throws(Failure) in
        try await erasure.replay(context)
      }
      counts[outcome, default: 0] += 1
      if outcome == .administrator { left.append(erasure.user.text) }
    }
    var members = JSONObject()
    for outcome in Erasure.Outcome.allCases {
      members[outcome.rawValue] = .number(JSONNumber(counts[outcome] ?? 0))
    }
    let remark = left.isEmpty ? nil : "administrators stay: \(left.joined(separator: ", "))"
    return CommandOutput(.object(members), remark: remark)
  }
}

/// The file of a ledger, which one process writes at a time.
@EventLoop private struct LedgerFile {
  private let path: String
  private var descriptor: Int32

  /// Opens the file, and creates a missing one; only its owner may read it.
  ///
  /// - Throws: an error if another process writes it, or it cannot be opened.
  init(_ path: String) throws(CommandFailure) {
    self.path = path
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0o600)
    guard descriptor >= 0 else { throw Self.failure(path) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw Self.busy(path)
    }
    // Another process may have replaced the file before the lock.
    var (own, named) = (stat(), stat())
    guard fstat(descriptor, &own) == 0, stat(path, &named) == 0, own.st_ino == named.st_ino else {
      throw Self.busy(path)
    }
  }

  private static func busy(_ path: String) -> CommandFailure {
    CommandFailure("\(path): another process writes the ledger", .conflict)
  }

  private static func failure(_ path: String) -> CommandFailure {
    CommandFailure("\(path): \(String(cString: strerror(errno)))", .files)
  }

  /// Returns the events of the last minutes, the second of the last deletion, and how many lines are
  /// older than some days.
  ///
  /// A run that was killed may have left the start of a line, which is removed.
  func read(
    keeping days: Int
  ) async throws(CommandFailure) -> (known: Set<String>, last: Int?, old: Int) {
    try removeUnfinishedLine()
    let first = Timestamp.now.seconds - days * 86_400
    var recent: [(id: String, second: Int)] = []
    var (last, old) = (Int?.none, 0)
    try await Self.each(of: path) { erasure in
      let second = Self.second(of: erasure)
      if second < first { old += 1 }
      last = max(last ?? second, second)
      recent.append((erasure.event.text, second))
      // Lines are almost in the order of their times.
      if recent.count > 20_000 {
        let start = (last ?? 0) - 300
        recent.removeAll { $0.second < start }
      }
    }
    return (Set(recent.map(\.id)), last, old)
  }

  /// The time of the event, which its id begins with.
  private static func second(of erasure: Erasure) -> Int {
    Int(erasure.event.text.prefix(8), radix: 16) ?? 0
  }

  private func removeUnfinishedLine() throws(CommandFailure) {
    let size = lseek(descriptor, 0, SEEK_END)
    let longest = Erasure.longestLine
    let start = max(0, Int(size) - longest)
    var end = [UInt8](repeating: 0, count: Int(size) - start)
    guard size >= 0, pread(descriptor, &end, end.count, off_t(start)) == end.count else {
      throw Self.failure(path)
    }
    guard let last = end.last, last != UInt8(ascii: "\n") else { return }
    let kept = end.lastIndex(of: UInt8(ascii: "\n")).map { start + $0 + 1 } ?? start
    // A text without lines is no ledger.
    guard kept > 0 || Int(size) < longest else {
      throw CommandFailure("\(path): this is no ledger of erasures", .files)
    }
    guard ftruncate(descriptor, off_t(kept)) == 0 else { throw Self.failure(path) }
  }

  /// Adds deletions, which are on the disk when it returns.
  func add(_ erasures: [Erasure]) throws(CommandFailure) {
    guard !erasures.isEmpty else { return }
    try Self.write(erasures.flatMap(\.line), to: descriptor, path)
  }

  /// Removes the deletions older than some days, and takes the new file.
  mutating func prune(keeping days: Int) async throws(CommandFailure) {
    let first = Timestamp.now.seconds - days * 86_400
    let new = "\(path).new"
    let copy = open(new, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_APPEND, 0o600)
    guard copy >= 0, flock(copy, LOCK_EX | LOCK_NB) == 0 else { throw Self.failure(new) }
    var kept: [UInt8] = []
    try await Self.each(of: path) { erasure async throws(CommandFailure) in
      guard Self.second(of: erasure) >= first else { return }
      kept += erasure.line
      guard kept.count > 65_536 else { return }
      try Self.write(kept, to: copy, new)
      kept = []
    }
    try Self.write(kept, to: copy, new)
    guard rename(new, path) == 0 else { throw Self.failure(path) }
    // The lock of the former file stays until the process ends.
    descriptor = copy
  }

  private static func write(
    _ bytes: [UInt8], to descriptor: Int32, _ path: String
  ) throws(CommandFailure) {
    var written = 0
    while written < bytes.count {
      let count = bytes[written...].withUnsafeBytes {
        Glibc.write(descriptor, $0.baseAddress, $0.count)
      }
      guard count > 0 else { throw failure(path) }
      written += count
    }
    guard fsync(descriptor) == 0 else { throw failure(path) }
  }

  /// Calls a function with each line of a ledger.
  ///
  /// - Throws: an error with the number of the first line that is invalid.
  static func each(
    of path: String, _ body: @EventLoop (Erasure) async throws(CommandFailure) -> Void
  ) async throws(CommandFailure) {
    let lines = try LineReader(opening: path)
    var number = 0
    while let line = try await lines.next() {
      number += 1
      guard case .text(let bytes) = line, let erasure = Erasure(line: bytes) else {
        throw CommandFailure("\(path), line \(number): this is no line of a ledger", .files)
      }
      try await body(erasure)
    }
  }
}
