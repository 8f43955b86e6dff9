internal import EventLoop
internal import Glibc

/// A folder that stands for a relay in development and tests.
///
/// One file a message: `20251121T073000.123456Z-<32 hexadecimal digits>.eml`, the time of writing in
/// UTC to the microsecond, so that names sort by time (of one machine's clock). It holds exactly the
/// bytes that a relay would get before dot-stuffing: ASCII, lines ended by CR LF, sender and recipient
/// in `From` and `To`. Mail programs open it, as does Python's `email.message_from_binary_file` with
/// `policy.default`.
///
/// A file appears whole: it is written as `.<name>.tmp` and renamed. It is not synchronised to the
/// disk. Only its owner may read it (mode 0600): messages carry links that let one in. Nobody ever
/// removes a file.
struct MailFolder: Sendable {
  private let path: String

  /// - Throws: `.misconfigured` when it is no folder in which we may write.
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
    let code = write(message.composed(), to: draft)
    if code == 0, unsafe rename(draft, "\(path)/\(name)") == 0 { return nil }
    let reason = code == 0 ? errno : code
    unsafe unlink(draft)
    let text = "\(path): \(systemMessage(reason))"
    return switch reason {
    case ENOENT, ENOTDIR, EACCES, EPERM, EROFS: .misconfigured(text)
    default: .tryAgain(code: nil, reason: text)
    }
  }

  /// - Returns: the number of the error; 0 when all is written.
  private func write(_ bytes: [UInt8], to file: String) -> Int32 {
    let descriptor = unsafe open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return errno }
    defer { close(descriptor) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes {
        unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
      }
      if count < 0, errno != EINTR { return errno }
      rest = rest.dropFirst(max(0, count))
    }
    return 0
  }
}
