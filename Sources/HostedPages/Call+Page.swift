import Accounts
import Encoding
import EventLoop
import Glibc
package import HTTP
import JSON
import Localization
package import OpenID
package import Pages
package import Runtime
package import Tenancy
import WireKit
import Records

extension Call {
  /// The pages of the app of the request.
  package var pages: PagesOfApp { context.dependencies[AppPages.self].pages(of: context.app) }

  /// Returns a page as a response.
  ///
  /// - Parameters:
  ///   - page: the page.
  ///   - status: the status; 200 for all pages but those of failures.
  ///   - locales: the languages that the client of an authorization prefers, by preference.
  ///   - hasLanguages: whether the page has links to itself in other languages; false for the
  ///     response to a POST, which has no address.
  /// - Returns: the response, with the cookies of the browser.
  package func response(
    with page: Pages.Page, _ status: Status = .ok, locales: [String] = [], hasLanguages: Bool = true
  ) -> Response {
    let pages = pages
    let catalog = catalog(locales)
    let links = hasLanguages && request.method != .post ? languageLinks(pages.languages) : []
    let view = PageContext(
      catalog: catalog,
      languages: links,
      footer: pages.footer,
      printed: .message(
        .printedOn, ["time": .time(CalendarTime(seconds: time(nil), nanoseconds: 0))]
      )
    )
    var response = Response(status)
    response.body = Array(pages.renderer.html(page, view).utf8)
    response.add(.contentLanguage, catalog.language)
    response.add(pages.renderer.headers(of: page))
    if let chosen = chosenLanguage {
      response.add(
        .setCookie,
        Cookie.setting(LanguageCookie.name, to: chosen, for: Cookie.longestLifetime, .lax)
      )
    }
    keepBrowser(in: &response)
    return response
  }

  /// Returns a redirect to a page of this server, as after each form.
  package func redirect(to path: LocalPath) -> Response {
    var response = Response(.seeOther, redirectingTo: path.text)
    keepBrowser(in: &response)
    return response
  }

  /// Returns the redirect to the URL of another service, at which the user signs in.
  package func redirect(toService url: String) -> Response {
    var response = Response(.found, redirectingTo: url)
    response.add(.referrerPolicy, literal: "no-referrer")
    keepBrowser(in: &response)
    return response
  }

  /// Returns new recovery codes as a text file, in the language of the page that shows them.
  package func recoveryCodeFile(_ codes: [String], locales: [String] = []) -> Response {
    let now = CalendarTime(seconds: time(nil), nanoseconds: 0)
    let text = pages.renderer.recoveryCodeFile(codes, savedAt: now, in: catalog(locales))
    var response = Response(.ok)
    response.body = Array(text.utf8)
    response.add(.contentType, literal: "text/plain; charset=utf-8")
    response.add(.contentDisposition, literal: "attachment; filename=\"recovery-codes.txt\"")
    response.add(.cacheControl, literal: "no-store")
    return response
  }

  // MARK: Languages

  /// Shows the page in the language of the active user of the browser, if the browser has chosen none.
  ///
  /// A page needs no language, so a failure counts as none.
  package func findProfileLanguage() async {
    findSignInDevice()
    guard languageOfBrowser == nil else { return }
    let active = (try? await browserUsers())?.first { $0.isActive }
    if let locale = active?.locale { context.keep(ProfileLanguage(locale)) }
  }

  /// Sends the mails of this request in the language of its page, unless users have another one.
  package func mailInLanguageOfPage(_ locales: [String] = []) {
    context.languages = [catalog(locales).language]
  }

  /// Returns the texts of the language of the page.
  func catalog(_ locales: [String]) -> Catalog {
    pages.languages.best(
      for: LanguagePreference(
        choice: languageOfBrowser,
        uiLocales: locales.isEmpty ? nil : locales.joined(separator: " "),
        profile: context.part(ProfileLanguage.self)?.locale,
        acceptLanguage: request.field(.acceptLanguage)
      )
    )
  }

  /// The language that a link of this page or of an earlier one has selected; nil without one.
  private var languageOfBrowser: String? {
    chosenLanguage ?? Cookie.value(of: LanguageCookie.name, in: request.field(.cookie))
  }

  /// The language that a link of the page has selected; nil without one.
  private var chosenLanguage: String? {
    guard let tag = FormValues(request.query)?[LanguageCookie.parameter] else { return nil }
    return pages.languages.catalogs.map(\.language).first { $0.utf8.elementsEqual(tag.utf8) }
  }

  /// Returns the links that show this page in each language.
  private func languageLinks(_ languages: Languages) -> [LanguageLink] {
    let start = "\(LanguageCookie.parameter)="
    let query = request.query.split(separator: "&").filter { !$0.hasPrefix(start) }
    return languages.catalogs.compactMap { catalog in
      let query = (query + ["\(start)\(catalog.language)"]).joined(separator: "&")
      return LocalPath("\(request.path)?\(query)").map { LanguageLink(catalog, $0) }
    }
  }
}

/// The language in the profile of the user of a page.
@EventLoop private final class ProfileLanguage: RequestPart {
  let locale: String

  init(_ locale: String) { self.locale = locale }
}

/// The cookie with the language that a user has chosen on a page.
private enum LanguageCookie {
  static let name = "__Host-dossier-language"
  /// The parameter of the links that choose a language.
  static let parameter = "lang"
}

extension Call {
  /// Does the work of a form.
  ///
  /// - Parameters:
  ///   - wrong: the error of a wrong password or code on this page.
  ///   - flow: the flow of a mailed code; nil for other work.
  ///   - work: the work.
  /// - Returns: the errors that the page of the form shows; none if the work is done.
  /// - Throws: a failure that has a page of its own.
  package func errors(
    wrong: FormError.Kind, flow: String? = nil, of work: @EventLoop () async throws(Failure) -> Void
  ) async throws(Failure) -> [FormError] {
    do throws(Failure) {
      try await work()
      return []
    } catch {
      guard let errors = FormError.errors(of: error, wrong: wrong, in: context.app) else {
        throw error
      }
      // For the log, which has no other trace of it.
      failure = error
      guard error.is(.invalidCode), let flow else { return errors }
      switch try await AuthenticationFlow.triesLeft(of: flow, context) {
      case nil: return [FormError(.codeExpired)]
      case 0: return [FormError(.codeAttempts)]
      case let left: return [FormError(wrong, left)]
      }
    }
  }

  /// Returns a page with the errors of its last form.
  ///
  /// After too many attempts, the status is 429, and `Retry-After` has the time of the next one.
  package func response(
    with page: Pages.Page, errors: [FormError], locales: [String] = []
  ) -> Response {
    let throttled = errors.first { $0.kind == .attempts || $0.kind == .unavailable }
    let status: Status =
      switch throttled?.kind {
      case .attempts: .tooManyRequests
      case .unavailable: .unavailable
      default: .ok
      }
    var response = response(with: page, status, locales: locales)
    if let throttled { response.add(.retryAfter, String(throttled.number ?? 1)) }
    return response
  }

  /// Returns a redirect to the page of a form, which then shows the errors.
  package func redirect(to path: LocalPath, showing state: PageState) throws(Failure) -> Response {
    redirect(to: try state.path(path, self))
  }
}

extension Response {
  /// Adds the header fields of a page.
  package mutating func add(_ headers: PageHeaders) {
    for field in headers.fields { add(FieldName(field.name), field.value) }
  }
}

extension LocalPath {
  /// The page of the bare host name.
  package static let start = LocalPath(checked: "/")
  /// The account page, where a browser without an authorization begins.
  package static let account = LocalPath(checked: "/account")
  /// The page that mails a link to a new password.
  package static let passwordReset = LocalPath(checked: "/u/reset")

  /// Wraps a path of the pages, in which values from outside are percent-encoded.
  package init(checked text: String) {
    guard let path = LocalPath(text) else {
      preconditionFailure("\(text) is not the path of a page")
    }
    self = path
  }

  /// Returns the path with a parameter in its query.
  package func with(_ name: String, _ value: String) -> LocalPath {
    let mark = text.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
    return LocalPath(checked: "\(text)\(mark)\(name)=\(PercentCoding.encode(value))")
  }
}

extension Destination {
  package static let account = Destination(LocalPath.account)

  /// Checks a URL that begins as a registered one; nil for a scheme that pages never open.
  package init?(_ url: String, of target: RedirectTarget) {
    if target.isOfWeb {
      self.init(url: url)
    } else {
      self.init(url: url, registeredScheme: target.scheme)
    }
  }
}

extension Pages.Page.CompletedTask {
  /// The path of the page that reports it.
  package var path: LocalPath { LocalPath(checked: "/u/done/\(rawValue)") }

  /// The page that reports it.
  package var page: Pages.Page {
    switch self {
    case .addressConfirmed, .alreadyVerified, .accountDeleted:
      .done(self, next: .next(.backToApp, to: Destination(.start)))
    case .addressRestored, .passwordSaved:
      .done(self, next: .next(.signIn, to: Destination(.account)))
    }
  }
}

extension ScopeGroup {
  /// Returns scopes as users read them, by resource.
  package static func groups(of scopes: [String], at server: ResourceServer?) -> [ScopeGroup] {
    if server?.provided == .userData {
      return [ScopeGroup.standard(scopes), .userData(scopes)].compactMap(\.self)
    }
    let own = (server?.scopes ?? []).filter { scope in
      scopes.contains { $0.hasSameBytes(as: scope.name) }
    }
    let texts = own.map { Text.name($0.description.isEmpty ? $0.name : $0.description) }
    return [
      ScopeGroup.standard(scopes),
      texts.isEmpty ? nil : ScopeGroup(.name(server?.name ?? ""), scopes: texts),
    ].compactMap(\.self)
  }
}
