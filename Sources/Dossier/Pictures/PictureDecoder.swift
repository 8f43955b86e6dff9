package import EventLoop
import Glibc
import PictureContract

/// Turns uploaded files into pictures that can be shown to others, by `dossier-pictures`.
///
/// Each file is decoded by a process of its own that can only read it and write the answer. A thread
/// waits for each process, so that the loop does not; the pool's threads bound how many run, and its
/// room how many wait, and of whom. Each takes at most `PictureLimits.memory`.
@EventLoop package final class PictureDecoder {
  private let program: Subprocess
  private let pool: FairPool
  private let deadline: Duration

  /// - Parameters:
  ///   - program: the path of `dossier-pictures`.
  ///   - pool: of its own; a thread for each process that may run at once. A core each is enough:
  ///     decoding waits for nothing.
  ///   - deadline: how long a process may take, after which it is killed. More than
  ///     `PictureLimits.processorTime`, which stops it earlier on an idle machine.
  package init(program: String, pool: FairPool, deadline: Duration = .seconds(20)) {
    self.program = Subprocess(path: program)
    self.pool = pool
    self.deadline = deadline
  }

  /// Decodes, turns upright, strips of metadata and fits into 1024 x 1024 pixels, never enlarging.
  ///
  /// - Parameters:
  ///   - file: as uploaded; its kind is told by its bytes and not by what a client says.
  ///   - owner: for whom; nil for the server itself.
  /// - Returns: of an animation the first frame.
  /// - Throws: `.picture`, after which nothing is kept of the file; `.tooManyAtOnce`, `.overloaded`.
  package func decode(
    _ file: [UInt8],
    for owner: (any JobOwner)?
  ) async throws(Failure) -> Picture {
    guard file.count <= PictureLimits.input else {
      throw .picture(.tooLarge(limit: PictureLimits.input))
    }
    let latest = EventLoop.now() &+ pool.patience.nanoseconds
    let run: Result<Subprocess.Completion, EventLoopError>
    do throws(FairQueueError) {
      run = try await pool.run(for: owner, until: latest) { [program, deadline] in
        Result { () throws(EventLoopError) in
          // The header line takes less than 64 bytes.
          let limit = PictureLimits.output + 64
          return try program.run(input: file, limit: limit, deadline: deadline)
        }
      }
    } catch {
      throw Failure(error, retryAfter: Self.wait)
    }
    switch run {
    case .failure(let error): throw .picture(.unforeseen(error.description))
    case .success(let outcome):
      guard outcome.ending == .exited(PictureStatus.success.rawValue) else {
        // The system was short of memory.
        if case .killed(SIGKILL) = outcome.ending { throw .overloaded(retryAfter: Self.wait) }
        throw .picture(PictureFailure(outcome))
      }
      guard let picture = Picture(outcome.output) else { throw .picture(.hostile(signal: 0)) }
      return picture
    }
  }

  /// In which some pictures are done.
  private static let wait = Duration.seconds(5)
}

extension PictureFailure {
  /// Reads how a run has ended without a picture.
  fileprivate init(_ outcome: Subprocess.Completion) {
    switch outcome.ending {
    case .exited(let status):
      self =
        PictureStatus(rawValue: status).flatMap(PictureFailure.init)
        ?? .unforeseen(
          "dossier-pictures ended with \(status): "
            + String(
              decoding: outcome.complaint.map { 0x20..<0x7f ~= $0 ? $0 : 0x20 },
              as: UTF8.self
            )
        )
    case .outOfTime: self = .tooSlow
    case .killed(let signal): self = .hostile(signal: signal)
    case .tooMuchOutput: self = .hostile(signal: 0)
    }
  }

  /// What the file is to blame for; nil for other statuses.
  private init?(_ status: PictureStatus) {
    switch status {
    case .tooLarge: self = .tooLarge(limit: PictureLimits.input)
    case .notAccepted: self = .notAccepted
    case .truncated: self = .truncated
    case .damaged: self = .damaged
    case .tooManyPixels: self = .tooManyPixels(limit: PictureLimits.pixels)
    case .tooSlow: self = .tooSlow
    case .tooMuchMemory: self = .tooMuchMemory
    case .success, .unforeseen: return nil
    }
  }
}
