import TestSupport
import Testing

@testable import Localization
@testable import Pages

@Suite struct StructureTests {
  static let catalogs = [
    Catalog.english, .german, .shipped("ar"), .shipped("ja"), .pseudo,
  ]

  @Test(arguments: catalogs.map(\.language))
  func `every page has one heading, one main part and unique ids`(language: String) throws {
    let catalog = try #require(Self.catalogs.first { $0.language == language })
    for (name, page) in Fixtures().pages {
      let document = try HTMLDocument(Fixtures.html(page, catalog))
      let root = try #require(document.elements.first)
      #expect(root.tag == "html" && root["lang"] == language, "\(name)")
      #expect(root["dir"] == catalog.direction.rawValue)
      for tag in ["h1", "main", "header", "footer", "title"] {
        #expect(document.all(tag).count == 1, "\(name): \(tag)")
        #expect(document.all(tag).first?.text.isEmpty == false, "\(name): \(tag)")
      }
      let ids = document.elements.compactMap { $0["id"] }
      #expect(ids.count == Set(ids).count, "\(name): \(ids)")
      #expect(document.elements.allSatisfy { $0["style"] == nil && $0["onclick"] == nil })
    }
  }

  @Test func `every reference of a page leads to an id`() throws {
    for (name, page) in Fixtures().pages {
      let document = try HTMLDocument(Fixtures.html(page))
      let ids = Set(document.elements.compactMap { $0["id"] })
      for element in document.elements {
        for attribute in ["aria-describedby", "aria-labelledby", "for", "aria-controls"] {
          for id in element[attribute]?.split(separator: " ") ?? [] {
            #expect(ids.contains(String(id)), "\(name): \(id)")
          }
        }
        if let target = element["href"], target.hasPrefix("#") {
          #expect(ids.contains(String(target.dropFirst())), "\(name): \(target)")
        }
      }
    }
  }

  @Test func `every field has a label, a name that is its id, and no limit of its length`() throws {
    for (name, page) in Fixtures().pages {
      let document = try HTMLDocument(Fixtures.html(page))
      let labels = document.all("label").compactMap { $0["for"] }
      for input in document.elements.filter({ ["input", "select"].contains($0.tag) }) {
        if input["type"] == "hidden" { continue }
        #expect(input["id"] == input["name"], "\(name)")
        #expect(labels.filter { $0 == input["id"] }.count == 1, "\(name)")
        #expect(input["placeholder"] == nil && input["maxlength"] == nil)
        if input["type"] == "password" {
          #expect(input["value"] == nil)
          #expect(["current-password", "new-password"].contains(input["autocomplete"]))
          let fields = document.all("input").compactMap { $0["autocomplete"] }
          #expect(fields.contains { $0.hasPrefix("username") }, "\(name)")
        }
      }
      for form in document.all("form") {
        #expect(form["method"] == "post" && form["novalidate"] != nil)
      }
      for button in document.all("button") {
        #expect(button["type"] == "submit" && button["disabled"] == nil)
        #expect(!button.text.isEmpty)
      }
      for image in document.all("img") + document.all("svg") {
        let isDecoration = image["aria-hidden"] == "true"
        #expect(isDecoration || image["alt"] != nil || image["aria-label"] != nil, "\(name)")
      }
    }
  }

  @Test func `an error is at its field, or above the fields, and has the focus`() throws {
    for (name, page) in Fixtures().pages where !page.errors.isEmpty {
      let document = try HTMLDocument(Fixtures.html(page))
      let title = try #require(document.all("title").first)
      #expect(title.text.hasPrefix("Error: "), "\(name)")
      let view = PageView(catalog: .english, app: "Northwind")
      let inputs = document.elements.filter { ["input", "select"].contains($0.tag) }
      let count = inputs.count { $0["type"] != "hidden" && $0["readonly"] == nil }
      let summaries = document.elements.filter { $0["class"] == "summary" }
      #expect(summaries.count == (count > 2 ? 1 : 0), "\(name)")
      let focused = document.elements.filter { $0["autofocus"] != nil }
      #expect(focused.count == 1, "\(name)")
      let focus = try #require(focused.first, "\(name)")
      let general = page.errors.filter { error in
        error.field == nil || !inputs.contains { $0["id"] == error.field?.text }
      }
      if !summaries.isEmpty {
        #expect(focus["class"] == "summary" && focus["tabindex"] == "-1", "\(name)")
      } else if general.isEmpty {
        #expect(focus["aria-invalid"] == "true", "\(name)")
      } else {
        #expect(focus["class"] == "notice warning problem" && focus["tabindex"] == "-1", "\(name)")
        let problems = document.elements.filter { $0["class"] == "notice warning problem" }
        #expect(problems.map(\.text) == general.map { view.plain($0.text) }, "\(name)")
      }
      for error in page.errors {
        guard let field = error.field?.text else { continue }
        let input = try #require(document.elements.first { $0["id"] == field }, "\(name): \(field)")
        #expect(input["aria-invalid"] == "true", "\(name)")
        #expect(input["aria-describedby"]?.contains("\(field)-error") == true, "\(name)")
        let text = document.elements.first { $0["id"] == "\(field)-error" }?.text
        let way = error.link.map { " " + view.plain($0.text) } ?? ""
        #expect(text == "Error: " + view.plain(error.text) + way, "\(name)")
        let link = document.elements.first { $0["href"] == "#\(field)" }?.text
        #expect(link == (summaries.isEmpty ? nil : view.plain(error.text)), "\(name)")
      }
    }
  }

  @Test func `pages without an error focus at most one field`() throws {
    for (name, page) in Fixtures().pages where page.errors.isEmpty {
      let document = try HTMLDocument(Fixtures.html(page))
      let focused = document.elements.filter { $0["autofocus"] != nil }
      #expect(focused.count <= 1 && focused.allSatisfy { $0.tag == "input" }, "\(name)")
      let title = document.all("title").first?.text
      #expect(title?.hasPrefix("Error: ") == page.isError, "\(name)")
    }
  }

  /// The marks of the pseudo-language show which texts come from the catalog.
  @Test func `no page has words that the catalog lacks`() throws {
    let names = Fixtures(hostile: "")
    for (name, page) in names.pages {
      let document = try HTMLDocument(Fixtures.html(page, .pseudo))
      let leaves = document.elements.filter { element in
        element.ancestors.contains("main")
          && ["label", "button", "dt", "h1", "h2", "h3", "a"].contains(element.tag)
          && !element.text.isEmpty && element["class"] != "account"
      }
      for leaf in leaves {
        let isMarked = leaf.text.hasPrefix("⟦") && leaf.text.hasSuffix("⟧")
        #expect(isMarked || leaf.text.utf8.allSatisfy { $0 < 0x41 }, "\(name): \(leaf.text)")
      }
    }
  }

  @Test func `fields have the attributes for password managers`() throws {
    let document = try HTMLDocument(
      Fixtures.html(try #require(Fixtures().pages.first { $0.name == "password" }).page)
    )
    let inputs = document.all("input").filter { $0["type"] != "hidden" }
    #expect(inputs.map { $0["name"] } == ["email", "password"])
    #expect(inputs.map { $0["autocomplete"] } == ["username", "current-password"])
    #expect(inputs[0]["readonly"] != nil && inputs[0]["value"] == "ada@example.com")
    #expect(inputs.allSatisfy { $0["spellcheck"] == "false" })
  }
}
