import Declarations
import Documents
import HTTP
import JSON
import Operators
import Pages
import Records
import Runtime
import WireKit

/// The start, and the pages of settings, operators and errors.
extension PageBuilder {
  /// The start of the reference, with the rules of all routes.
  var start: Page {
    let program = """
      import { Dossier } from "\(Reference.origin)/dossier.js";
      const dossier = new Dossier("\(Reference.origin)");
      """
    return Page(
      slug: "", title: "API reference",
      summary: "The user data of apps: sign-in, profiles, documents and properties.",
      introduction: """
        <p>Bodies are strict JSON (RFC 8259) in UTF-8. A member that the reference does not list is
        refused. Ids are 24 hexadecimal digits, and times are RFC 3339.</p>
        <p>The examples are for a shell and for web pages. In a page, <code>dossier</code> is this
        server's client, which stores and refreshes the tokens.
        <a href="/dossier.d.ts">dossier.d.ts</a> documents its members.</p>
        """,
      examples: [.figure("Web page", program)],
      sections: [
        Section(
          id: "variables", title: "Run the examples",
          detail: "The variables of the shell that all examples use.",
          words: EverydayWords.rules["variables"] ?? "",
          content: """
            <p>The examples run as printed, in the order of each page, in a shell with
            <code>curl</code> and <code>jq</code>. These commands set their variables:</p>
            <ul class="members">
            <li><code class="name">B</code><p>The address of this server.</p></li>
            <li><code class="name">TOKEN</code><p>The access token of a user: here Ada, a sample
            user of <code>deploy/up --seed</code>. Elsewhere, sign in a user of yours.</p></li>
            \(audience == .all ? Self.secretOfExamples : nil)
            </ul>
            """,
          examples: [.figure("Shell", variables, isRun: true)]
        ),
        rules(
          "authentication", "Authentication",
          """
          <p>Users send <code>Authorization: Bearer</code> with their access token, and API clients
          with their secret. A device sends its secret in <code>Dossier-Device</code>.</p>
          <p><code>Dossier-App</code> selects the app, if the host name does not.</p>
          """,
          #"""
          curl "$B/v1/me" \
            -H "Authorization: Bearer $TOKEN" \
            -H "Dossier-App: default"
          """#),
        rules(
          "versions", "Versions and conflicts",
          """
          <p>An <code>ETag</code> is the version of a resource. Send it back in
          <code>If-Match</code>, and a write fails if another client has changed the resource.
          <code>If-None-Match: *</code> on a write requires an absent resource.</p>
          <p>The three documents of a user always exist: before their first write they are
          <code>{}</code> in version 0. That version counts as absent for
          <code>If-None-Match: *</code> on a write, and as present for <code>If-Match: *</code> and
          for reads.</p>
          <p>Every route evaluates preconditions. A resource without an <code>ETag</code> matches no
          entity tag.</p>
          """,
          #"""
          VERSION=$(curl -s "$B/v1/me/metadata" -H "Authorization: Bearer $TOKEN" \
            -o metadata.json -w '%header{etag}')
          curl -X PATCH "$B/v1/me/metadata" \
            -H "Authorization: Bearer $TOKEN" \
            -H 'Content-Type: application/merge-patch+json' \
            -H "If-Match: $VERSION" \
            -d '{"theme":"dark"}'
          """#),
        rules(
          "lists", "Lists",
          """
          <p>A list has pages. The <code>Link</code> of a page leads to the next one. The last page
          has no <code>Link</code>.</p>
          """,
          #"""
          curl -i "$B/v1/users?limit=50" \
            -H "Authorization: Bearer $SECRET"
          """#),
        rules(
          "failures", "Errors",
          """
          <p>An error has a stable <code>code</code>, and its <code>type</code> is the address of a
          page with the cause and the remedy. Errors that every route may return are only in the
          chapter of errors.</p>
          <p>With <code>Retry-After</code>, repeat the request later.</p>
          """,
          subject.problem(Failure.tokenMissing.type).lines()),
      ]
    )
  }

  private static let secretOfExamples: Markup = """
    <li><code class="name">SECRET</code><p>The secret of a client of the operator, which this command
    of the server prints once.</p></li>
    """

  /// The commands that set the variables of all examples.
  private var variables: String {
    let user = #"""
      B=\#(Reference.origin)
      JSON='Content-Type: application/json'
      TOKEN=$(curl -s "$B/v1/login/password" -H "$JSON" \
        -d '{"email":"\#(Example.email)","password":"\#(Example.password)"}' | jq -r .access_token)
      """#
    let client = #"""

      SECRET=$(dossier client create --operator reference kind=machine --json | jq -r .secret)
      """#
    return audience == .all ? user + client : user
  }

  private func rules(
    _ id: String, _ title: String, _ content: Markup, _ example: String
  ) -> Section {
    Section(
      id: id, title: title, detail: "The rules of all routes.",
      words: EverydayWords.rules[id] ?? "", content: content,
      examples: [.figure(title, example)]
    )
  }

  var settings: Page {
    let defaults = subject.settings.listed(JSONObject()).values
    let commands = #"""
      curl -s -X PATCH "$B/v1/apps/adventure" -H "Authorization: Bearer $SECRET" \
        -H 'Content-Type: application/merge-patch+json' -d '{"settings":{"session_days":30}}'
      curl -s "$B/v1/apps/adventure" -H "Authorization: Bearer $SECRET"
      """#
    let items = subject.settings.columns.map { setting in
      Item(
        id: setting.name, title: setting.name, detail: setting.meaning.sentence,
        content: """
          <li id="\(setting.name)"><code class="name">\(setting.name)</code> \
          <span class="kind">\(notation(of: Shape.value(of: setting).reference))</span>\
          <p>\(prose: setting.meaning.sentence)</p>\
          <p>Default: <code>\(defaults[setting.name]?.text ?? "null")</code></p></li>
          """
      )
    }
    return Page(
      slug: "settings", title: "Settings",
      summary: "The settings of an app. `null` resets one to its default.",
      words: "configuration options",
      examples: [
        .figure("Shell, as an API client", commands, isRun: true),
        .figure("Shell, on the server", "dossier app set session_days=30"),
      ],
      sections: [
        Section(
          id: "all-settings", title: "All settings",
          detail: "The settings of an app, with their defaults.", items: items
        )
      ]
    )
  }

  /// The operators of updates and filters.
  var operators: Page {
    let update = #"""
      {"filter": {"level": {"$gte": 7}},
       "update": {"$inc": {"level": 1},
                  "$push": {"items": "rope"}}}
      """#
    func item(_ name: String, _ says: String, _ prefix: String) -> Item {
      let id = prefix + name.filter { $0 != "$" }
      return Item(
        id: id, title: name, detail: says.sentence,
        content: """
          <li id="\(id)"><code class="name">\(name)</code><p>\(prose: says.sentence)</p></li>
          """
      )
    }
    let differences = OperatorLanguage.differences.map { "<li>\($0)</li>" as Markup }
    return Page(
      slug: "operators", title: "Update and filter operators",
      summary: "The operators of MongoDB that updates and filters may use.", words: "query",
      introduction: """
        <p>Paths are names and indexes with dots between them. In an update, <code>$</code> is the
        element that the filter found, and <code>$[]</code> is every element.
        <code>$[name]</code> is every element that matches an array filter.</p>
        """,
      examples: [.figure("Body of an update", update)],
      sections: [
        Section(
          id: "update-operators", title: "Update operators",
          detail: "The operators of update in a change of custom data.",
          content: "<p>In <code>update</code>, each operator has an object of paths.</p>",
          items: UpdateOperator.allCases.map { item($0.rawValue, $0.says, "update-") }
        ),
        Section(
          id: "filter-operators", title: "Filter operators",
          detail: "The operators of filter and array_filters.",
          content: "<p>For <code>filter</code> and <code>array_filters</code>.</p>",
          items: QueryOperator.allCases.map { item($0.rawValue, $0.says, "filter-") }
        ),
        Section(
          id: "differences", title: "Differences from MongoDB",
          detail: "For apps that come from MongoDB.",
          content: """
            <ul>\(differences)</ul>
            <p class="withheld">Refused by name: \(QueryOperator.withheld.joined(separator: " "))</p>
            """
        ),
      ]
    )
  }

  // MARK: Errors

  var errors: Page {
    let groups = Dictionary(grouping: subject.errors, by: \.status.code)
    return Page(
      slug: "errors", title: "Errors",
      summary: "All codes of errors by status, each with its cause and remedy.",
      words: "problems failures status codes",
      introduction: """
        <p>An error is a problem of RFC 9457. Decide by its <code>code</code>, which is stable.
        <code>type</code> is the address of the page below. With <code>Retry-After</code>, repeat
        the request after that time.</p>
        """,
      examples: [figure(of: Failure.versionConflict.type)],
      sections: groups.sorted { $0.key < $1.key }.map { code, types in
        Section(
          id: "status-\(code)", title: "\(code) \(types[0].status.reason)",
          detail: "The errors with this status.", items: types.map(item)
        )
      }
    )
  }

  private func item(for error: ErrorType) -> Item {
    let address = "/problems/\(error.code)"
    return Item(
      id: error.code, title: error.code, detail: error.title,
      content: """
        <li id="\(error.code)"><a href="\(address)"><code class="name">\(error.code)</code></a>\
        \(if: error.isCommon, #" <span class="kind">on any route</span>"#)\
        <p>\(prose: error.title)</p></li>
        """,
      address: address
    )
  }

  /// Returns the page of one kind of error.
  func problem(_ error: ErrorType) -> Page {
    let routes = subject.chapters.flatMap { chapter in
      chapter.operations.filter { $0.problems.contains(error) }.map { operation -> Markup in
        let place = audience.link(Page.slug(chapter.title), operation.id)
        return """
          <li><a href="\(place)">\(operation.route.summary)</a> \
          <code>\(operation.route.name)</code></li>
          """
      }
    }
    let users: Markup =
      error.isCommon
      ? "<p>Every route may return it.</p>" : #"<ul class="index">\#(routes)</ul>"#
    return Page(
      slug: "errors", title: error.code, summary: error.title,
      introduction: """
        <p class="route"><b>\(error.status.code)</b> \(error.status.reason)</p>
        <h2>What to do</h2><p>\(prose: error.remedy)</p><h2>Routes</h2>
        \(users)
        """,
      examples: [figure(of: error)]
    )
  }

  /// Returns the body of an error as an example.
  private func figure(of error: ErrorType) -> Markup {
    .figure(of: error.status, subject.problem(error))
  }
}
