internal import CCurl
internal import Glibc

/// How long an answer may be kept, by its fields.
package enum Freshness {
  /// What is left of an answer's lifetime when it arrives.
  ///
  /// `Cache-Control` goes before `Expires`; `no-store`, `no-cache` and what cannot be read mean none.
  /// - Parameters:
  ///   - cacheControl: the field's values, joined by commas; likewise the others.
  ///   - expires: a date; compared with `date`.
  ///   - date: when the answer was made; nil for now.
  ///   - age: seconds that it has spent in caches.
  /// - Returns: nil when the answer does not say; a year at most.
  /// - Source: RFC 9111 §4.2, §5.2.2, §5.3.
  package static func lifetime(
    cacheControl: String?,
    expires: String?,
    date: String?,
    age: String?
  ) -> Duration? {
    guard let stated = stated(cacheControl, expires: expires, date: date) else { return nil }
    let spent = age.flatMap { Int($0) } ?? 0
    // Clamped before they meet: both come from another machine.
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
        // Digits too many for a number are as good as for ever; anything else is an error.
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
