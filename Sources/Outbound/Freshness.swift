internal import CCurl
internal import Glibc

/// The freshness lifetime of a response, computed from its fields.
package enum Freshness {
  /// Returns the remaining lifetime of a response when it arrives.
  ///
  /// `Cache-Control` takes precedence over `Expires`. `no-store`, `no-cache` and malformed values
  /// mean zero.
  /// - Parameters:
  ///   - cacheControl: the values of the field, joined by commas; likewise the others.
  ///   - expires: a date, compared with `date`.
  ///   - date: the time of the response; nil for now.
  ///   - age: the seconds that the response has spent in caches.
  /// - Returns: at most a year; nil if the fields do not state a lifetime.
  /// - Source: RFC 9111 §4.2, §5.2.2, §5.3.
  package static func lifetime(
    cacheControl: String?, expires: String?, date: String?, age: String?
  ) -> Duration? {
    guard let stated = stated(cacheControl, expires: expires, date: date) else { return nil }
    let spent = age.flatMap { Int($0) } ?? 0
    // Both values come from another machine, so clamp them before the subtraction.
    return .seconds(max(0, min(stated, 31_536_000) - min(max(0, spent), 31_536_000)))
  }

  private static func stated(_ cacheControl: String?, expires: String?, date: String?) -> Int? {
    var shortest: Int?
    for directive in (cacheControl ?? "").split(separator: ",") {
      let parts = directive.split(separator: "=", maxSplits: 1).map { part in
        part.filter { $0 != " " && $0 != "\t" && $0 != "\"" }.lowercased()
      }
      switch parts.first {
      case "no-store", "no-cache": return 0
      case "max-age":
        // A number beyond the range of integers means no limit. Other text is an error and means
        // zero.
        let digits = parts.count == 2 ? parts[1] : ""
        let isNumber = !digits.isEmpty && digits.utf8.allSatisfy { (0x30...0x39).contains($0) }
        let seconds = isNumber ? Int(digits) ?? .max : 0
        shortest = min(shortest ?? .max, seconds)
      default: break
      }
    }
    if let shortest { return shortest }
    guard let expires else { return nil }
    let end = unsafe curl_getdate(expires, nil)
    let start = date.map { unsafe curl_getdate($0, nil) } ?? -1
    return end < 0 ? 0 : end - (start < 0 ? time(nil) : start)
  }
}
