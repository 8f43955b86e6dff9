import Glibc

/// The limit on the files that a process may open.
enum Descriptors {
  /// The descriptors that a worker needs for anything but nginx's connections: the database, pipes,
  /// uploads.
  private static let others = 64

  /// Raises the limit for the connections, and logs an error if the hard limit is too low.
  ///
  /// Connections without a descriptor wait. The workers inherit the limit.
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
