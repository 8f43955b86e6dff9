import Declarations
import EventLoop
import JSON
import Runtime

/// The reference for one audience; a worker renders each page once.
@EventLoop final class Reference {
  private let audience: ReferenceAudience
  private let chapters: [Chapter]
  private let catalog: SettingsCatalog
  /// The rendered pages by their addresses, of which there is a fixed number.
  private var rendered: [String: [UInt8]] = [:]

  init(for audience: ReferenceAudience, _ catalog: SettingsCatalog) {
    self.audience = audience
    self.catalog = catalog
    chapters = audience == .users ? RESTWire.chaptersOfUsers : RESTWire.chapters
  }

  /// The OpenAPI document.
  private(set) lazy var document = OpenAPI.document(of: chapters, catalog).serialized()

  private lazy var pages: [ReferencePage] = {
    let shapes = OpenAPI.shapes(of: chapters, catalog)
    let values = ExampleValues(shapes)
    let examples = RouteExamples(values: values)
    var pages = chapters.map { ReferencePage($0, examples, audience) }
    pages.append(.types(shapes, values, audience))
    if audience == .all { pages.append(.settings(catalog)) }
    return pages + [.operators(), .errors()]
  }()

  private lazy var frame = ReferenceFrame(audience, pages)
  private lazy var index = SearchIndex(pages, audience)

  /// The page with the list of chapters.
  var start: [UInt8] {
    once("") { $0.start() }
  }

  /// Returns the page of a chapter, or nil if there is no such chapter.
  func chapter(_ slug: String) -> [UInt8]? {
    guard let page = pages.first(where: { $0.slug.hasSameBytes(as: slug) }) else { return nil }
    return once(page.slug) { $0.chapter(page) }
  }

  /// Returns the page of a kind of error.
  func problem(_ type: ErrorType) -> [UInt8] {
    once("problems/\(type.code)") { $0.problem(.problem(type, in: chapters)) }
  }

  /// Returns the page with the results of a search.
  func results(for query: String) -> [UInt8] {
    Array(frame.results(index.places(matching: query), for: query).utf8)
  }

  private func once(_ address: String, _ render: (ReferenceFrame) -> String) -> [UInt8] {
    if let page = rendered[address] { return page }
    let page = Array(render(frame).utf8)
    rendered[address] = page
    return page
  }
}
