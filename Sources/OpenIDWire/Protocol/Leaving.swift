import EventLoop
import HTTP
import OpenID
import Pages
import Runtime
import Sessions
import WireKit

/// The user of a sign-out that a client asks for without proof.
@EventLoop struct Leaving {
  /// Nil for all users of the browser, whose sessions at clients have outlived those at the pages.
  private let user: UserID?
  private let person: Person?

  /// Returns the user of a request that names none: the active user, or else the first.
  ///
  /// - Returns: nil if no user has a session that would end.
  /// - Throws: `.databaseUnavailable`.
  static func unnamed(_ call: Call) async throws(Failure) -> Leaving? {
    let users = try await BrowserUsers.all(call.context)
    if let user = users.first(where: \.isActive) ?? users.first {
      return Leaving(user: user.user, person: call.person(user))
    }
    let known = try await call.usersOfBrowser().map(\.user)
    guard try await BrowserUsers.haveClientSessions(known, call.context) else { return nil }
    return Leaving(user: nil, person: nil)
  }

  /// Returns a user of the browser; nil if the user has no session there that would end.
  ///
  /// - Throws: `.databaseUnavailable`.
  static func named(_ user: DeviceUser, _ call: Call) async throws(Failure) -> Leaving? {
    if user.state == .loggedOut {
      guard try await BrowserUsers.haveClientSessions([user.user], call.context) else { return nil }
    }
    let picture = call.image(user.picture)
    return Leaving(
      user: user.user, person: Person(name: user.name, email: user.email, picture: picture)
    )
  }

  /// Signs out, and makes no other user active.
  ///
  /// - Throws: `.databaseUnavailable`.
  func signOut(_ call: Call) async throws(Failure) {
    guard let user else { return try await call.signOutAllOfBrowser() }
    try await Devices.logout(user, next: .none, call.context)
  }

  /// Returns the page that asks the user.
  ///
  /// - Parameters:
  ///   - confirmation: the path of its form, which has `stay` if the user declines.
  ///   - path: what the form belongs to.
  ///   - fields: what the form sends beside the answer.
  ///   - call: the request.
  ///   - locales: the languages that the client prefers.
  /// - Returns: the page.
  func question(
    _ confirmation: LocalPath, of path: String, _ fields: [HiddenField], _ call: Call,
    locales: [String] = []
  ) -> Response {
    let page = Page.signOut(
      call.target(confirmation, of: path, fields), person: person,
      stay: call.target(confirmation, of: path, fields + [.stay])
    )
    return call.response(with: page, locales: locales)
  }
}

extension HiddenField {
  fileprivate static let stay = HiddenField("stay", "1")
}

extension FormValues {
  /// Whether the user has chosen to stay signed in.
  var declinesSignOut: Bool { self[HiddenField.stay.name] != nil }
}

extension Call {
  /// Leads back to the client, if it has registered where; otherwise says that the user is signed out.
  ///
  /// - Parameters:
  ///   - client: the id of the client, which may not exist; nil if none is known.
  ///   - url: where the browser goes; nil for our page.
  ///   - afterForm: whether the browser has just sent one of our forms, as in `HandOver`.
  /// - Returns: the response.
  /// - Throws: `.internalError` if the state of our page cannot be encrypted.
  func signedOut(by client: String?, to url: String?, afterForm: Bool) throws(Failure) -> Response {
    guard let url else {
      let values = client.map { [Call.signedOutClient: $0] } ?? [:]
      let done = LocalPath(checked: LogoutRoutes.donePath)
      return try redirect(to: done, showing: PageState(values: values))
    }
    if afterForm, let destination = Destination(url, of: RedirectTarget(url)) {
      return response(with: .handOver(to: destination), hasLanguages: false)
    }
    return Response(request.method == .get ? .found : .seeOther, redirectingTo: url)
  }
}
