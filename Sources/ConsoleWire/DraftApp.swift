import ConsoleKit
import Administration
import ConsolePages
import Encoding
import EventLoop
import HostedPages
import JSON
import Pages
import Records
import Runtime
import Tenancy

/// An app with settings that are not stored yet, for previews.
struct DraftApp {
  let app: App
  private let faults: [ColumnFault]

  /// - Parameters:
  ///   - answer: the app as it is stored.
  ///   - draft: a merge patch of its settings.
  ///   - visit: the request.
  @EventLoop init(_ answer: ConsoleAnswer, with draft: JSONObject, _ visit: ConsoleVisit) {
    let (json, shape) = (answer.json, visit.context.apps.catalog.settings)
    let chosen = json["chosen"]?.array?.compactMap(\.string) ?? []
    var stored = JSONObject()
    for (name, value) in json["settings"]?.object ?? JSONObject()
    where chosen.contains(where: { $0.hasSameBytes(as: name) }) {
      stored[name] = value
    }
    let change = shape.change(of: stored, by: draft, at: "/settings")
    let hosts = json["hosts"]?.array?.compactMap(\.string) ?? []
    faults = change.faults
    // A version of its own, so that no cache takes it for the stored app.
    app = App(
      AppID(json["id"]?.string ?? "") ?? .deployment, visit.place,
      AppSettings(stored: change.after.serialized(), shape), hosts: hosts,
      version: -Int.random(in: 1...Int.max))
  }

  /// The settings that break a rule, each at its field.
  var mistakes: [Mistake] {
    faults.map { fault in
      let field = fault.place.split(separator: "/").dropFirst().first.map(String.init)
      return field.map { .rule(fault.code, fault.detail, field: $0) } ?? Mistake(fault.detail)
    }
  }
}

extension ConsoleVisit {
  /// The longest draft, in bytes: it is in the addresses of a preview.
  static let longestDraft = 3_000

  /// The draft in the address of the request: a merge patch of the settings; empty without one.
  var draft: JSONObject {
    state.values[.draft].flatMap { (try? JSON.parse(Array($0.utf8)))?.object } ?? JSONObject()
  }

  /// Returns a path with a draft, which only this session can read there.
  ///
  /// - Throws: `.internalError` if the draft cannot be encrypted.
  func path(_ path: LocalPath, with draft: JSONObject) throws(Failure) -> LocalPath {
    guard draft.count > 0 else { return path }
    return try ConsoleState([.draft: JSON.object(draft).text])
      .path(path, session: session.session.text, call)
  }
}
