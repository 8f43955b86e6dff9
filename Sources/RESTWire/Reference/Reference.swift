import Declarations
import EventLoop
import JSON
import Runtime
import Records

/// The reference for one audience; a worker renders each page once.
@EventLoop final class Reference {
  private let audience: ReferenceAudience
  private let chapters: [Chapter]
  private let catalog: RecordShape
  /// The rendered pages by their addresses, of which there is a fixed number.
  private var rendered: [String: [UInt8]] = [:]

  private init(for audience: ReferenceAudience, _ catalog: RecordShape) {
    self.audience = audience
    self.catalog = catalog
    chapters = audience == .users ? RESTWire.chaptersOfUsers : RESTWire.chapters
  }

  /// Renders a reference, a part in each turn of the loop, so that other requests run between them.
  static func rendered(
    for audience: ReferenceAudience, _ catalog: RecordShape
  ) async -> Reference {
    let reference = Reference(for: audience, catalog)
    await reference.renderPages()
    _ = reference.frame
    return reference
  }

  /// The OpenAPI document.
  private(set) lazy var document = OpenAPI.document(of: chapters, catalog).serialized()

  private var pages: [ReferencePage] = []

  private func renderPages() async {
    let shapes = OpenAPI.shapes(of: chapters, catalog)
    let examples = RouteExamples(values: ExampleValues(shapes))
    for chapter in chapters {
      await EventLoop.sleep(for: .zero)
      pages.append(ReferencePage(chapter, examples, audience))
    }
    await EventLoop.sleep(for: .zero)
    pages.append(.types(shapes, examples.values, audience))
    if audience == .all { pages.append(.settings(catalog)) }
    pages += [.operators(), .errors()]
    await EventLoop.sleep(for: .zero)
  }

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
