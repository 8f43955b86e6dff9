package import Declarations
package import EventLoop
package import JSON
import Pages
package import Records
package import Runtime

/// The reference for one audience: pages, their search, and the OpenAPI document.
///
/// A worker renders each page once.
@EventLoop package final class Reference {
  /// The subjects of the reference: routes, settings and errors.
  package struct Subject: Sendable {
    let chapters: [Chapter]
    let settings: RecordShape
    /// The types of error, by status and code.
    let errors: [ErrorType]
    /// Returns the body of an error, as an example.
    let problem: @Sendable (ErrorType) -> JSON

    package init(
      _ chapters: [Chapter], _ settings: RecordShape, _ errors: [ErrorType],
      problem: @escaping @Sendable (ErrorType) -> JSON
    ) {
      (self.chapters, self.settings) = (chapters, settings)
      (self.errors, self.problem) = (errors, problem)
    }
  }

  /// The readers for whom the reference is rendered.
  package enum Audience: Sendable {
    case all
    /// Without the routes for API clients and operators.
    case users

    /// The query of the reference's links.
    var query: String { self == .users ? "?for=users" : "" }

    /// Returns the address of a page, or of a place in it.
    func link(_ page: String, _ place: String? = nil) -> String {
      let path = page.isEmpty ? "" : "/\(page)"
      return "/reference\(path)\(query)\(place.map { "#\($0)" } ?? "")"
    }
  }

  /// The origin that a page has instead of that of the deployment.
  nonisolated static let origin = "https://users.example.com"

  /// A page whose examples have the origin of the reader's deployment.
  package struct Rendered: Sendable {
    private let parts: [[UInt8]]

    fileprivate init(_ markup: Markup) {
      parts = Array(markup.html.utf8)
        .split(separator: Reference.origin.utf8, omittingEmptySubsequences: false).map(Array.init)
    }

    /// Returns the page for a deployment.
    package func bytes(at origin: String) -> [UInt8] {
      Array(parts.joined(separator: origin.utf8))
    }
  }

  /// The maximum number of characters of a search.
  package nonisolated static let queryLimit = 100

  private let builder: PageBuilder
  private var pages: [Page] = []
  /// The rendered pages by their addresses, of which there is a fixed number.
  private var rendered: [String: Rendered] = [:]

  /// The references that this worker has made.
  private static var references: [Audience: Reference] = [:]
  /// The references in the making, which requests that arrive meanwhile share.
  private static var makings: [Audience: SharedTask<Reference, Never>] = [:]

  private init(_ builder: PageBuilder) { self.builder = builder }

  /// Returns the worker's reference for an audience, and makes it once.
  package static func shared(for audience: Audience, _ subject: Subject) async -> Reference {
    if let reference = references[audience] { return reference }
    let making = makings[audience] ?? SharedTask()
    makings[audience] = making
    let task = making.begin {
      let reference = await made(for: audience, subject)
      references[audience] = reference
      return reference
    }
    return await task.value.get()
  }

  /// Makes a reference, a page in each turn of the loop, so that other requests run between them.
  static func made(for audience: Audience, _ subject: Subject) async -> Reference {
    let reference = Reference(PageBuilder(subject, audience))
    for page in reference.builder.pages {
      await EventLoop.sleep(for: .zero)
      reference.pages.append(page())
    }
    await EventLoop.sleep(for: .zero)
    return reference
  }

  /// The OpenAPI document.
  package private(set) lazy var document =
    OpenAPI.document(
      of: builder.chapters, builder.shapes, builder.subject.errors, builder.endpoints
    ).serialized()

  private lazy var view = PageView(audience: builder.audience, pages: pages)
  private lazy var index = SearchIndex([builder.start] + pages, builder.audience)

  /// The page with the list of chapters.
  package var start: Rendered { once("") { view.start(builder.start) } }

  /// Returns the page of a chapter, or nil if there is no such chapter.
  package func chapter(_ slug: String) -> Rendered? {
    guard let index = pages.firstIndex(where: { $0.slug.hasSameBytes(as: slug) }) else {
      return nil
    }
    return once(pages[index].slug) { view.chapter(index) }
  }

  /// Returns the page of a kind of error.
  package func problem(_ type: ErrorType) -> Rendered {
    once("problems/\(type.code)") { view.problem(builder.problem(type)) }
  }

  /// Returns the page with the results of a search.
  package func results(for query: String) -> Rendered {
    Rendered(view.results(index.places(matching: query), for: query))
  }

  /// Returns the reference for all readers as JSON: the pages by their paths, the files of the pages,
  /// the OpenAPI document, and the places that the search finds.
  package static func site(_ subject: Subject) async -> JSON {
    let reference = await made(for: .all, subject)
    func text(_ bytes: [UInt8]) -> JSON { .string(String(decoding: bytes, as: UTF8.self)) }
    func text(_ page: Rendered) -> JSON { text(page.bytes(at: origin)) }
    var pages = JSONObject([("/reference", text(reference.start))])
    for page in reference.pages {
      pages[reference.builder.audience.link(page.slug)] = reference.chapter(page.slug).map(text)
    }
    for error in subject.errors {
      pages["/problems/\(error.code)"] = text(reference.problem(error))
    }
    return [
      "pages": .object(pages), "openapi": text(reference.document),
      "stylesheet": .string(ReferenceFiles.stylesheetText),
      "script": text(PackageResources.reference_js), "places": reference.index.json,
    ]
  }

  private func once(_ address: String, _ render: () -> Markup) -> Rendered {
    if let page = rendered[address] { return page }
    let page = Rendered(render())
    rendered[address] = page
    return page
  }
}
