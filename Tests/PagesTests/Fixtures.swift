import TestSupport
import Encoding
import JSON
import Testing

@testable import Localization
@testable import Pages

/// The values from which the tests make pages; all texts from outside can be replaced by one text.
struct Fixtures {
  /// A text that replaces all texts from outside; nil for plausible ones.
  var hostile: String?

  func text(_ text: String) -> String { hostile ?? text }

  // Literals, so a missing value is a mistake of the test.
  static func path(_ text: String) -> LocalPath { LocalPath(text) ?? root }
  static func link(_ text: String) -> Destination { Destination(path(text)) }
  private static let root: LocalPath = {
    guard let path = LocalPath("/") else { preconditionFailure("/ is a path") }
    return path
  }()

  func target(_ action: String = "/u/t/0123/step") -> FormTarget {
    FormTarget(Self.path(action), hidden: [HiddenField("step", text("c3RlcA"))])
  }

  var email: String { text("ada@example.com") }
  var name: String { text("Ada Lovelace") }
  var back: Destination { Self.link("/account") }
  var picture: ImageSource { ImageSource(Self.path("/picture.svg")) }
  var person: Person { Person(name: name, email: email, picture: picture) }

  static let nonce = required(Nonce(bytes: Array(0..<16)))
  static let clientOrigin = required(Origin(url: "https://client.example"))
  static let callback = required(Destination(url: "https://client.example/cb?code=a&state=b"))

  static func wayBack(_ client: String) -> Link {
    Link(.message(.backToClient, ["client": .name(client)]), to: callback)
  }

  static func required<Value>(_ value: Value?) -> Value {
    guard let value else { preconditionFailure("a literal of the tests is malformed") }
    return value
  }

  static let branding = Branding(name: "Northwind")
  static let renderer = renderer(branding)

  static func renderer(_ branding: Branding) -> PageRenderer {
    PageRenderer(
      branding: branding,
      assets: PageAssets(stylesheet: path("/pages.css"), script: path("/pages.js"))
    )
  }

  static func context(_ catalog: Catalog) -> PageContext {
    PageContext(
      catalog: catalog,
      languages: [
        LanguageLink(.english, path("/u/t/0123?language=en")),
        LanguageLink(.german, path("/u/t/0123?language=de")),
      ],
      footer: [
        Link(.message(.terms), to: link("/terms")), Link(.message(.privacy), to: link("/privacy")),
        Link(.message(.help), to: link("/help")),
      ],
      printed: .message(.grantedOn, ["day": .day(CalendarDay(number: 20_000))])
    )
  }

  static func html(_ page: Page, _ catalog: Catalog = .english) -> String {
    renderer.html(page, context(catalog))
  }

  /// Each page in each state, by a name for files.
  var pages: [(name: String, page: Page)] {
    signInPages + connectionPages + passkeyPages + consentPages + accountPages + otherPages
  }
}

extension PageError {
  /// Returns an error of a form as a page shows it.
  static func form(
    _ kind: FormError.Kind, _ number: Int? = nil, link: Link? = nil
  ) -> PageError {
    FormError(kind, number).pageError(link)
  }
}

/// A language in which each text is marked and longer, as translations may be.
extension Catalog {
  static let pseudo: Catalog = {
    let texts = MessageKey.allCases.map { key -> (String, JSON) in
      let forms = Catalog.english.messages[key]?.forms ?? [:]
      let texts = forms.map { category, form in
        let pieces = form.pieces.map { piece in
          switch piece {
          case .words(let words): lengthened(words)
          case .placeholder(let name): "{{\(name)}}"
          }
        }
        return (category.rawValue, JSON.string("⟦\(pieces.joined())⟧"))
      }
      return (key.rawValue, .object(JSONObject(texts)))
    }
    do {
      return try Catalog("en-xa", direction: .rightToLeft, texts: .object(JSONObject(texts)))
    } catch {
      preconditionFailure("\(error)")
    }
  }()

  /// Returns the words with accents, and every second vowel twice.
  private static func lengthened(_ words: String) -> String {
    words.map { letter in
      switch letter {
      case "a": "áá"
      case "e": "ê"
      case "i": "ïï"
      case "o": "öö"
      case "u": "û"
      case "n": "ñ"
      case "s": "š"
      default: String(letter)
      }
    }.joined()
  }
}
