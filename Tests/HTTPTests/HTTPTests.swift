import HTTP
import Testing

@Suite struct EntityTagTests {
  @Test(arguments: [
    ("\"7\"", TagCondition.versions([7])), ("*", .any), (" * ", .any),
    ("\"1\", \"2\" ,\"3\"", .versions([1, 2, 3])), ("\"a,b\", \"4\"", .versions([4])),
    ("\"007\"", .versions([])), ("\"99999999999999999999\"", .versions([])),
    ("", .versions([])), (" ", .versions([])), ("\"7\",", .versions([7])),
    (",, \"7\" ,\t,\"8\"", .versions([7, 8])), (",", .versions([])),
  ])
  func `a list of tags is parsed`(field: String, condition: TagCondition) throws {
    #expect(try TagCondition(field, weakly: false) == condition)
  }

  @Test(arguments: ["7", "\"7", "\"7\" \"8\"", ", *", "w/\"7\"", "*, \"7\"", "\"7\"x"])
  func `a malformed list of tags is refused`(field: String) {
    #expect(throws: TagSyntaxError.self) { _ = try TagCondition(field, weakly: false) }
  }

  @Test func `weak tags match in If-None-Match, and never in If-Match`() throws {
    #expect(try TagCondition("W/\"7\"", weakly: true).matches(7))
    #expect(try !TagCondition("W/\"7\"", weakly: false).matches(7))
    #expect(try TagCondition("*", weakly: true).matches(0))
    #expect(try !TagCondition("*", weakly: true).matches(nil))
    #expect(try !TagCondition(nil, weakly: true).matches(7))
  }
}

@Suite struct RequestTests {
  @Test(arguments: [
    ("/v1/me", "/v1/me", ""), ("/v1/me?", "/v1/me", ""), ("/a?b=?c", "/a", "b=?c"),
    ("//v1/me?x", "/v1/me", "x"), ("///a", "//a", ""), ("//", "/", ""), ("/", "/", ""),
    ("", "", ""), ("?", "", ""), ("/é?ü", "/é", "ü"), ("*", "*", ""),
  ])
  func `a target is a path and a query`(target: String, path: String, query: String) {
    let request = Request(method: .get, target: target, fields: FieldDictionary())
    #expect(request.path == path && request.query == query)
  }
}

@Suite struct RouterTests {
  private let names = ["me", "delete", "user", "literal"]

  private var router: Router {
    let router = Router()
    router.add(.get, "/v1/me", 0)
    router.add(.delete, "/v1/me", 1)
    router.add(.get, "/v1/users/{id}", 2)
    router.add(.get, "/v1/users/me", 3)
    return router
  }

  private func found(_ method: Method, _ path: Substring) -> String? {
    guard case .found(let number, let captures) = router.match(method, path) else { return nil }
    return names[number] + captures.values.joined()
  }

  @Test func `literals precede captures, and a GET route serves HEAD`() {
    #expect(found(.get, "/v1/me") == "me")
    #expect(found(.head, "/v1/me") == "me")
    #expect(found(.get, "/v1/users/me") == "literal")
    #expect(found(.get, "/v1/users/7%2F8") == "user7/8")
  }

  @Test func `a trailing capture is the rest of the path, decoded once`() {
    let router = Router()
    router.add(.get, "/keys", 0)
    router.add(.put, "/keys/{key*}", 1)
    for (path, key) in [
      ("/keys/a", "a"), ("/keys/a/b", "a/b"), ("/keys/a//b/", "a//b/"), ("/keys//", "/"),
      ("/keys/a%2Fb%252F", "a/b%2F"),
    ] {
      guard case .found(1, let captures) = router.match(.put, path[...]) else {
        Issue.record("\(path) was not found")
        continue
      }
      #expect(captures["key"] == key)
    }
    guard case .nowhere = router.match(.put, "/keys/") else {
      Issue.record("an empty rest was found")
      return
    }
    guard case .badPath = router.match(.put, "/keys/%zz") else {
      Issue.record("a malformed rest was decoded")
      return
    }
    guard case .otherMethods([.put]) = router.match(.get, "/keys/a/b") else {
      Issue.record("the rest has another method")
      return
    }
  }

  @Test(arguments: ["", "/", "v1/me", "/v1", "/v1/me/", "//v1/me", "/v1/users/", "/v1/./me", "*"])
  func `other paths have no route`(path: String) {
    guard case .nowhere = router.match(.get, path[...]) else {
      Issue.record("\(path) was found")
      return
    }
  }

  @Test(arguments: [
    "/v1/users/%", "/v1/users/%4", "/v1/users/%zz", "/v1/users/%ff", "/v1/users/%00",
  ])
  func `malformed segments have their own error`(path: String) {
    guard case .badPath = router.match(.get, path[...]) else {
      Issue.record("\(path) was taken")
      return
    }
  }

  @Test func `a path lists its methods`() {
    guard case .otherMethods(let methods) = router.match(.put, "/v1/me") else {
      Issue.record("PUT was found")
      return
    }
    #expect(methods == [.delete, .get, .head])
  }
}

extension Response {
  fileprivate func serialized(withBody: Bool) -> [UInt8] {
    var response = self
    let (head, body) = response.message(withBody: withBody)
    return head + body
  }
}

@Suite struct FieldTests {
  @Test(arguments: [
    ("Bearer abc.def-_~+/=", BearerToken.token("abc.def-_~+/=")), ("bearer  x", .token("x")),
    ("Basic abc", .malformed), ("Bearer", .malformed), ("Bearer a b", .malformed),
    ("Bearer é", .malformed), ("", .malformed),
  ])
  func `bearer tokens are parsed`(field: String, token: BearerToken) {
    #expect(BearerToken(field) == token)
  }

  @Test(arguments: [
    ("application/json", MediaType.json), ("Application/JSON; Charset=\"UTF-8\"", .json),
    ("application/merge-patch+json;charset=utf-8", .mergePatch),
  ])
  func `media types are parsed`(field: String, type: MediaType) {
    #expect(MediaType(field) == type)
  }

  @Test(arguments: [
    "", "json", "application/json; charset=latin1", "application/json; charset", "a/b/c",
    "text/html; \u{212a}=\"utf-8\"", "application/json; charset=utf-8\u{301}",
  ])
  func `malformed media types are refused`(field: String) { #expect(MediaType(field) == nil) }

  @Test(arguments: [
    ("device=a; other=b", "a"), ("other=b;device=a=c", "a=c"), ("device=", ""), ("devic=a", nil),
    ("device\u{301}=a", nil), ("device=\u{301}a;\u{301}device=b", "\u{301}a"),
    ("a=;device=\"", "\""),
  ])
  func `cookie names compare by bytes`(field: String, value: String?) {
    #expect(
      Cookie.value(of: "device", in: field).map { Array($0.utf8) } == value.map { Array($0.utf8) }
    )
  }

  @Test func `names in a query compare by bytes, for any number of names`() throws {
    let composed = try #require(FormValues("%C3%A9=1&e%CC%81=2&a+b=%2B"))
    #expect(composed["\u{e9}"] == "1")
    #expect(composed["e\u{301}"] == "2")
    #expect(composed["a b"] == "+")
    #expect(composed["e"] == nil)
    let many = (1...FormValues.most).map { "n\($0)=" }.joined(separator: "&")
    #expect(FormValues(many[...])?.pairs.count == FormValues.most)
    #expect(FormValues("\(many)&a=") == nil)

    let odd = try #require(FormValues("&&a&=1&b==2=&c=&"))
    #expect(odd.pairs.map(\.name) == ["a", "", "b", "c"])
    #expect(odd.pairs.map(\.value) == ["", "1", "=2=", ""])
    for refused in [
      "a=1&a=2", "%61=1&a=2", "a=%", "a=%4", "a=%4&b=1", "%ff=1", "a=%00", "a=\0", "\0=1",
    ] {
      #expect(FormValues(refused[...]) == nil)
    }
  }

  @Test func `names are repeated only where that is allowed`() throws {
    for refused in ["a=1&b=2&b=3", "A=1&a=2&A=3"] {
      #expect(FormValues(refused[...], repeating: .only("a")) == nil)
    }
    let one = try #require(FormValues("a=1&b=2&a=3&%61=", repeating: .only("a")))
    #expect(one.all("a") == ["1", "3", ""])
    #expect(one["a"] == "1")
    #expect(one.repeated == ["a", "a"])
    let any = try #require(FormValues("a=1&b=2&b=3&a=4", repeating: .any))
    #expect(any.repeated == ["b", "a"])
    #expect(any.pairs.map(\.value) == ["1", "2", "3", "4"])
  }

  @Test func `a value cannot add a header field`() {
    var response = Response(.ok)
    response.add(.location, "/a\r\nSet-Cookie: x=1\0")
    let text = String(decoding: response.serialized(withBody: true), as: UTF8.self)
    #expect(text == "Status: 200 OK\r\nLocation: /aSet-Cookie: x=1\r\nContent-Length: 0\r\n\r\n")
  }

  @Test func `a response without body has no length, and HEAD has that of GET`() {
    #expect(
      String(decoding: Response(.noContent).serialized(withBody: true), as: UTF8.self)
        == "Status: 204 No Content\r\n\r\n"
    )
    let head = Response(.ok, json: [123, 125], tag: EntityTag(3)).serialized(withBody: false)
    #expect(
      String(decoding: head, as: UTF8.self).hasSuffix("ETag: \"3\"\r\nContent-Length: 2\r\n\r\n")
    )
  }

  @Test func `harmless request ids are kept`() {
    #expect(RequestID("trace-7_x.y").description == "trace-7_x.y")
    for bad in ["", "a b", "é", "a\n", String(repeating: "x", count: 65)] {
      #expect(RequestID(bad).description != bad)
    }
    #expect(RequestID(nil).description != RequestID(nil).description)
  }
}
