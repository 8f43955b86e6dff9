import Configuration
import Glibc

/// The limit on the files that a process may open.
enum Descriptors {
  /// Raises the limit for the workers, and logs an error if the hard limit is too low.
  ///
  /// Connections without a descriptor wait. The workers inherit the limit.
  static func raise(for configuration: Configuration) {
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    let needed = rlim_t(configuration.files)
    guard getrlimit(resource, &limit) == 0, limit.rlim_cur < needed else { return }
    limit.rlim_cur = min(needed, limit.rlim_max)
    setrlimit(resource, &limit)
    getrlimit(resource, &limit)
    guard limit.rlim_cur < needed else { return }
    Log.write(
      "error",
      "only \(limit.rlim_cur) files may be open (ulimit -n, LimitNOFILE), "
        + "and \(configuration.connections) connections need \(needed)"
    )
  }
}
