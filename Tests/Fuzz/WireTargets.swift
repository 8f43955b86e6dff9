import CFastCGI
import Glibc

import Encoding
@testable import FastCGI
import HTTP

extension FuzzTarget {
  /// FastCGI records that arrive in pieces.
  static let records = FuzzTarget(
    "records",
    words: [
      "\u{1}\u{1}\0\u{1}\0\u{8}\0\0\0\u{1}\u{1}\0\0\0\0\0", "\u{1}\u{4}\0\u{1}\0\0\0\0",
      "\u{1}\u{5}\0\u{1}\0\0\0\0", "\u{1}\u{9}\0\0\0\0\0\0", "\u{1}\u{2}\0\u{1}\0\0\0\0",
    ],
    bound: MemoryBound(factor: 16, base: 131_072)
  ) { input in
    unsafe input.withUnsafeBytes { bytes in
      let all = unsafe RecordScan(bytes)
      let step = max(1, bytes.count / 32)
      var before = RecordScan.partialHead
      for end in stride(from: 0, through: bytes.count, by: step) {
        let here = unsafe RecordScan(UnsafeRawBufferPointer(rebasing: bytes[..<end]))
        expect(rank(before) <= rank(here), "\(before), then \(here) when more has arrived")
        before = here
      }
      expect(rank(before) <= rank(all), "\(before), then \(all) when all has arrived")
      if all == .whole { unsafe readByLibrary(bytes) }
    }
  }

  /// Makes libfcgi read a request that the scan calls whole.
  ///
  /// If libfcgi waits for more, this hangs.
  private static func readByLibrary(_ bytes: UnsafeRawBufferPointer) {
    var ends: [Int32] = [-1, -1]
    unsafe expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0, "no sockets")
    defer { close(ends[0]) }
    let sent = unsafe send(ends[0], bytes.baseAddress, bytes.count, 0)
    expect(sent == bytes.count, "the sockets do not take it at once")
    let request = UnsafeMutablePointer<FCGX_Request>.allocate(capacity: 1)
    defer { unsafe request.deallocate() }
    FCGX_Init()
    unsafe FCGX_InitRequest(request, -1, 0)
    unsafe request.pointee.ipcFd = ends[1]
    unsafe request.pointee.keepConnection = 1
    // Otherwise closing waits for the peer.
    unsafe request.pointee.detached = 1
    // libfcgi closes the descriptor if it refuses the request.
    guard unsafe FCGX_Accept_r(request) == 0 else { return }
    var piece = [CChar](repeating: 0, count: 1_024)
    while unsafe FCGX_GetStr(&piece, Int32(piece.count), request.pointee.in) > 0 {}
    unsafe FCGX_Free(request, 1)
  }

  /// Returns the order of the results.
  ///
  /// More bytes may only lead to a later result.
  private static func rank(_ scan: RecordScan) -> Int {
    switch scan {
    case .partialHead: 0
    case .head: 1
    case .whole, .garbage: 2
    }
  }

  /// Lines: a request target and field values.
  ///
  /// Every parser of a field gets each value.
  static let heads = FuzzTarget(
    "heads",
    words: [
      "/v1/users/", "%", "%2F", "%00", "%C3%A9", "e%CC%81", "%ff", "+", "&", "=", "?", "Bearer ",
      "bearer\t", "W/", "\"7\"", "*", ",", "\"9223372036854775808\"", "application/json",
      "; charset=utf-8", "; charset=\"UTF-8\"", "__Host-dossier=", "; ", "\u{212a}", "\u{301}",
      "application/merge-patch+json", "//",
    ],
    bound: MemoryBound(factor: 60, base: 65_536)
  ) { input in
    let lines = lines(input)
    let target = text(lines[0])
    let request = Request(
      method: .get, target: target,
      fields: FieldDictionary([.ifMatch: lines.dropFirst().first.map(text) ?? ""])
    )
    checkTarget(request)
    _ = try? Preconditions(request)
    for line in lines.dropFirst() { checkField(text(line)) }
  }

  private static func checkTarget(_ request: Request) {
    expect(
      request.path.utf8.count + request.query.utf8.count <= request.path.base.utf8.count,
      "a path and a query are longer than the target"
    )
    if case .found(_, let captures) = unsafe router.match(.get, request.path) {
      for value in captures.values {
        expect(!value.isEmpty && !value.utf8.contains(0), "\(value) is empty or holds a NUL")
        expect(
          PercentCoding.decode(PercentCoding.encode(value)[...]).map { Array($0.utf8) }
            == Array(value.utf8),
          "\(value) is decoded as another"
        )
      }
    }
    guard let parameters = FormValues(request.query) else { return }
    let names = parameters.names.map { Array($0.utf8) }
    expect(Set(names).count == names.count, "a parameter is there twice")
    for name in parameters.names {
      expect(parameters[name]?.utf8.contains(0) == false, "\(name) is lost or holds a NUL")
    }
  }

  private nonisolated(unsafe) static let router: Router = {
    let router = Router()
    let patterns = [
      "/v1/users", "/v1/users/{user}", "/v1/users/{user}/properties/{key}", "/v1/me/properties",
      "/v1/me/properties/{key}", "/",
    ]
    for (index, pattern) in patterns.enumerated() { router.add(.get, pattern, index) }
    return router
  }()

  private static func checkField(_ field: String) {
    if let type = MediaType(field) {
      expect(type.rawValue == type.rawValue.lowercased(), "\(type.rawValue) is not in lower case")
      expect(MediaType(type.rawValue) == type, "\(type.rawValue) is read as another")
    }
    let weak = try? TagCondition(field, weakly: true)
    let strong = try? TagCondition(field, weakly: false)
    expect((weak == nil) == (strong == nil), "\(field) is a list of tags only when read weakly")
    if case .versions(let versions) = strong {
      expect(versions.allSatisfy { weak?.matches($0) == true }, "\(field) matches less weakly")
    }
    if case .token(let token) = BearerToken(field) {
      expect(!token.isEmpty && field.utf8.reversed().starts(with: token.utf8.reversed()), "a token")
    }
    if let value = Cookie.value(of: "__Host-dossier", in: field) {
      expect(!value.utf8.contains(UInt8(ascii: ";")), "the value of a cookie is two")
    }
    let id = RequestID(field).description
    expect((1...64).contains(id.utf8.count), "\(id) is an id of a request")
  }
}
