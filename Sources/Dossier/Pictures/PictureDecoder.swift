package import EventLoop
import Glibc
import PictureContract

/// Decodes uploaded files into safe pictures, with the program `dossier-pictures`.
///
/// A separate process decodes each file, and can only read the file and write the result. A pool
/// thread waits for each process, so that the loop does not. The pool limits how many processes
/// run, and how many uploads of each owner wait. Each process takes at most `PictureLimits.memory`.
@EventLoop package final class PictureDecoder {
  private let program: Subprocess
  private let pool: FairPool
  private let deadline: Duration

  /// - Parameters:
  ///   - program: the path of `dossier-pictures`.
  ///   - pool: a separate pool with one thread per concurrent process. One process per core is
  ///     enough, since decoding is not blocked by I/O.
  ///   - deadline: the time after which a process is killed. It is longer than
  ///     `PictureLimits.processorTime`, which stops it earlier on an idle machine.
  package init(program: String, pool: FairPool, deadline: Duration = .seconds(20)) {
    self.program = Subprocess(path: program)
    self.pool = pool
    self.deadline = deadline
  }

  /// Decodes a file, turns it upright, strips metadata and shrinks it to fit 1024 x 1024 pixels.
  ///
  /// - Parameters:
  ///   - file: the uploaded file; its first bytes determine its format, not the client's
  ///     `Content-Type`.
  ///   - owner: the owner of the work; nil for the server itself.
  /// - Returns: the picture, or the first frame of an animation.
  /// - Throws: `.picture`, after which nothing of the file is stored; `.tooManyAtOnce`,
  ///   `.overloaded`.
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

  /// Enough time to decode some pictures.
  private static let wait = Duration.seconds(5)
}

extension PictureFailure {
  /// Maps the end of a run without a picture.
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

  /// Maps a status caused by the file; returns nil for other statuses.
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
