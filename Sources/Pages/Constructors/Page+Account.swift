package import Encoding
package import Localization

/// The values that the overview of an account shows.
package struct AccountOverview: Sendable {
  package var person: Person
  /// The name of the user's language, in that language.
  package var language: String?
  package var zone: String?
  package var isVerified: Bool
  package var hasPassword: Bool
  package var hasAuthenticator: Bool
  /// Whether the app demands a second factor, and the user has no other one.
  package var mustKeepAuthenticator = false
  package var recoveryCodes: Int
  package var passkeys = 0
  package var sessions: Int
  package var identities: Int
  /// Whether accounts of issuers can be linked, so that the row is shown without any.
  package var canLink = false
  package var applications: Int
  /// The form that mails a link to verify the address; nil for a verified one.
  package var verification: FormTarget?
  /// Whether the user cannot come back without a verified address.
  package var needsVerification = false

  package init(
    person: Person, language: String? = nil, zone: String? = nil, isVerified: Bool,
    signIn: (hasPassword: Bool, hasAuthenticator: Bool, recoveryCodes: Int),
    counts: (sessions: Int, identities: Int, applications: Int)
  ) {
    self.person = person
    self.language = language
    self.zone = zone
    self.isVerified = isVerified
    hasPassword = signIn.hasPassword
    hasAuthenticator = signIn.hasAuthenticator
    recoveryCodes = signIn.recoveryCodes
    (sessions, identities, applications) = (counts.sessions, counts.identities, counts.applications)
  }
}

/// The pages that the rows of the overview lead to; nil hides the row.
package struct AccountPaths: Sendable {
  package var profile: LocalPath?
  package var picture: LocalPath?
  package var address: LocalPath?
  package var password: LocalPath?
  package var authenticator: LocalPath?
  package var recoveryCodes: LocalPath?
  package var passkeys: LocalPath?
  package var sessions: LocalPath?
  package var identities: LocalPath?
  package var applications: LocalPath?
  package var support: LocalPath?
  package var data: LocalPath?
  package var deletion: LocalPath?

  package init() {}
}

extension Page {
  /// Shows the rows of an account; each row leads to the page of its change.
  ///
  /// - `back`: leads to the client that has sent the user.
  /// - `switchAccount`: the account chooser.
  package static func account(
    _ account: AccountOverview, back: Link? = nil, paths: AccountPaths,
    switchAccount: Destination? = nil, signOut: FormTarget, errors: [PageError] = []
  ) -> Page {
    var page = accountPage(.account)
    page.back = back
    page.errors = errors
    if account.needsVerification, account.verification != nil {
      page.notices = [Notice(.warning, .message(.verificationNeeded))]
    }
    let parts: [(title: MessageKey, rows: [Row])] = [
      (.profile, profileRows(account, paths)), (.signInMethods, signInRows(account, paths)),
      (.access, accessRows(account, paths)), (.data, dataRows(paths)),
    ]
    page.body =
      [.person(account.person)]
      + parts.flatMap { title, rows -> [Element] in
        let rows = rows.filter { !$0.actions.isEmpty }
        return rows.isEmpty ? [] : [.subheading(.message(title)), .rows(rows)]
      }
    page.add(.signOut, signOut)
    page.add(.switchAccount, to: switchAccount)
    return page
  }

  /// Shows who is signed in, or leads to the sign-in: the page of the bare host name.
  package static func start(_ person: Person?, account: Destination) -> Page {
    var page = Page(title: .start, heading: .message(.startHeading))
    page.introduction = person == nil ? [.message(.startText)] : []
    page.body = [
      person.map { .person($0) }, .links([.next(person == nil ? .signIn : .account, to: account)]),
    ].compactMap(\.self)
    return page
  }

  private static func profileRows(_ account: AccountOverview, _ paths: AccountPaths) -> [Row] {
    func profile(_ label: MessageKey, _ value: String?) -> Row {
      Row(
        .message(label), values: [value.map { .name($0) } ?? .message(.notSet)],
        action(.change, paths.profile))
    }
    let image = account.person.picture
    var picture = Row(
      .message(.picture), values: image == nil ? [.message(.nothingYet)] : [],
      action(image == nil ? .upload : .change, paths.picture))
    picture.picture = image
    let email = account.person.email
    var address = Row(
      .message(.email), values: [email.map { .name($0) } ?? .message(.notSet)],
      action(email == nil ? .set : .change, paths.address)
    )
    if email != nil {
      address.badge = .message(account.isVerified ? .verified : .unverified)
      address.isWarning = !account.isVerified
    }
    if let target = account.verification {
      address.actions.insert(.button(Button(.message(.verify), style: .secondary), target), at: 0)
    }
    return [
      picture, profile(.name, account.person.name), profile(.language, account.language),
      profile(.timeZone, account.zone), address,
    ]
  }

  /// Returns a count; words for none.
  private static func count(_ key: MessageKey, _ number: Int) -> [Text] {
    [number == 0 ? .message(.nothingYet) : .message(key, ["count": .count(number)])]
  }

  private static func signInRows(_ account: AccountOverview, _ paths: AccountPaths) -> [Row] {
    let passkeys = Row(
      .message(.passkeys), values: count(.passkeyCount, account.passkeys),
      action(account.passkeys == 0 ? .setUp : .show, paths.passkeys))
    var rows = [
      passkeys,
      Row(
        .message(.password),
        values: [.message(account.hasPassword ? .passwordIsSet : .nothingYet)],
        action(account.hasPassword ? .change : .set, paths.password)
      ),
      Row(
        .message(.authenticatorApp),
        values: [.message(account.hasAuthenticator ? .authenticatorIsOn : .authenticatorIsOff)],
        action(
          !account.hasAuthenticator ? .setUp : account.mustKeepAuthenticator ? .replace : .turnOff,
          paths.authenticator)
      ),
    ]
    if account.hasAuthenticator {
      rows.append(
        Row(
          .message(.recoveryCodes),
          values: [.message(.recoveryCodesLeft, ["count": .count(account.recoveryCodes)])],
          action(.replace, paths.recoveryCodes)
        )
      )
    }
    return rows
  }

  private static func accessRows(_ account: AccountOverview, _ paths: AccountPaths) -> [Row] {
    [
      Row(
        .message(.sessions), values: count(.sessionCount, account.sessions), show: paths.sessions
      ),
      Row(
        .message(.identities), values: count(.identityCount, account.identities),
        show: account.identities > 0 || account.canLink ? paths.identities : nil
      ),
      Row(
        .message(.applications), values: count(.applicationCount, account.applications),
        show: account.applications > 0 ? paths.applications : nil
      ),
      Row(.message(.support), values: [.message(.supportText)], show: paths.support),
    ]
  }

  private static func dataRows(_ paths: AccountPaths) -> [Row] {
    [
      Row(.message(.yourData), values: [.message(.yourDataText)], show: paths.data),
      Row(
        .message(.deleteAccount), values: [.message(.deleteAccountText)],
        action(.delete, paths.deletion, .danger)
      ),
    ]
  }

  private static func action(
    _ key: MessageKey, _ path: LocalPath?, _ style: Button.Style? = nil
  ) -> [Row.Action] {
    path.map { [.link(Link(.message(key), to: Destination($0), style: style))] } ?? []
  }

  static func accountPage(_ title: MessageKey, back: Destination? = nil) -> Page {
    Page(title: title).inAccount(back: back)
  }

  /// Returns the page with the layout of the account, and a link back to the overview.
  package func inAccount(back: Destination? = nil) -> Page {
    var page = self
    page.layout = .account
    if let back { page.back = Link(.message(.backToAccount), to: back) }
    return page
  }
}

extension Row {
  fileprivate init(_ label: Text, values: [Text] = [], _ actions: [Action]) {
    self.init(label, values: values, badge: nil, actions: actions)
  }

  fileprivate init(_ label: Text, values: [Text], show path: LocalPath?) {
    let link = path.map { Action.link(Link(.message(.show), to: Destination($0))) }
    self.init(label, values: values, badge: nil, actions: link.map { [$0] } ?? [])
  }
}

// MARK: Lists of an account

/// A session of the user, as its page shows it.
package struct SessionDescription: Sendable {
  package let device: Text
  /// The place of the network address, such as a city.
  package let place: String?
  /// The clients that got their sessions from this one.
  package let clients: [String]
  /// When it was used last, or else when it began.
  package let time: CalendarTime
  /// Whether it was used after it began.
  package let isUsed: Bool
  package let isCurrent: Bool
  /// The pages that undo what the session, or one that a client got from it, has written.
  package let undos: [Undo]
  package let end: FormTarget?

  /// An undo of what a session has written.
  package struct Undo: Sendable {
    /// The client of the session; nil if the description has no other session to undo.
    let client: String?
    let page: LocalPath

    package init(of client: String?, _ page: LocalPath) {
      (self.client, self.page) = (client, page)
    }
  }

  package init(
    device: Text, place: String? = nil, clients: [String] = [],
    time: CalendarTime, isUsed: Bool = false, isCurrent: Bool = false, undos: [Undo] = [],
    end: FormTarget? = nil
  ) {
    self.device = device
    self.place = place
    self.clients = clients
    (self.time, self.isUsed) = (time, isUsed)
    self.isCurrent = isCurrent
    self.undos = undos
    self.end = end
  }
}

/// An identity of the user at another issuer.
package struct IdentityDescription: Sendable {
  package let issuer: Text
  package let mark: ConnectionMark?
  /// The address or the name at the issuer.
  package let account: String?
  package let linkedOn: CalendarDay?
  package let lastUsed: CalendarDay?
  /// Unlinks the identity; nil for the last way to sign in.
  package let unlink: FormTarget?

  package init(
    issuer: Text, mark: ConnectionMark? = nil, account: String? = nil, linkedOn: CalendarDay? = nil,
    lastUsed: CalendarDay? = nil, unlink: FormTarget? = nil
  ) {
    self.issuer = issuer
    self.mark = mark
    self.account = account
    (self.linkedOn, self.lastUsed) = (linkedOn, lastUsed)
    self.unlink = unlink
  }
}

/// A client that the user gave access.
package struct ApplicationDescription: Sendable {
  package let name: String
  /// The scopes as the consent page groups them.
  package let groups: [ScopeGroup]
  package let grantedOn: CalendarDay
  package let remove: FormTarget

  package init(name: String, groups: [ScopeGroup], grantedOn: CalendarDay, remove: FormTarget) {
    self.name = name
    self.groups = groups
    self.grantedOn = grantedOn
    self.remove = remove
  }
}
