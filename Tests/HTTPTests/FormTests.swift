import HTTP
import Testing

@Suite struct MultipartTests {
  private static let limits = Multipart.Limits(parts: 3, content: 100)

  private func read(_ text: String, boundary: String = "b") throws(MultipartError) -> Multipart {
    try Multipart(Array(text.utf8), boundary: boundary, limits: Self.limits)
  }

  private static let head = "Content-Disposition: form-data; name="

  @Test func `parts keep their names, types and bytes`() throws {
    let form = try read(
      """
      a preamble\r
      --b \t\r
      content-disposition:form-data;name="picture"; filename="a \\"b\\".png"\r
      Content-Type: image/png\r
      \r
      1\r\n2\r\n--bc\r\n-\r
      --b\r
      \(Self.head)é\\\r
      \r
      \r
      --b--an epilogue \r\n--b
      """.replacing("é\\", with: "\"é\"")
    )
    #expect(form.parts.map(\.name) == ["picture", "é"])
    #expect(form["picture"]?.fileName == "a \"b\".png")
    #expect(form["picture"]?.type == .png)
    #expect(form["picture"]?.content.elementsEqual("1\r\n2\r\n--bc\r\n-".utf8) == true)
    #expect(form["é"]?.content.isEmpty == true && form["é"]?.fileName == nil)
    #expect(try read("--b--").parts.isEmpty)
    #expect(try read("\r\n--b--\r\n").parts.isEmpty)
  }

  @Test(arguments: [
    ("", MultipartError.noBoundary), ("--c--", .noBoundary), ("x--b--", .noBoundary),
    ("--b", .noBoundary), ("--b\r\n", .unfinished),
    ("--b\r\n\(head)a\r\n\r\n1\r\n--b\r\n", .unfinished), ("--b\r\n--b--", .unfinished),
    ("--b\r\n\r\n--b--", .malformedHeader), ("--b\r\nx\r\n\r\n\r\n--b--", .malformedHeader),
    ("--b\r\n\(head)a\r\n--b--", .malformedHeader),
    ("--b\r\n\r\n1\r\n--b--", .nameless), ("--b\r\nX: y\r\n\r\n1\r\n--b--", .nameless),
    ("--b\r\nContent-Disposition: attachment; name=a\r\n\r\n\r\n--b--", .malformedHeader),
    ("--b\r\n\(head)a\r\n\r\n\r\n--b\r\n\(head)\"a\"\r\n\r\n\r\n--b--", .nameTwice),
    (
      "--b\r\n\(head)a\r\nX: \(String(repeating: "x", count: 5_000))\r\n\r\n\r\n--b--",
      .malformedHeader
    ),
    (
      "--b\r\n\(head)a\r\n\r\n\(String(repeating: "x", count: 101))\r\n--b--",
      .partTooLong(limit: 100)
    ),
    (
      (1...4).map { "--b\r\n\(head)a\($0)\r\n\r\n\r\n" }.joined() + "--b--", .tooManyParts(limit: 3)
    ),
  ])
  func `a malformed form is refused`(text: String, error: MultipartError) {
    #expect(throws: error) { _ = try read(text) }
  }

  @Test(arguments: [
    ("multipart/form-data; boundary=abc", "abc"), ("multipart/form-data;boundary=\"a b\"", "a b"),
    ("multipart/form-data; charset=utf-8; Boundary=a=b:/?", "a=b:/?"),
    ("multipart/form-data", nil), ("multipart/form-data; boundary=", nil),
    ("multipart/form-data; boundary=\"a \"", nil), ("multipart/form-data; boundary=\"a\r\n\"", nil),
    ("multipart/form-data; boundary=" + String(repeating: "x", count: 71), nil),
  ])
  func `the type contains the boundary`(field: String, boundary: String?) {
    #expect(FieldParameters(field).flatMap(Multipart.boundary) == boundary)
  }
}

@Suite struct SharedPrefixTests {
  private let router: Router = {
    let router = Router()
    router.add(.get, "/v1/users/{user}", 0)
    router.add(.post, "/v1/users/me", 1)
    router.add(.get, "/v1/users/{id}/posts", 2)
    router.add(.get, "/v1/users/me/pictures", 3)
    return router
  }()

  private func found(_ method: Method, _ path: Substring) -> String? {
    guard case .found(let number, let captures) = router.match(method, path) else { return nil }
    return "\(number) \(captures["user"] ?? "-") \(captures["id"] ?? "-")"
  }

  @Test func `routes of two wires may share a prefix`() {
    #expect(found(.get, "/v1/users/7") == "0 7 -")
    #expect(found(.get, "/v1/users/7/posts") == "2 - 7")
    #expect(found(.post, "/v1/users/me") == "1 - -")
    // A literal without a route does not hide a capture with one, but a route of its own does.
    #expect(found(.get, "/v1/users/me/posts") == "2 - me")
    #expect(found(.get, "/v1/users/me") == nil)
    guard case .otherMethods(let methods) = router.match(.put, "/v1/users/me") else {
      Issue.record("PUT was found")
      return
    }
    #expect(methods == [.post])
  }
}
