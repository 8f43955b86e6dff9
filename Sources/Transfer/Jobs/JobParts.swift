import EventLoop
import Postgres
import Runtime

/// An encrypted part of the input or the results of a job.
struct SealedPart: RowDecodable {
  let name: String
  private let sealed: [UInt8]

  init(from row: Row) throws(DatabaseError) {
    name = try row.text(0)
    sealed = try row.binary(1)
  }

  /// Decrypts the part.
  ///
  /// - Throws: `.internalError` if no master key does.
  func opened(of job: JobID, by master: MasterKey) throws(Failure) -> [UInt8] {
    guard let bytes = master.opened(sealed, as: "job \(job) \(name)") else {
      throw .internalError(reason: "this master key does not decrypt a part of the job \(job)")
    }
    return bytes
  }
}

/// The parts of a job in the database.
@EventLoop struct JobParts {
  let job: JobID

  /// The most bytes of a part, before its encryption.
  private nonisolated static let size = 262_144
  /// The bytes by which the encryption makes a part longer.
  nonisolated static let overhead = 28

  nonisolated static func name(ofUpload number: Int, _ place: Int) -> String {
    "in \(digits(number, 3)) \(digits(place, 3))"
  }

  /// The start of the names of an upload's parts.
  nonisolated static func start(ofUpload number: Int) -> String { "in \(digits(number, 3)) " }

  nonisolated static func name(ofResult number: Int) -> String { "out \(digits(number, 8))" }

  private nonisolated static func digits(_ number: Int, _ count: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
  }

  /// Encrypts bytes as parts, on a thread if they are many.
  ///
  /// - Throws: `.overloaded`, `.internalError`.
  func sealed(
    _ bytes: [UInt8], named name: @escaping @Sendable (Int) -> String, _ context: RequestContext
  ) async throws(Failure) -> [(name: String, sealed: BinaryBytes)] {
    let (job, master) = (job, context.keys.master)
    return try await context.calculate(on: bytes.count) { () throws(Failure) in
      var parts: [(name: String, sealed: BinaryBytes)] = []
      for start in stride(from: 0, to: bytes.count, by: Self.size) {
        let part = Array(bytes[start..<min(start + Self.size, bytes.count)])
        let name = name(parts.count)
        parts.append((name, BinaryBytes(try master.sealed(part, as: "job \(job) \(name)"))))
      }
      return parts
    }
  }

  func send(_ parts: [(name: String, sealed: BinaryBytes)], in transaction: Transaction) {
    for part in parts {
      _ = transaction.send(JobPartQueries.insert, job, part.name, part.sealed)
    }
  }
}

/// Reads the lines of the input of a job.
@EventLoop struct JobInput {
  private let parts: JobParts
  private var lines = LineSplitter()
  private var last = ""
  private var isOver = false

  var position: InputPosition { lines.position }

  init(of job: JobID) { parts = JobParts(job: job) }

  /// Returns the next line; nil at the end.
  ///
  /// - Throws: `.databaseUnavailable`, `.internalError`.
  mutating func next(_ context: RequestContext) async throws(Failure) -> LineSplitter.Line? {
    while true {
      if let line = lines.next(isOver: isOver) { return line }
      guard !isOver else { return nil }
      guard let part = try await self.part(context) else {
        isOver = true
        continue
      }
      lines.add(part)
    }
  }

  /// Returns the bytes of the next part; nil at the end.
  private mutating func part(_ context: RequestContext) async throws(Failure) -> [UInt8]? {
    let found = try await context.read(JobPartQueries.nextInput, parts.job, last, on: .exclusive)
    guard let part = found.first else { return nil }
    last = part.name
    return try part.opened(of: parts.job, by: context.keys.master)
  }

  /// Returns the users of the input, one in each line.
  ///
  /// - Throws: as `next`.
  static func users(of job: JobID, _ context: RequestContext) async throws(Failure) -> [UserID] {
    var input = JobInput(of: job)
    var users: [UserID] = []
    while let line = try await input.next(context) {
      if case .text(let text) = line, let user = UserID(String(decoding: text, as: UTF8.self)) {
        users.append(user)
      }
    }
    return users
  }

  /// Returns users as an input.
  static func bytes(of users: [UserID]) -> [UInt8] {
    users.flatMap { Array($0.text.utf8) + [0x0a] }
  }
}
