/// The header fields with which a page is sent.
package struct PageHeaders: Sendable, Hashable {
  package let contentSecurityPolicy: String

  /// All fields, with their names.
  ///
  /// The web server adds `X-Content-Type-Options` to every response.
  package var fields: [(name: StaticString, value: String)] {
    [
      ("Content-Type", "text/html; charset=utf-8"),
      ("Content-Security-Policy", contentSecurityPolicy),
      ("Cache-Control", "no-store"),
      // With `no-referrer`, a browser would send the form with `Origin: null`.
      ("Referrer-Policy", "same-origin"),
    ]
  }

  init(_ page: Page, _ branding: Branding) {
    var scripts = ["'self'"]
    var forms: [String]? = ["'self'"]
    var ancestors = "'none'"
    switch page.automation {
    case .refresh, .wait, .signal, nil: break
    case .submit(let nonce):
      scripts.append("'nonce-\(nonce.text)'")
      // Browsers apply it to each redirect of the client too, so no list would be complete.
      forms = nil
    case .post(let message, let nonce):
      scripts.append("'nonce-\(nonce.text)'")
      forms = ["'none'"]
      ancestors = message.origin.text
    }
    var images = ["'self'"]
    images.append(sourcesOf: branding)
    for source in page.images { images.append(source) }
    contentSecurityPolicy = Self.policy(
      scripts: scripts, images: images, connects: page.loadsData, forms: forms,
      ancestors: ancestors
    )
  }

  /// The policy of pages that use only files and forms of this server.
  package static let strictPolicy = policy()
  /// The fields of such pages.
  package static let strict = PageHeaders(strictPolicy)

  /// The fields of pages that also show frames of this server.
  package static let withFrames = PageHeaders(policy(frames: true))

  /// The fields of the HTML part of an email, which has its styles in its elements.
  package static let mail = PageHeaders(
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; "
      + "frame-ancestors 'self'; sandbox")

  /// The fields of a page with this look that a page of this server shows in a frame.
  package static func preview(of branding: Branding) -> PageHeaders {
    var images = ["'self'"]
    images.append(sourcesOf: branding)
    return PageHeaders(policy(images: images, forms: ["'none'"], ancestors: "'self'"))
  }

  private init(_ contentSecurityPolicy: String) {
    self.contentSecurityPolicy = contentSecurityPolicy
  }

  private static func policy(
    scripts: [String] = ["'self'"], images: [String] = ["'self'"], connects: Bool = true,
    forms: [String]? = ["'self'"], ancestors: String = "'none'", frames: Bool = false
  ) -> String {
    var directives = [
      "default-src 'none'", "style-src 'self'", "script-src \(scripts.joined(separator: " "))",
      "img-src \(images.joined(separator: " "))",
    ]
    if frames { directives.append("frame-src 'self'") }
    if connects { directives.append("connect-src 'self'") }
    if let forms { directives.append("form-action \(forms.joined(separator: " "))") }
    directives += ["base-uri 'none'", "frame-ancestors \(ancestors)"]
    return directives.joined(separator: "; ")
  }
}

extension [String] {
  /// Appends the origins of the images of a look.
  fileprivate mutating func append(sourcesOf branding: Branding) {
    let logo = branding.logo
    for source in [logo?.light, logo?.dark, branding.icon].compactMap(\.self) { append(source) }
  }

  /// Appends the origin of an image on another server, once.
  fileprivate mutating func append(_ source: ImageSource) {
    guard let origin = source.destination.origin?.text, !contains(origin) else { return }
    append(origin)
  }
}

extension Page {
  /// Whether scripts of the page may send requests.
  fileprivate var loadsData: Bool {
    switch automation {
    case .wait, .signal, nil: true
    case .refresh, .submit, .post: false
    }
  }

  /// The sources of all images of the page.
  fileprivate var images: [ImageSource] {
    body.flatMap { element -> [ImageSource?] in
      switch element {
      case .accounts(let choices): choices.map(\.person.picture)
      case .person(let person, _): [person.picture]
      case .picture(let picture): [picture.source]
      case .form, .alternatives, .connections, .passkey, .links, .paragraphs, .subheading, .rows,
        .list,
        .codes, .key, .qrCode, .phoneLink:
        []
      }
    }.compactMap(\.self)
  }
}
