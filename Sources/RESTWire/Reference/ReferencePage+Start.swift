import Declarations
import JSON
import Runtime

/// The start of the reference, with the rules of all routes.
extension ReferencePage {
  static let start: ReferencePage = {
    var example = Markup()
    example.add(
      "Web page",
      example: """
        import { Dossier } from "https://users.example.com/dossier.js";
        const dossier = new Dossier("https://users.example.com");
        """)
    var introduction = Markup()
    introduction.add(
      "<p>",
      prose:
        "Bodies are strict JSON (RFC 8259) in UTF-8. A member that the reference does not list is "
        + "refused. Ids are 24 hexadecimal digits, and times are RFC 3339.",
      "</p><p>"
    )
    introduction.add(
      "",
      prose:
        "The examples are for a shell, where `$B` is the URL of the server, and for web pages. "
        + "There `dossier` is this server's client, which stores and refreshes the tokens. ",
      "<a href=\"/dossier.d.ts\">dossier.d.ts</a> documents its members.</p>"
    )
    return ReferencePage(
      slug: "",
      title: "API reference",
      summary: "The user data of apps: sign-in, profiles, documents and properties.",
      example: example.html,
      introduction: introduction.html,
      sections: [authentication, versions, lists, errorsOfAll]
    )
  }()

  private static let authentication = section(
    "authentication",
    "Authentication",
    [
      "Users send `Authorization: Bearer` with their access token, and API clients with their secret. "
        + "A device sends its secret in `Dossier-Device`.",
      "`Dossier-App` selects the app, if the host name does not.",
    ],
    """
    curl "$B/v1/me" \\
      -H "Authorization: Bearer $TOKEN" \\
      -H "Dossier-App: adventure"
    """)

  private static let versions = section(
    "versions",
    "Versions and conflicts",
    [
      "An `ETag` is the version of a resource. Send it back in `If-Match`, and a write fails if another "
        + "client has changed the resource. `If-None-Match: *` on a write requires an absent resource.",
      "The three documents of a user always exist: before their first write they are `{}` in version 0. "
        + "That version counts as absent for `If-None-Match: *` on a write, and as present for "
        + "`If-Match: *` and for reads.",
      "Every route evaluates preconditions. A resource without an `ETag` matches no entity tag.",
    ],
    """
    curl -X PATCH "$B/v1/me/metadata" \\
      -H "Authorization: Bearer $TOKEN" \\
      -H 'Content-Type: application/merge-patch+json' \\
      -H 'If-Match: "7"' \\
      -d '{"theme":"dark"}'
    """)

  private static let lists = section(
    "lists",
    "Lists",
    ["A list has pages. The `Link` of a page leads to the next one. The last page has no `Link`."],
    """
    curl -i "$B/v1/users?limit=50" \\
      -H "Authorization: Bearer $SECRET"
    """)

  private static let errorsOfAll = section(
    "failures",
    "Errors",
    [
      "An error has a stable `code`, and its `type` is the address of a page with the cause and the "
        + "remedy. Errors that every route may return are only in the chapter of errors.",
      "With `Retry-After`, repeat the request later.",
    ],
    Problem(Failure.tokenMissing).json(of: nil).lines()
  )

  private static func section(
    _ id: String, _ title: String, _ paragraphs: [String], _ example: String
  ) -> ReferenceSection {
    var prose = Markup()
    for paragraph in paragraphs { prose.add("<p>", prose: paragraph, "</p>") }
    var panel = Markup()
    panel.add(title, example: example)
    return ReferenceSection(
      id: id, title: title, detail: "The rules of all routes.", prose: prose.html,
      example: panel.html
    )
  }
}
