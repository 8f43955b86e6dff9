package import Administration
package import ConsolePages
import Encoding
package import EventLoop
package import HTTP
import HostedPages
package import JSON
import OpenID
package import Pages
import PasswordHashes
import RateLimiting
package import Runtime
import Tenancy
import Sessions
package import WireKit

/// The response to a form.
package enum ConsoleOutcome {
  /// The form is done; the next page reports it.
  case done(LocalPath, String, name: String = "", values: [ConsoleState.Value: String] = [:])
  /// The form is shown again.
  case refused(ConsolePage, Status)
  case redirect(LocalPath)
}

/// A request of an administrator, for a page or by a form.
@EventLoop package final class ConsoleVisit {
  /// Returns what a page shows, or where it leads.
  package typealias Finding<Result> =
    @EventLoop @Sendable (ConsoleVisit) async throws(Failure) -> Result
  /// Does the work of a form.
  package typealias Handling<Form, Result> =
    @EventLoop @Sendable (ConsoleVisit, Form) async throws(Failure) -> Result

  package let call: Call
  package let session: ConsoleSession
  /// The app in the path; nil for pages of the deployment.
  package private(set) var app: String?
  /// The apps of the administrator.
  private let apps: [App]
  /// The state that the last form has left.
  package let state: ConsoleState

  package var context: RequestContext { call.context }
  package var right: AdministratorRight { session.administrator.right }
  /// The app in the path of an app's page.
  package var place: String { app ?? "-" }

  /// Checks the right of the administrator where no operation of `/v1` does.
  ///
  /// - Throws: `.roleInsufficient`.
  package func require(_ right: AdministratorRight) throws(Failure) {
    guard self.right >= right else {
      throw .roleInsufficient(
        "This needs \(right.name).", members: [("right", .string(right.name))])
    }
  }

  /// Finds the session of the browser; nil if it has none that is live.
  ///
  /// - Throws: `.tooManyAttempts`, `.unknownApp`, `.databaseUnavailable`.
  package init?(_ call: Call) async throws(Failure) {
    guard let cookie = Cookie.value(of: Self.cookie, in: call.request.field(.cookie)),
      let session = try await ConsoleSessions.find(cookie, call.context)
    else { return nil }
    let limit = RateLimit(
      "console", of: [session.administrator.id.text], burst: Self.requests, in: .seconds(60),
      isReported: false, call.context.keys.master)
    try await RateLimitSet([limit], call.context).spend()
    self.call = call
    self.session = session
    app = call.captures["app"]
    apps = try await call.context.apps.all().filter { session.administrator.mayUse($0.id) }
    if let app {
      let found = try await call.context.apps.app(named: app, host: nil)
      guard session.administrator.mayUse(found.id) else { throw .unknownApp }
    }
    state = ConsoleState(of: call, session: session.session.text)
  }

  /// Creates the visit of a session that begins with this request.
  package init(_ call: Call, _ session: ConsoleSession) {
    (self.call, self.session, app, apps) = (call, session, nil, [])
    state = ConsoleState()
  }

  /// Shows the page in the frame of an app that the administrator may use, and of none otherwise.
  package func enter(app name: String) {
    app = apps.first { $0.name.hasSameBytes(as: name) }?.name
  }

  /// The most requests of an administrator in a minute.
  private static let requests = 600
  /// The most apps to choose from in the bar.
  private static let mostApps = 20

  // MARK: Cookies

  package static let cookie = "__Host-dossier-console"
  /// Whether single keys are shortcuts: on or off.
  package static let keysCookie = "__Host-dossier-console-keys"
  private static let deviceCookie = "__Host-dossier-console-device"
  /// The longest session.
  private static let lifetime = Duration.seconds(43_200)

  /// Gives the sign-in the device of the browser, so that it does not count as a new one.
  package static func findDevice(_ call: Call) {
    call.context.device = Cookie.value(of: deviceCookie, in: call.request.field(.cookie)).flatMap {
      DeviceCredential($0, isCookie: true, call.context)
    }
  }

  /// Sets the cookies of a session.
  package static func keep(_ session: ConsoleSession, in response: inout Response) {
    response.add(.setCookie, Cookie.setting(cookie, to: session.cookie, for: lifetime, .lax))
    guard let device = session.deviceSecret else { return }
    response.add(
      .setCookie, Cookie.setting(deviceCookie, to: device, for: Cookie.longestLifetime, .lax))
  }

  /// Deletes the cookie of the session.
  package static func forget(in response: inout Response) {
    response.add(.setCookie, Cookie.setting(cookie, to: "", for: .zero, .lax))
  }

  // MARK: Routes

  /// Returns the route of a page.
  ///
  /// - Parameters:
  ///   - pattern: the path.
  ///   - right: the right without which the page is refused, before it asks for a password.
  ///   - isRecent: whether the administrator must have authenticated within the last minutes.
  ///   - summary: what the page shows.
  ///   - show: returns the page.
  /// - Returns: the route.
  package nonisolated static func page(
    _ pattern: String, for right: AdministratorRight = .viewer, isRecent: Bool = false,
    _ summary: String, _ show: @escaping Finding<ConsolePage>
  ) -> Route {
    shown(pattern, for: right, isRecent: isRecent, summary) { (visit) async throws(Failure) in
      visit.response(try await show(visit))
    }
  }

  /// Returns the route of a page with a response of its own.
  package nonisolated static func shown(
    _ pattern: String, for right: AdministratorRight = .viewer, isRecent: Bool = false,
    _ summary: String, _ show: @escaping Finding<Response>
  ) -> Route {
    Route(.get, pattern, access: .open, summary: summary) { (call) async throws(Failure) in
      guard let visit = try await ConsoleVisit(call) else { return AccessPages.signIn(call, to: 0) }
      do throws(Failure) {
        try visit.require(right)
        if isRecent, !visit.session.isRecent { return AccessPages.confirm(call, to: 0) }
        return try await show(visit)
      } catch {
        return visit.response(to: error, back: nil)
      }
    }
  }

  /// Returns the route of content that a page shows, such as a preview in a frame.
  package nonisolated static func content(
    _ pattern: String, _ summary: String,
    _ read: @escaping Finding<Response>
  ) -> Route {
    Route(.get, pattern, access: .open, summary: summary) { (call) async throws(Failure) in
      guard let visit = try await ConsoleVisit(call) else { return AccessPages.signIn(call, to: 0) }
      return try await read(visit)
    }
  }

  /// Returns the route of a page that may lead elsewhere.
  package nonisolated static func lead(
    _ pattern: String, _ summary: String,
    _ find: @escaping Finding<ConsoleOutcome>
  ) -> Route {
    shown(pattern, summary) { (visit) async throws(Failure) in
      try visit.response(to: try await find(visit))
    }
  }

  /// Returns the route of a form.
  ///
  /// - Parameters:
  ///   - pattern: the path.
  ///   - steps: the number of segments by which the path is longer than that of its page.
  ///   - limit: the longest body, in bytes.
  ///   - right: the right without which the form is refused, before it asks for a password.
  ///   - isRecent: whether the administrator must have authenticated within the last minutes.
  ///   - summary: what the form does.
  ///   - work: returns the response.
  /// - Returns: the route.
  package nonisolated static func form(
    _ pattern: String, below steps: Int = 0, limit: Int = 65_536,
    for right: AdministratorRight = .viewer, isRecent: Bool = false, _ summary: String,
    _ work: @escaping Handling<FormValues, ConsoleOutcome>
  ) -> Route {
    posted(pattern, below: steps, limit: limit, for: right, isRecent: isRecent, summary) {
      (visit, form) async throws(Failure) in
      try await visit.call.respondOnce(
        to: form, keyed: { .init($0, of: visit.session.administrator) },
        orShow: visit.call.pagePath(above: steps)
      ) { () async throws(Failure) in
        try visit.response(to: try await work(visit, form))
      }
    }
  }

  /// Returns the route of a form with a response of its own, such as one that sets cookies.
  package nonisolated static func posted(
    _ pattern: String, below steps: Int = 0, limit: Int = 65_536,
    for right: AdministratorRight = .viewer, isRecent: Bool = false, _ summary: String,
    _ work: @escaping Handling<FormValues, Response>
  ) -> Route {
    Route(.post, pattern, access: .open, body: .of(.form, limit: limit), summary: summary) {
      (call) async throws(Failure) in
      try call.requireOrigin()
      guard case .form(let form) = call.body else { throw .formForged }
      let kept = KeptForm(form, call, page: call.pagePath(above: steps), doing: summary)
      let found: ConsoleVisit?
      do throws(Failure) {
        found = try await ConsoleVisit(call)
      } catch {
        return try AccessPages.retry(call, keeping: kept, after: error)
      }
      guard let visit = found else { return try AccessPages.signIn(call, keeping: kept) }
      try visit.requireToken(form[tokenName].map { Array($0.utf8) })
      do throws(Failure) {
        try visit.require(right)
        if isRecent, !visit.session.isRecent {
          return try AccessPages.confirm(visit, keeping: kept)
        }
        return try await work(visit, form)
      } catch {
        if error.is(.reauthenticationRequired) {
          return try AccessPages.confirm(visit, keeping: kept)
        }
        return visit.response(to: error, back: call.pagePath(above: steps), keeping: kept)
      }
    }
  }

  // MARK: Forms

  package nonisolated static let tokenName = "token"

  /// Checks the token of a form.
  ///
  /// - Throws: `.formForged` unless it belongs to this session and to the path of the request.
  package func requireToken(_ token: [UInt8]?) throws(Failure) {
    guard let token, areSame(token, Array(self.token(of: String(call.request.path)).utf8)) else {
      throw .formForged
    }
  }

  private func token(of path: String) -> String {
    let text = "console form \(path)\0\(session.session.text)"
    return context.keys.master.mark(of: Array(text.utf8), by: 0).base64URL
  }

  /// Returns the target of a form that only this session can send, and that has one effect.
  package func target(_ path: LocalPath, _ hidden: [HiddenField] = []) -> FormTarget {
    FormTarget(path, hidden: [HiddenField(Self.tokenName, token(of: path.text)), .once()] + hidden)
  }

  /// Returns a path below the app of the visit.
  package func path(_ segments: String..., query: [(name: String, value: String)] = []) -> LocalPath
  {
    .console([place] + segments, query: query)
  }

  // MARK: Responses

  package var frame: ConsoleFrame {
    let administrator = session.administrator
    var frame = ConsoleFrame(
      app: app, administrator: session.email, role: administrator.role.rawValue,
      sections: sections(of: administrator),
      apps: Array(apps.map(\.name).sorted().prefix(Self.mostApps)),
      signOut: target(.console("-", "sign-out"))
    )
    frame.hasKeys = hasKeys
    return frame
  }

  /// Whether single keys are shortcuts for the administrator.
  package var hasKeys: Bool {
    Cookie.value(of: Self.keysCookie, in: call.request.field(.cookie)) != "off"
  }

  private func sections(of administrator: Administrator) -> [ConsoleSection] {
    ConsoleSection.allCases.filter { section in
      if section.isOfDeployment { return right >= .deployment }
      switch section {
      case .keys: return right >= .owner
      case .support: return right >= .support
      case .transfer, .webhooks, .logStreams: return right >= .admin
      default: return true
      }
    }
  }

  package func response(_ page: ConsolePage, _ status: Status = .ok) -> Response {
    var page = page
    if let notice = state.values[.notice], page.notice == nil, page.mistakes.isEmpty {
      let name = state.values[.name] ?? ""
      page.notice = "\(notice)\(if: !name.isEmpty, " \(Part.address(name))")"
    }
    var frame = frame
    frame.query = FormValues(call.request.query)?["q"] ?? ""
    return ConsoleResponses.response(
      ConsoleResponses.shell.html(page, in: frame), status, hasFrames: page.hasFrames)
  }

  package func response(to outcome: ConsoleOutcome) throws(Failure) -> Response {
    switch outcome {
    case .done(let path, let notice, let name, let values):
      var state = ConsoleState(values)
      state.values[.notice] = notice
      if !name.isEmpty { state.values[.name] = name }
      return call.redirect(
        to: try state.path(path, session: session.session.text, call))
    case .refused(let page, let status): return response(page, status)
    case .redirect(let path): return call.redirect(to: path)
    }
  }

  /// Returns the page of a failure, in the frame.
  ///
  /// - Parameters:
  ///   - failure: the failure.
  ///   - back: the page of the form; nil without one.
  ///   - form: the form, which the page offers to send again if it may succeed later.
  /// - Returns: the page.
  package func response(
    to failure: Failure, back: LocalPath?, keeping form: KeptForm? = nil
  ) -> Response {
    call.failure = failure
    if failure.is(.sessionEnded) { return AccessPages.signIn(call, to: 0) }
    var page = ConsoleResponses.failure(failure, request: "\(call.request.id)")
    if failure.type.kind == .notFound, let app {
      page.body = [Part.paragraph("There is no such thing in \(app). It may have been deleted.")]
    }
    if failure.type.kind == .notFound { page.body.append(Part.search(in: place)) }
    if failure.is(.roleInsufficient) {
      let role = session.administrator.role.rawValue
      let needed = failure.members.first { $0.name == "right" }?.value.string
      let who = AdministratorRight.allCases.first { $0.name == needed }?.holders
      page.body = [
        Part.paragraph(
          "Your role (\(role)) is not enough for this. "
            + "\(who.map { "\($0) can do it. " } ?? "")An owner can change your role.")
      ]
    }
    if let back {
      page.back = ConsoleLink("Back", to: back)
      if !failure.faults.isEmpty {
        page.body.append("<ul>\(failure.faults.map { "<li>\($0.detail)</li>" as Markup })</ul>")
      }
    }
    if let form, failure.isTemporary {
      page.body.insert(
        "\(AccessPages.keptSentence)\(form.markup(self, "Send it again"))", at: page.body.count - 1)
    }
    var response = response(page, ConsoleResponses.status(of: failure))
    if let time = failure.retryAfter { response.add(.retryAfter, String(time.wholeSeconds)) }
    return response
  }
}

extension Call {
  /// Checks that a page of this host has sent the form.
  ///
  /// Browsers send `Origin` with each POST.
  /// - Throws: `.formForged`.
  package func requireOrigin() throws(Failure) {
    guard let origin = request.field(.origin), isOwn(origin: origin) else { throw .formForged }
  }

  /// Returns the path of the request without its last segments, which is that of a form's page.
  package func pagePath(above steps: Int) -> LocalPath {
    let segments = request.path.split(separator: "/", omittingEmptySubsequences: false)
    return LocalPath(segments.dropLast(steps).joined(separator: "/")) ?? .console()
  }
}

extension HiddenField {
  /// Returns the field with the version that a page shows; empty for a resource without one.
  package static func version(_ version: Int?) -> HiddenField {
    HiddenField("version", version.map { "\($0)" } ?? "")
  }
}

extension FormValues {
  /// The version that the page of the form has shown; nil without one.
  package var version: Int? { self["version"].flatMap { Int($0) } }

  /// The version that the page of the form has shown.
  ///
  /// - Throws: `.formForged` without one.
  package var seenVersion: Int {
    get throws(Failure) {
      guard let version else { throw .formForged }
      return version
    }
  }
}

extension FormValues {
  /// Returns the versions that the page of the form has shown, by key.
  ///
  /// - Parameter name: the name of the field.
  /// - Returns: the versions.
  /// - Throws: `.formForged` without them.
  package func versions(in name: String) throws(Failure) -> JSONObject {
    guard let versions = (try? JSON.parse(Array((self[name] ?? "").utf8)))?.object else {
      throw .formForged
    }
    return versions
  }
}

extension Failure {
  /// Returns the errors of a form, each at its field if the form has one.
  ///
  /// - Parameters:
  ///   - fields: the names of the fields.
  ///   - names: the names of fields by the pointers that they stand for, if these differ.
  /// - Returns: at least one error.
  package func mistakes(_ fields: [String], naming names: [String: String] = [:]) -> [Mistake] {
    guard !faults.isEmpty else {
      return [Mistake(ConsoleResponses.explanation(of: self).joined(separator: " "))]
    }
    return faults.map { fault in
      let first = fault.place.split(separator: "/").first.map(String.init) ?? ""
      let field = names[fault.place] ?? names[first] ?? first
      let isShown = fields.contains { $0.utf8.elementsEqual(field.utf8) }
      let isInside = names[fault.place] == nil && fault.place.split(separator: "/").count > 1
      let rest = isInside ? " (\(fault.place))" : ""
      guard isShown else { return Mistake("\(fault.place): \(fault.detail)") }
      return .rule(fault.code, fault.detail + rest, field: field)
    }
  }

  /// Whether the same request may succeed later.
  package var isTemporary: Bool {
    switch type.kind {
    case .tooMany, .unavailable: true
    default: false
    }
  }

  /// Whether the user can mend the form.
  package var isMendable: Bool {
    switch type.kind {
    case .invalid, .conflict, .malformed, .tooLarge, .tooMany, .precondition: true
    default: false
    }
  }
}
