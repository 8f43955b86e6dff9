import CPostgres

/// The hosts of a connection string, as keywords that override it.
///
/// Without blocking, libpq waits endlessly for a silent host and never tries the next one. So each
/// host is tried alone, with a share of the time.
struct ConnectionHosts {
  /// Keywords and values for each host; a single empty list if there is at most one host.
  let overrides: [[(String, String)]]

  init(_ conninfo: String) {
    let lists = Self.lists(of: conninfo)
    let count = max(lists["host"]?.count ?? 0, lists["hostaddr"]?.count ?? 0)
    guard count > 1, lists.values.allSatisfy({ $0.count == count || $0.count == 1 }) else {
      // One host, or an error that libpq reports.
      overrides = [[]]
      return
    }
    overrides = (0..<count).map { index in
      lists.map { name, values in (name, values.count == 1 ? values[0] : values[index]) }
    }
  }

  /// Returns the values of `host`, `hostaddr` and `port` in a connection string.
  private static func lists(of conninfo: String) -> [String: [String]] {
    guard let options = unsafe PQconninfoParse(conninfo, nil) else { return [:] }
    defer { unsafe PQconninfoFree(options) }
    var lists: [String: [String]] = [:]
    var option = unsafe options
    while let keyword = unsafe option.pointee.keyword {
      let name = unsafe String(cString: keyword)
      if ["host", "hostaddr", "port"].contains(name), let value = unsafe option.pointee.val {
        lists[name] = unsafe String(cString: value)
          .split(separator: ",", omittingEmptySubsequences: false).map(String.init)
      }
      unsafe option += 1
    }
    return lists
  }
}
