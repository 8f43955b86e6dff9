package import EventLoop
import Glibc
import PictureContract

/// Turns uploaded files into pictures that can be shown to others, by `dossier-pictures`.
///
/// Each file is decoded by a process of its own that can only read it and write the answer. A thread
/// waits for each process, so that the loop does not; the pool's threads bound how many run, and its
/// queue how many wait. Each takes at most `PictureLimits.memory`.
@EventLoop package final class PictureDecoder {
  private let program: Subprocess
  private let pool: BlockingPool
  private let deadline: Duration
  private let patience: Duration

  /// - Parameters:
  ///   - program: the path of `dossier-pictures`.
  ///   - pool: of its own; a thread for each process that may run at once. A core each is enough:
  ///     decoding waits for nothing.
  ///   - deadline: how long a process may take, after which it is killed. More than
  ///     `PictureLimits.processorTime`, which stops it earlier on an idle machine.
  ///   - patience: how long an upload may wait for its turn.
  package init(
    program: String,
    pool: BlockingPool,
    deadline: Duration = .seconds(20),
    patience: Duration = .seconds(10)
  ) {
    self.program = Subprocess(path: program)
    self.pool = pool
    self.deadline = deadline
    self.patience = patience
  }

  /// Decodes, turns upright, strips of metadata and fits into 1024 x 1024 pixels, never enlarging.
  ///
  /// - Parameter file: as uploaded; its kind is told by its bytes and not by what a client says.
  /// - Returns: of an animation the first frame.
  /// - Throws: see `PictureFailure`; nothing is kept of a file that is refused.
  package func decode(_ file: [UInt8]) async throws(PictureFailure) -> Picture {
    guard file.count <= PictureLimits.input else { throw .tooLarge(limit: PictureLimits.input) }
    let latest = EventLoop.now() &+ patience.nanoseconds
    let run: Result<Subprocess.Outcome, PictureFailure>
    do throws(BlockingPoolError) {
      run = try await pool.run { [program, deadline] in
        guard EventLoop.now() < latest else {
          return .failure(.overloaded(retryAfter: .seconds(5)))
        }
        do throws(EventLoopError) {
          // The header line takes less than 64 bytes.
          let limit = PictureLimits.output + 64
          return .success(try program.run(input: file, limit: limit, deadline: deadline))
        } catch {
          return .failure(.unforeseen(error.description))
        }
      }
    } catch {
      throw .overloaded(retryAfter: .seconds(5))
    }
    let outcome = try run.get()
    guard outcome.ending == .exited(PictureStatus.success.rawValue) else {
      throw PictureFailure(outcome)
    }
    guard let picture = Picture(outcome.output) else { throw .hostile(signal: 0) }
    return picture
  }
}

extension PictureFailure {
  /// Reads how a run has ended without a picture.
  fileprivate init(_ outcome: Subprocess.Outcome) {
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
    // The system was short of memory.
    case .killed(SIGKILL): self = .overloaded(retryAfter: .seconds(5))
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
