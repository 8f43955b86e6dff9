internal import EventLoop
internal import Glibc

/// A folder that replaces a relay in development and tests.
///
/// Each message is one file: `20251121T073000.123456Z-<32 hexadecimal digits>.eml`. The name begins
/// with the time of writing, in UTC to the microsecond. So names sort by time (of one machine's
/// clock). The file contains exactly the bytes that a relay would get before dot-stuffing. They are
/// ASCII with CR LF line ends, and `From` and `To` name the sender and the recipient. Mail programs
/// can open it, and so can Python's `email.message_from_binary_file` with `policy.default`.
///
/// A file appears atomically: it is written as `.<name>.tmp` and renamed, but not synchronised to
/// the disk. Only its owner may read it (mode 0600), since messages contain login links. Files are
/// never removed. A write blocks the caller, which a folder of a developer may.
struct MailFolder: Sendable {
  private let path: String

  /// Opens a folder.
  ///
  /// - Throws: `.misconfigured` if the path is not a writable folder.
  init(path: String) throws(MailError) {
    self.path = path
    var state = stat()
    guard !path.utf8.contains(0), unsafe stat(path, &state) == 0 else {
      throw .misconfigured("there is no folder \(path)")
    }
    guard state.st_mode & S_IFMT == S_IFDIR, unsafe access(path, W_OK | X_OK) == 0 else {
      throw .misconfigured("\(path) is no folder to write in")
    }
  }

  func store(_ message: MailMessage) -> MailError? {
    var now = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &now)
    let microseconds = String(1_000_000 + now.tv_nsec / 1_000).dropFirst()
    let time = Clock.text(now.tv_sec, "%Y%m%dT%H%M%S")
    let name = "\(time).\(microseconds)Z-\(MailMessage.random()).eml"
    let draft = "\(path)/.\(name).tmp"
    if write(message.composed(), to: draft), unsafe rename(draft, "\(path)/\(name)") == 0 {
      return nil
    }
    let reason = errno
    unsafe unlink(draft)
    let text = "\(path): \(systemMessage(reason))"
    return switch reason {
    case ENOENT, ENOTDIR, EACCES, EPERM, EROFS: .misconfigured(text)
    default: .tryAgain(code: nil, reason: text)
    }
  }

  /// Writes a new file; returns false if a call fails, and leaves its `errno`.
  private func write(_ bytes: [UInt8], to file: String) -> Bool {
    let descriptor = unsafe open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return false }
    let isWritten = Output.write(bytes, to: descriptor)
    let reason = errno
    close(descriptor)
    errno = reason
    return isWritten
  }
}
