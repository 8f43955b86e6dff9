import Imaging
import Runtime
import EventLoop
import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// The files of `pictures.py`, made once for each run, and decoders for them.
final class Studio: Sendable {
  static let shared = Task { try await Studio() }
  let folder: String

  private init() async throws {
    LoopThread.start()
    folder = "/tmp/dossier-pictures-\(getpid())"
    mkdir(folder, 0o755)
    atexit {
      try? FileManager.default.removeItem(atPath: "/tmp/dossier-pictures-\(getpid())")
    }
    _ = try await Self.python("make", folder, "/usr/bin/heif-enc")
  }

  /// The path of the program, which is in the folder of the tests.
  static var program: String {
    get throws {
      let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      return "/" + own.split(separator: "/").dropLast().joined(separator: "/") + "/dossier-pictures"
    }
  }

  func file(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(filePath: "\(folder)/\(name)")))
  }

  /// Writes a script that replaces the program.
  func script(_ text: String) async throws -> String {
    let path = "\(folder)/script-\(UInt64.random(in: 0 ... .max))"
    try await TestProgram.write(script: text, to: path)
    return path
  }

  /// Returns Pillow's view: format, mode, size, colours of the quarters, range of alpha, metadata.
  func look(at picture: Picture) async throws -> Sight {
    let path = "\(folder)/seen-\(UInt64.random(in: 0 ... .max))"
    try Data(picture.bytes).write(to: URL(filePath: path))
    defer { unlink(path) }
    let line = try await Self.python("look", path)
    let words = line.split(separator: "\n")[0].split(
      separator: "|", omittingEmptySubsequences: false
    )
    .map(String.init)
    return Sight(
      format: words[0], mode: words[1], size: words[2], quarters: words[3], alpha: words[4],
      metadata: Array(words.dropFirst(5))
    )
  }

  struct Sight {
    let format: String
    let mode: String
    let size: String
    let quarters: String
    let alpha: String
    let metadata: [String]
  }

  /// Returns the colours of the quarters of each picture: lists of red, green and blue.
  func colours(of pictures: [Picture]) async throws -> [[[Int]]] {
    let folder = "\(folder)/seen-\(UInt64.random(in: 0 ... .max))"
    mkdir(folder, 0o755)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let paths = pictures.indices.map { "\(folder)/\($0)" }
    for (path, picture) in zip(paths, pictures) {
      try Data(picture.bytes).write(to: URL(filePath: path))
    }
    return try await Self.python(["colours"] + paths).split(separator: "\n").map(Self.colours)
  }

  /// Returns the right colours of a file of `colours.py`.
  func rightColours(of name: String) throws -> [[Int]] {
    Self.colours(in: String(decoding: try file("\(name).right"), as: UTF8.self))
  }

  private static func colours(in text: some StringProtocol) -> [[Int]] {
    text.split { $0.isWhitespace }.map { $0.split(separator: ",").compactMap { Int($0) } }
  }

  private static func python(_ words: String...) async throws -> String {
    try await python(words)
  }

  private static func python(_ words: [String]) async throws -> String {
    let own = String(#filePath.dropLast("Studio.swift".count)) + "pictures.py"
    let program = try TestProgram("/usr/bin/python3", ["-B", own] + words)
    let status = await program.end()
    try #require(status == 0, "pictures.py \(words): \(program.errors)")
    return program.output
  }
}

/// The quarters of every upright picture.
let upright = "red,green,blue,white"

@EventLoop private let pool = FairPool(
  name: "pictures",
  threads: 2,
  // All cases of all tests wait at once.
  waiting: 100_000,
  patience: .seconds(86_400)
)

/// Uploads bytes to the real program or a replacement.
///
/// - Throws: errors that the picture does not cause.
@EventLoop func upload(
  _ bytes: [UInt8], program: String? = nil, pool own: FairPool? = nil,
  for owner: (any JobOwner)? = nil, deadline: Duration = .seconds(86_400)
) async throws -> Result<Picture, Failure> {
  let decoder = PictureDecoder(
    program: try program ?? Studio.program, pool: own ?? pool, deadline: deadline
  )
  do throws(Failure) {
    return .success(try await decoder.decode(bytes, for: owner))
  } catch {
    return .failure(error)
  }
}

/// Uploads one of the files.
func upload(_ name: String) async throws -> Result<Picture, Failure> {
  try await upload(Studio.shared.value.file(name))
}

extension Result<Picture, Failure> {
  /// The error; nil for a picture.
  var refusal: Failure? {
    if case .failure(let failure) = self { failure } else { nil }
  }

  /// The reason for the operator's log; nil without one.
  var report: String? {
    if case .failure(let failure) = self { failure.report } else { nil }
  }
}
