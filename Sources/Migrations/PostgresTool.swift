import CPostgres
import FoundationEssentials
import Glibc

/// Another program, run to its end.
enum PostgresTool {
  struct Result {
    var status: Int32
    var output: String
    var errors: String
  }

  /// Holds up the caller until it has ended.
  ///
  /// - Returns: a status other than 0 also when it could not be started.
  static func run(
    _ path: String,
    _ arguments: [String],
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> Result {
    var output: [Int32] = [-1, -1]
    var errors: [Int32] = [-1, -1]
    guard pipe(&output) == 0, pipe(&errors) == 0 else {
      return Result(status: -1, output: "", errors: "no pipe")
    }
    for descriptor in output + errors { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, output[1], 1)
    posix_spawn_file_actions_adddup2(&actions, errors[1], 2)
    var words = ([path] + arguments).map { strdup($0) } + [nil]
    var variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { (words + variables).forEach { free($0) } }
    var child = pid_t()
    let code = posix_spawn(&child, path, &actions, nil, &words, &variables)
    close(output[1])
    close(errors[1])
    let texts = readAll([output[0], errors[0]])
    guard code == 0 else {
      return Result(status: -1, output: "", errors: String(cString: strerror(code)))
    }
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0, errno == EINTR {}
    return Result(status: status, output: texts[0], errors: texts[1])
  }

  /// Reads several pipes at once, so that none fills up.
  private static func readAll(_ descriptors: [Int32]) -> [String] {
    var texts = descriptors.map { _ in [UInt8]() }
    var polls = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while polls.contains(where: { $0.fd >= 0 }) {
      guard poll(&polls, nfds_t(polls.count), -1) >= 0 || errno == EINTR else { break }
      for index in polls.indices where polls[index].fd >= 0 && polls[index].revents != 0 {
        let count = read(polls[index].fd, &buffer, buffer.count)
        if count > 0 {
          texts[index] += buffer[..<count]
        } else {
          close(polls[index].fd)
          polls[index].fd = -1
        }
      }
    }
    return texts.map { String(decoding: $0, as: UTF8.self) }
  }
}

/// Where pg_dump connects: the password goes by the environment, which other users cannot read.
struct DumpTarget {
  let conninfo: String
  let environment: [String: String]

  init(_ conninfo: String) throws(MigrationError) {
    guard let options = PQconninfoParse(conninfo, nil) else {
      throw .cannotConnect("the connection string is malformed")
    }
    defer { PQconninfoFree(options) }
    var words: [String] = []
    var environment = ProcessInfo.processInfo.environment
    var option = options
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.val.map({ String(cString: $0) }) {
        let keyword = String(cString: keyword)
        if keyword == "password" {
          environment["PGPASSWORD"] = value
        } else {
          let escaped = value.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
          words.append("\(keyword)='\(escaped)'")
        }
      }
      option += 1
    }
    self.conninfo = words.joined(separator: " ")
    self.environment = environment
  }
}
