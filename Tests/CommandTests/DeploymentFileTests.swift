import Configuration
import JSON
import Records
import Testing

@testable import DeploymentFiles
@testable import dossier

/// Files that describe a deployment: how they are read, merged and compared.
@Suite struct DeploymentFileTests {
  private let kinds = Deployment.kinds

  private func json(_ text: String) throws -> JSON { try JSON.parse(Array(text.utf8)) }

  private func read(_ text: String) throws -> JSON {
    var reader = YAMLReader()
    return try reader.read(Array(text.utf8))
  }

  private func refusal(_ text: String) -> String {
    var reader = YAMLReader()
    do throws(YAMLReader.Refusal) {
      return "read: \(try reader.read(Array(text.utf8)).text)"
    } catch {
      return "\(error.line) \(error.pointer) \(error.detail)"
    }
  }

  private func declared(_ texts: String...) throws(FileFaults) -> Declarations {
    var files: [DeploymentFile] = []
    for (index, text) in texts.enumerated() {
      files.append(try DeploymentFile(Array(text.utf8), name: "\(index)"))
    }
    return try Declarations(files, kinds)
  }

  private func faults(_ texts: String...) -> [String] {
    do throws(FileFaults) {
      var files: [DeploymentFile] = []
      for (index, text) in texts.enumerated() {
        files.append(try DeploymentFile(Array(text.utf8), name: "\(index)"))
      }
      _ = try Declarations(files, kinds)
      return []
    } catch {
      return error.lines
    }
  }

  private func plan(
    _ text: String, _ standing: [Standing], prunes: Bool = false, sendsSecrets: Bool = false
  ) throws -> [Step] {
    let options = Plan.Options(prunes: prunes, sendsSecrets: sendsSecrets)
    return try Plan(try declared(text), standing, kinds, options).steps
  }

  private func standing(_ section: String, of app: String?, _ text: String) throws -> Standing {
    let kind = try #require(kinds.first { $0.section == section })
    return Standing(kind, of: app, try json(text))
  }

  // MARK: YAML

  @Test func `a plain word is what it is in JSON, and else a string`() throws {
    let yaml = """
      a: [true, null, ~, 1.50, -3e2, "true", 'no']
      b: {no: yes, c: 012, d: 1_000, e: 2026-01-01, f: +1, g: .inf}
      h: |
        two
          lines
      i: &x [1]
      j: [*x, *x]
      k:
      """
    let expected = #"""
      {"a":[true,null,null,1.50,-3e2,"true","no"],
      "b":{"no":"yes","c":"012","d":"1_000","e":"2026-01-01","f":"+1","g":".inf"},
      "h":"two\n  lines\n","i":[1],"j":[[1],[1]],"k":null}
      """#
    #expect(try read(yaml).text == json(expected).text)
  }

  @Test func `what could be read in two ways is refused with its line`() {
    #expect(refusal("a: 1\nb: {c: 1,\n c: 2}") == "3 /b The name c stands twice in this object.")
    #expect(refusal("a: 1\n<<: {b: 2}").contains("2  Merge keys are not read"))
    #expect(refusal("a: !!float 1").contains("1 /a Tags are not read"))
    #expect(refusal("a: 1\n---\nb: 2").contains("2  A file has one document"))
    #expect(refusal("a: *x").contains("1 /a No value before this one has the anchor &x"))
    #expect(refusal("a: &x [*x]").contains("has the anchor &x"))
    #expect(refusal("? [a]\n: 1").contains("The name of a member must be a text"))
    #expect(refusal("a: \"\\0\"").contains("NUL"))
    #expect(refusal("") == "1  The file is empty.")
    #expect(refusal("a:\n\t- 1").contains("2 /a This is not YAML"))
  }

  @Test func `depth, aliases and the values that they make are bounded`() {
    #expect(refusal(String(repeating: "[", count: 65)).contains("nested 64 deep"))
    let many = "a: &a 1\nb: [\(String(repeating: "*a,", count: 101))]"
    #expect(refusal(many).contains("may have 100 aliases"))
    let bomb = (1...12).map { n in
      let parts = [String](repeating: n == 1 ? "x" : "*a\(n - 1)", count: 8)
      return "a\(n): &a\(n) [\(parts.joined(separator: ","))]"
    }.joined(separator: "\n")
    #expect(refusal(bomb).contains("may have 200000 values"))
  }

  @Test(arguments: [
    #"{"a b":"","c":"yes","d":"1","e":"null","f":"~","g":"- x","h":"a: b","i":"a #b","j":"x:"}"#,
    #"{"a":"one\ntwo\n","b":"one\ntwo","c":"one\n\n  two\n\n","d":"\n","e":" x\ny","f":"x\n "}"#,
    #"{"a":[[],[[1]],{},{"b":[{"c":null}]}],"":{"/":"é\u2028\u0007\u007f😀"},"d":1.50,"<<":"="}"#,
    #""one\ntwo\n""#, "[]", "12",
  ])
  func `what is written is read as the same value`(text: String) throws {
    let value = try json(text)
    #expect(try read(YAMLWriter(value).text).text == value.text)
  }

  // MARK: Files

  @Test func `every fault of a file is told with its place`() {
    let text = """
      apps:
        a:
          settings: {session_day: 1, session_days: x}
          colour: red
          roles: {Editor: {name: Other, description: 1}}
          clients: {Site: {kind: robot, callback_urls: [nowhere]}}
          issuers: {i: {issuer: x, audience: y, secret: plain}}
          apis: []
      """
    let places = faults(text).map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
    #expect(
      places == [
        "0:4: /apps/a/colour:", "0:3: /apps/a/settings/session_day:",
        "0:3: /apps/a/settings/session_days:", "0:8: /apps/a/apis:",
        "0:5: /apps/a/roles/Editor/name:", "0:5: /apps/a/roles/Editor/description:",
        "0:6: /apps/a/clients/Site/kind:", "0:6: /apps/a/clients/Site/callback_urls:",
        "0:7: /apps/a/issuers/i/secret:",
      ])
    #expect(faults(#"{"apps": {"a": 1}}"#) == ["0: /apps/a: This value must be an object."])
    #expect(faults("{\n\"apps\": {]").first?.hasPrefix("0:2: /apps: ") == true)
  }

  @Test func `files merge, and a thing that two name differently is told with both places`() throws
  {
    let one = "apps: {a: {settings: {session_days: 3}, roles: {x: {description: d}}}}"
    let same = "apps:\n  a: {settings: {session_days: 3, mfa: optional}, roles: {y: {}}}"
    let merged = try declared(one, same).records
    #expect(merged.map(\.name) == ["a", "x", "y"])
    #expect(JSON.object(merged[0].values) == ["session_days": 3, "mfa": "optional"])
    let other = "\napps: {a: {settings: {session_days: 60}, roles: {x: {}}}}"
    #expect(
      faults(one, other) == [
        "1:2: /apps/a/settings/session_days: It differs from 0:1: /apps/a/settings/session_days. "
          + "Keep one of them.",
        "1:2: /apps/a/roles/x: It differs from 0:1: /apps/a/roles/x. Keep one of them.",
      ])
  }

  // MARK: Plans

  @Test func `a plan creates in order and deletes at the end in reverse`() throws {
    let there = [
      try standing("", of: nil, #"{"name":"a","hosts":[],"chosen":[],"version":1}"#),
      try standing("roles", of: "a", #"{"id":"1","name":"old","version":1}"#),
      try standing("clients", of: "a", #"{"id":"2","name":"old","kind":"web","version":1}"#),
      try standing("apis", of: "a", #"{"id":"3","identifier":"api/v2/","name":"Management API"}"#),
      try standing("clients", of: nil, #"{"id":"4","name":"operator","kind":"machine"}"#),
    ]
    let text = """
      apps: {b: {}, a: {clients: {new: {}}, roles: {new: {}}, schemas: {metadata: {type: object}}}}
      """
    #expect(
      try plan(text, there).map { "\($0.action.rawValue) \($0.title)" } == [
        "create app b", "unchanged app a", "create schema a/metadata", "create role a/new",
        "create client a/new",
      ])
    #expect(
      try plan(text, there, prunes: true).suffix(2).map { "\($0.action.rawValue) \($0.title)" } == [
        "delete client a/old", "delete role a/old",
      ])
    #expect(
      try plan(text + "\nclients: {}", there, prunes: true).filter { $0.action == .delete }
        .map(\.title) == ["client a/old", "client operator", "role a/old"])
  }

  @Test func `a change sends what differs, and null for what returns to its default`() throws {
    let api = """
      {"id":"3","identifier":"x","name":"X","version":7,"token_seconds":60,
      "scopes":{"a":"A","b":"B"},"skips_consent":true}
      """
    let there = [try standing("apis", of: "a", api)]
    let text = "apps: {a: {apis: {x: {name: Y, scopes: {b: C}}}}}"
    let step = try #require(try plan(text, there).last)
    #expect(
      step.patch.map(JSON.object)
        == ["name": "Y", "scopes": ["a": .null, "b": "C"], "token_seconds": .null])
    #expect(step.standing?.version == 7)
    #expect(
      try plan("apps: {a: {apis: {x: {name: X, scopes: {b: B, a: A}, token_seconds: 60}}}}", there)
        .last?.action == .unchanged)
  }

  @Test func `a client is found by its id or its name, and keeps what cannot change`() throws {
    let there = [
      try standing("clients", of: "a", #"{"id":"1","name":"one","kind":"web","scopes":[]}"#),
      try standing("clients", of: "a", #"{"id":"2","name":"two","kind":"web","scopes":[]}"#),
    ]
    let renamed = try plan("apps: {a: {clients: {three: {id: '2', kind: web}}}}", there).last
    #expect(renamed?.patch.map(JSON.object) == ["name": "three"])
    // On another deployment, it has another id.
    #expect(
      try plan("apps: {a: {clients: {one: {id: '9', kind: web}}}}", there).last?.action
        == .unchanged)
    #expect(throws: FileFaults.self) {
      try plan("apps: {a: {clients: {one: {id: '2', kind: web}}}}", there)
    }
    #expect(throws: FileFaults.self) {
      try plan("apps: {a: {clients: {one: {kind: native}}}}", there)
    }
  }

  @Test func `a secret is sent to a new record, and to others on demand`() throws {
    let text = """
      apps: {a: {issuers: {i: {issuer: x, audience: y, secret: {env: X}}},
      clients: {c: {kind: web, secret: {file: x}}}}}
      """
    #expect(try plan(text, []).map(\.secrets) == [[], ["secret"], ["secret"]])
    let issuer = #"{"name":"i","issuer":"x","audience":"y","keys":"secret"}"#
    let there = [
      try standing("issuers", of: "a", issuer),
      try standing("clients", of: "a", #"{"id":"1","name":"c","kind":"web","scopes":[]}"#),
    ]
    #expect(try plan(text, there).map(\.secrets) == [[], [], []])
    #expect(try plan(text, there, sendsSecrets: true).map(\.secrets) == [[], [], ["secret"]])
    let byURL = issuer.replacing("secret", with: "url")
    #expect(
      try plan(text, [try standing("issuers", of: "a", byURL)]).last?.secrets == ["secret"])
  }

  @Test func `an export has what differs from defaults, by name, without secrets`() throws {
    let there = [
      try standing(
        "", of: nil,
        #"{"name":"b","settings":{"session_days":3,"mfa":"off"},"chosen":["session_days"]}"#),
      try standing("", of: nil, #"{"name":"a","hosts":["y","x"],"settings":{},"chosen":[]}"#),
      try standing("indexes", of: "a", #"{"id":"1","path":"metadata.k","kind":"text"}"#),
      try standing(
        "issuers", of: "a", #"{"name":"i-1","issuer":"x","audience":"y","keys":"secret"}"#),
    ]
    let expected = """
      {"apps":{"a":{"hosts":["x","y"],"indexes":{"metadata.k":"text"},"issuers":{"i-1":
      {"issuer":"x","audience":"y","secret":{"env":"A_I_1_SECRET"}}}},
      "b":{"settings":{"session_days":3}}}}
      """
    let file = try deploymentFile(of: there, kinds)
    #expect(file.text == (try json(expected)).text)
    #expect(try plan(file.text, there).allSatisfy { $0.action == .unchanged })
  }
}
