package import Runtime
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
  /// - Throws: an error of the file, which is then not stored; `.tooManyRequests`, `.overloaded`.
  package func decode(
    _ file: [UInt8], for owner: (any JobOwner)?
  ) async throws(Failure) -> Picture {
    guard file.count <= PictureLimits.input else {
      throw .bodyTooLarge(above: PictureLimits.input)
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
    case .failure(let error): throw .internalError(reason: error.description)
    case .success(let outcome):
      guard outcome.ending == .exited(PictureStatus.success.rawValue) else {
        // The system was short of memory.
        if case .killed(SIGKILL) = outcome.ending { throw .overloaded(retryAfter: Self.wait) }
        throw Failure(outcome)
      }
      guard let picture = Picture(outcome.output) else { throw Failure(hostileBySignal: 0) }
      return picture
    }
  }

  /// Enough time to decode some pictures.
  private static let wait = Duration.seconds(5)
}

extension Failure {
  /// Maps the end of a run without a picture.
  fileprivate convenience init(_ outcome: Subprocess.Completion) {
    switch outcome.ending {
    case .exited(let status):
      let output = outcome.complaint.map { 0x20..<0x7f ~= $0 ? $0 : 0x20 }
      let text = String(decoding: output, as: UTF8.self)
      self.init(
        PictureStatus(rawValue: status) ?? .unforeseen,
        "dossier-pictures ended with \(status): \(text)"
      )
    case .outOfTime: self.init(.pictureTooComplex)
    case .killed(let signal): self.init(hostileBySignal: signal)
    case .tooMuchOutput: self.init(hostileBySignal: 0)
    }
  }

  /// Maps a status; `report` is for the operator, if the file is not the cause.
  private convenience init(_ status: PictureStatus, _ report: String) {
    switch status {
    case .tooLarge: self.init(.bodyTooLarge(limit: PictureLimits.input))
    case .notAccepted: self.init(.pictureType)
    case .truncated: self.init(.pictureTruncated)
    case .damaged: self.init(.pictureDamaged)
    case .tooManyPixels: self.init(.picturePixels(limit: PictureLimits.pixels))
    case .tooSlow, .tooMuchMemory: self.init(.pictureTooComplex)
    case .success, .unforeseen: self.init(.internalError(reason: report))
    }
  }

  /// Creates the error for a file that made the decoder crash or attempt something forbidden.
  ///
  /// - Parameter signal: the signal that ended the decoder; 0 if its output was not a picture.
  fileprivate convenience init(hostileBySignal signal: Int32) {
    self.init(.pictureDamaged(reason: "a picture ended its decoder by signal \(signal)"))
  }
}
