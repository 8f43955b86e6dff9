import Declarations
import JSON
import Runtime
import Records

/// The chapters of types and settings.
extension ReferencePage {
  static func types(
    _ shapes: [Shape], _ values: ExampleValues, _ audience: ReferenceAudience
  ) -> ReferencePage {
    let types = TypeMarkup(audience)
    return ReferencePage(
      slug: "types",
      title: "Types",
      summary: "The JSON values of requests and responses. OpenAPI has the same names.",
      words: "shapes schemas models objects",
      sections: shapes.compactMap { shape in
        guard let name = shape.name else { return nil }
        let description = shape.schema["description"]?.string ?? ""
        var prose = Markup()
        prose.add("<p>", prose: description, "</p>")
        if name == Shape.settings.name {
          prose.add("<p><a href=\"\(audience.link("settings"))\">The chapter of settings</a> ")
          prose.add("describes each.</p>")
          return ReferenceSection(id: name, title: name, detail: description, prose: prose.html)
        }
        let members = shape.schema["properties"]?.object?.keys ?? []
        if members.isEmpty {
          var schema = shape.schema
          schema["description"] = nil
          prose.add("<p class=\"kind\">\(types.text(of: .object(schema)))</p>")
        }
        types.addMembers(of: shape, &prose)
        var example = Markup()
        let value = values.value(of: shape)
        if value != .null { example.add(name, example: value.lines()) }
        return ReferenceSection(
          id: name, title: name, detail: description, words: members.joined(separator: " "),
          prose: prose.html, example: example.html
        )
      }
    )
  }

  static func settings(_ catalog: RecordShape) -> ReferencePage {
    let types = TypeMarkup(.all)
    let defaults = catalog.listed(JSONObject()).values
    var example = Markup()
    example.add(
      "Shell, as an API client",
      example: #"""
        curl -s -X PATCH $B/v1/apps/adventure -H "Authorization: Bearer $SECRET" \
          -H 'Content-Type: application/merge-patch+json' -d '{"settings":{"session_days":30}}'
        curl -s $B/v1/apps/adventure -H "Authorization: Bearer $SECRET"
        """#,
      isRun: true
    )
    example.add("Shell, on the server", example: "dossier app set session_days=30")
    return ReferencePage(
      slug: "settings",
      title: "Settings",
      summary: "The settings of an app. `null` resets one to its default.",
      words: "configuration options",
      example: example.html,
      sections: [
        ReferenceSection(
          id: "all-settings",
          title: "All settings",
          detail: "The settings of an app, with their defaults.",
          rows: catalog.columns.map { setting in
            var row = Markup()
            let value = Shape.value(of: setting).reference
            row.add(
              "<li id=\"\(setting.name)\"><code class=\"name\">", text: setting.name, "</code> "
            )
            row.add("<span class=\"kind\">\(types.text(of: value))</span>")
            row.add("<p>", prose: TypeMarkup.sentence(setting.meaning), "</p>")
            row.add(
              "<p>Default: <code>", text: defaults[setting.name]?.text ?? "null", "</code></p></li>"
            )
            return ReferenceRow(
              id: setting.name, title: setting.name, detail: TypeMarkup.sentence(setting.meaning),
              markup: row.html
            )
          }
        )
      ]
    )
  }
}
