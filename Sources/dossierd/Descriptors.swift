import Glibc

/// How many files a process may have open.
enum Descriptors {
  /// What a worker needs beside nginx's connections: the database's, pipes, uploads under way.
  private static let others = 64

  /// Asks for as many as the connections need, and says when that is more than there are.
  ///
  /// Connections that find no descriptor wait; the workers inherit the limit.
  static func tell(needed connections: Int) {
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    let needed = rlim_t(connections + others)
    guard getrlimit(resource, &limit) == 0, limit.rlim_cur < needed else { return }
    limit.rlim_cur = min(needed, limit.rlim_max)
    setrlimit(resource, &limit)
    getrlimit(resource, &limit)
    guard limit.rlim_cur < needed else { return }
    Log.write(
      "error",
      "only \(limit.rlim_cur) files may be open (ulimit -n, LimitNOFILE), "
        + "and \(connections) connections need \(needed)"
    )
  }
}
