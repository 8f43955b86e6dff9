package import ConsolePages
import Encoding
package import EventLoop
import HTTP
import HostedPages
package import JSON
import Pages
import Runtime
package import WireKit

/// The pages of the scopes that a role, a user or an application has at the APIs of an app.
///
/// A form says which scopes it has shown, so it changes only those that its administrator has
/// changed.
@EventLoop package struct ScopePages {
  /// The pattern of the list of APIs; the form of an API is one segment below.
  private let pattern: String
  /// The owner of the scopes in words, such as “a role”.
  private let owner: String
  /// Returns the page with the head of the owner, without a body.
  private let head: ConsoleVisit.Finding<ConsolePage>
  /// Returns the scopes of the owner, by the ids of the APIs.
  private let stored: ConsoleVisit.Finding<[String: [String]]>
  /// Returns the path of `/v1` with the scopes at an API.
  private let resource: @EventLoop @Sendable (ConsoleVisit, String) -> [String]
  /// The sentence above the list.
  private let meaning: String
  /// Whether the owner may have an API without scopes, and loses it by a button of its own.
  private let isRemovable: Bool
  /// Returns why the owner can have no scopes; nil if it can.
  private let obstacle: ConsoleVisit.Finding<String?>
  private let commands: @EventLoop @Sendable (ConsoleVisit) -> [String]

  package nonisolated init(
    _ pattern: String, of owner: String, meaning: String, isRemovable: Bool = false,
    obstacle: @escaping ConsoleVisit.Finding<String?> = { _ in nil },
    head: @escaping ConsoleVisit.Finding<ConsolePage>,
    stored: @escaping ConsoleVisit.Finding<[String: [String]]>,
    at resource: @escaping @EventLoop @Sendable (ConsoleVisit, String) -> [String],
    commands: @escaping @EventLoop @Sendable (ConsoleVisit) -> [String]
  ) {
    (self.pattern, self.owner, self.meaning) = (pattern, owner, meaning)
    (self.isRemovable, self.obstacle) = (isRemovable, obstacle)
    (self.head, self.stored, self.resource, self.commands) = (head, stored, resource, commands)
  }

  package nonisolated var routes: [Route] {
    [
      ConsoleVisit.page(pattern, "List the permissions of \(owner) by API") {
        (visit) async throws(Failure) in try await list(visit)
      },
      ConsoleVisit.page(
        "\(pattern)/{api}", for: .admin, "Show the permissions of \(owner) at an API"
      ) { (visit) async throws(Failure) in
        try await form(visit, stored: try await stored(visit)[visit.api])
      },
      ConsoleVisit.form(
        "\(pattern)/{api}", for: .admin, "Change the permissions of \(owner) at an API"
      ) { (visit, form) async throws(Failure) in try await save(visit, form) },
    ]
      + (isRemovable
        ? [
          ConsoleVisit.form(
            "\(pattern)/{api}/remove", below: 2, for: .admin, "Remove an API from \(owner)"
          ) { (visit, _) async throws(Failure) in
            let path = visit.call.pagePath(above: 2)
            let name = try await visit.readAPI().json["name"]?.string ?? ""
            // The owner belongs to the app of the path, or is not found.
            _ = try await stored(visit)
            _ = try await visit.send(ConsoleRequest(.delete, resource(visit, visit.api)))
            return .done(path, "Removed:", name: name)
          }
        ] : [])
  }

  // MARK: List

  /// The most scopes in a row of the list.
  private static let shown = 12

  private func list(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    var page = try await head(visit)
    let stored = try await stored(visit)
    let apis = try await visit.read("resource-servers", query: [("app", visit.place)]).items
    page.commands = commands(visit)
    if let obstacle = try await obstacle(visit) {
      page.body = [Part.empty(obstacle)]
      return page
    }
    page.body = [Part.paragraph(meaning, isMuted: true)]
    guard !apis.isEmpty else {
      page.body.append(
        Part.empty(
          "This app has no APIs, and so no permissions.",
          Part.link("APIs", to: visit.path("apis"), style: .secondary)))
      return page
    }
    let mayChange = visit.right >= .admin
    var columns: [ConsoleTable.Column] = [.init("API"), .init("Permissions")]
    if mayChange { columns.append(.init("Action")) }
    var table = ConsoleTable("APIs", columns)
    let base = visit.call.pagePath(above: 0)
    for api in apis {
      let id = api["id"]?.string ?? ""
      let name = api["name"]?.string ?? ""
      let scopes = Self.scopes(of: api)
      let own = stored[id]
      var row: [Markup] = [
        """
        \(Part.name(name))<br><span class="muted">\(Part.identifier(api["identifier"]?.string ?? ""))\
        </span>
        """,
        Self.summary(of: own, among: scopes.count),
      ]
      if mayChange {
        row.append(
          scopes.isEmpty && !isRemovable
            ? Part.link("Add scopes to the API", to: visit.path("apis", id))
            : """
            <a class="button secondary" href="\(base.below(id).text)">Change\
            <span class="hidden"> \(name)</span></a>
            """)
      }
      table.rows.append(row)
    }
    page.body.append(table.markup)
    if !mayChange {
      page.body.append(
        Part.paragraph("An admin or owner can change the permissions.", isMuted: true))
    }
    return page
  }

  /// Returns the first of some scopes, and their number; nil stands for none.
  private static func summary(of scopes: [String]?, among count: Int) -> Markup {
    guard let scopes else { return Part.muted(count == 0 ? "The API has no scopes" : "None") }
    guard !scopes.isEmpty else { return "Without scopes" }
    let first = scopes.prefix(shown).map { "\(Part.identifier($0)) " as Markup }
    let rest = scopes.count > shown ? "and \(scopes.count - shown) more, " : ""
    return "\(first)\(Part.muted("\(rest)\(scopes.count) of \(count)"))"
  }

  /// Returns the scopes of an API with their descriptions.
  private static func scopes(of api: JSON) -> [(name: String, description: String)] {
    (api["scopes"]?.object ?? JSONObject()).map { ($0.key, $0.value.string ?? "") }
  }

  // MARK: The form of an API

  private static let field = "scopes"
  /// The field with the scopes that the form has shown as chosen.
  private static let seen = "scopes_base"

  private func form(
    _ visit: ConsoleVisit, stored: [String]?, typed: [String]? = nil, mistakes: [Mistake] = []
  ) async throws(Failure) -> ConsolePage {
    let api = try await visit.readAPI().json
    let name = api["name"]?.string ?? ""
    let list = visit.call.pagePath(above: 1)
    var page = try await head(visit)
    page.back = ConsoleLink("All APIs", to: list)
    page.mistakes = mistakes
    page.commands = commands(visit)
    let scopes = Self.scopes(of: api)
    let chosen = stored ?? []
    let options = scopes.map { scope -> (value: String, label: String) in
      (scope.name, scope.description.isEmpty ? scope.name : "\(scope.name) – \(scope.description)")
    }
    let field = ConsoleField(
      Self.field, "Permissions", .ticks(options),
      value: (typed ?? chosen).joined(separator: " "),
      hint: isRemovable ? "Without a check mark, its tokens for this API have no scopes." : nil)
    let target = visit.target(
      visit.call.pagePath(above: 0),
      [HiddenField(Self.seen, chosen.joined(separator: " "))])
    page.body = [
      Part.card(
        "Permissions at \(name)",
        """
        <p>\(Part.identifier(api["identifier"]?.string ?? ""))</p>\
        \(Part.form(
          target, isWide: true,
          """
          \(scopes.isEmpty ? Part.paragraph("The API has no scopes.") : [field].markup(mistakes))\
          \(Part.buttons(
            Part.submit("Save"), Part.link("Cancel", to: list, style: .secondary)))
          """))
        """)
    ]
    if isRemovable, stored != nil {
      page.actions = [
        Part.button(
          "Remove this API", visit.target(visit.call.pagePath(above: 0).below("remove")),
          style: .danger)
      ]
    }
    return page
  }

  private func save(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let api = try await visit.readAPI().json
    let stored = try await stored(visit)[visit.api]
    let names = Self.scopes(of: api).map(\.name)
    let typed = names.filter { form["\(Self.field):\($0)"] != nil }
    let (ticked, seen) = (Set(typed), Set(Self.words(form[Self.seen] ?? "")))
    let own = Set(stored ?? [])
    // A scope that this form has not changed stays as it is stored now.
    let wanted = names.filter { name in
      let isTicked = ticked.contains(name)
      return isTicked == seen.contains(name) ? own.contains(name) : isTicked
    }
    let list = visit.call.pagePath(above: 1)
    guard Set(wanted) != own.intersection(names) || isRemovable && stored == nil else {
      return .done(list, "Nothing has changed.")
    }
    var request = ConsoleRequest(.put, resource(visit, visit.api))
    request.body = ["scopes": .array(wanted.map(JSON.string))]
    return try await visit.submit(request, [Self.field]) { _ in
      .done(list, "The permissions are saved:", name: api["name"]?.string ?? "")
    } orShow: { (mistakes) async throws(Failure) in
      try await self.form(visit, stored: stored, typed: typed, mistakes: mistakes)
    }
  }

  private static func words(_ text: String) -> [String] {
    text.split(separator: " ").map(String.init)
  }
}

extension LocalPath {
  /// Returns the path with a further segment.
  fileprivate func below(_ segment: String) -> LocalPath {
    LocalPath("\(text)/\(PercentCoding.encode(segment))") ?? self
  }
}

extension ConsoleVisit {
  /// The id of the API in the path.
  fileprivate var api: String { call.text("api") }

  /// Reads the API of the path.
  ///
  /// - Throws: `.notFound` if it belongs to another app.
  fileprivate func readAPI() async throws(Failure) -> ConsoleAnswer {
    let answer = try await read("resource-servers", api)
    guard answer.json["app"]?.string == app else { throw .notFound }
    return answer
  }

  /// Returns the scopes in a list of `/v1`, by the ids of the APIs.
  ///
  /// - Parameter items: entries with one scope or with several.
  /// - Returns: the scopes.
  package nonisolated static func scopes(in items: [JSON]) -> [String: [String]] {
    var scopes: [String: [String]] = [:]
    for item in items {
      let id = item["resource_server"]?.string ?? ""
      let own = item["scope"]?.string.map { [$0] }
      scopes[id, default: []] += own ?? item["scopes"]?.array?.compactMap(\.string) ?? []
    }
    return scopes
  }
}
