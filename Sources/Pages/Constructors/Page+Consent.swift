package import Localization

/// A client as the consent page shows it.
package struct ClientDescription: Sendable {
  package let name: String
  package let logo: ImageSource?
  /// The host, or the scheme of a native app, that receives the answer.
  package let target: String
  package let terms: Destination?
  package let privacy: Destination?

  package init(
    name: String, logo: ImageSource? = nil, target: String, terms: Destination? = nil,
    privacy: Destination? = nil
  ) {
    self.name = name
    self.logo = logo
    self.target = target
    self.terms = terms
    self.privacy = privacy
  }
}

/// The scopes of one resource that a client requests.
package struct ScopeGroup: Sendable {
  package let resource: Text
  package let scopes: [Text]

  package init(_ resource: Text, scopes: [Text]) {
    self.resource = resource
    self.scopes = scopes
  }

  /// Returns the group of the scopes of OpenID Connect; nil if the names contain none of them.
  ///
  /// - Source: OpenID Connect Core section 5.4.
  package static func standard(_ names: [String]) -> ScopeGroup? {
    group(.scopeResource, names, standardScopes)
  }

  /// Returns the group of the scopes of the app's own API; nil if the names contain none of them.
  package static func userData(_ names: [String]) -> ScopeGroup? {
    group(.yourData, names, userDataScopes)
  }

  private static func group(
    _ resource: MessageKey, _ names: [String], _ known: [String: MessageKey]
  ) -> ScopeGroup? {
    let scopes = names.compactMap { known[$0] }.map { Text.message($0) }
    return scopes.isEmpty ? nil : ScopeGroup(.message(resource), scopes: scopes)
  }

  private static let standardScopes: [String: MessageKey] = [
    "openid": .scopeOpenID, "profile": .scopeProfile, "email": .scopeEmail, "phone": .scopePhone,
    "offline_access": .scopeOffline,
  ]

  private static let userDataScopes: [String: MessageKey] = [
    "read:current_user": .scopeReadData,
    "create:current_user_metadata": .scopeAddData,
    "update:current_user_metadata": .scopeChangeData,
    "delete:current_user_metadata": .scopeDeleteData,
    "update:current_user_identities": .scopeChangeSignIn,
  ]
}

extension Page {
  /// Asks whether a client may use the account.
  ///
  /// Its buttons send `decision` with `allow` or `deny`. Both look equal.
  /// - `groups`: the scopes that the user has not granted yet.
  /// - `otherUser`: leads to the account chooser.
  package static func consent(
    _ target: FormTarget, client: ClientDescription, person: Person, groups: [ScopeGroup],
    otherUser: Destination? = nil
  ) -> Page {
    var page = Page(
      title: .consentTitle, heading: .message(.consent, ["client": .name(client.name)])
    )
    if let logo = client.logo {
      page.body.append(.picture(Picture(logo, alternative: .name(client.name))))
    }
    page.body.append(.person(person, otherUser.map { Link(.message(.notYou), to: $0) }))
    page.body.append(.subheading(.message(.consentScopes)))
    page.body += groups.map { .list(Group(heading: $0.resource, items: $0.scopes)) }
    page.body.append(
      .paragraphs([
        .message(.consentTarget, ["target": .name(client.target)]), .message(.consentRevocation),
      ])
    )
    let buttons = [
      Button(.message(.deny), style: .secondary, value: HiddenField("decision", "deny")),
      Button(.message(.allow), style: .secondary, value: HiddenField("decision", "allow")),
    ]
    page.body.append(.form(Form(target, buttons: buttons)))
    let links = [
      client.terms.map { Link(.message(.clientTerms), to: $0) },
      client.privacy.map { Link(.message(.clientPrivacy), to: $0) },
    ].compactMap(\.self)
    if !links.isEmpty { page.body.append(.links(links)) }
    return page
  }

  /// Asks whether the user started the sign-in to a native app.
  ///
  /// Any app can register a custom scheme, so only the user can tell a foreign request.
  /// - Source: RFC 8252 section 8.6.
  package static func confirmApplication(
    _ target: FormTarget, client: String, person: Person, cancel: FormTarget
  ) -> Page {
    var page = Page(
      title: .confirmApplicationTitle,
      heading: .message(.confirmApplication, ["client": .name(client)])
    )
    page.introduction = [.message(.confirmApplicationIntroduction, ["client": .name(client)])]
    page.body = [.person(person)]
    page.add(.continue, target, .primary)
    page.add(.cancel, cancel)
    return page
  }

  // MARK: Accounts of a browser

  /// Lets the user choose one of the accounts of this browser.
  package static func chooseAccount(
    _ choices: [AccountChoice], another: FormTarget, signOutAll: FormTarget? = nil
  ) -> Page {
    var page = Page(title: .chooseAccount)
    page.body = [.accounts(choices)]
    page.add(.useAnotherAccount, another)
    if choices.count > 1 { page.add(.signOutAll, signOutAll, .plain) }
    return page
  }

  /// Asks whether to sign out.
  package static func signOut(
    _ target: FormTarget, person: Person? = nil, stay: FormTarget
  ) -> Page {
    var page = Page(title: .signOut, heading: .message(.signOutQuestion))
    if let person { page.body.append(.person(person)) }
    page.add(.signOut, target, .primary)
    page.add(.staySignedIn, stay)
    return page
  }

  /// Reports that the user is signed out.
  ///
  /// - `back`: leads to the client; nil if none is known.
  /// - `next`: the sign-in, or the account chooser if `hasOthers`.
  /// - `hasOthers`: whether other users of the browser stay signed in.
  /// - `issuer`: the label of the issuer where the browser last signed in, and may have a session.
  package static func signedOut(
    back: Link? = nil, next: Destination, hasOthers: Bool, issuer: String? = nil
  ) -> Page {
    var page = Page(title: .signedOutAccount, heading: .message(.signedOut))
    page.symbol = .success
    page.introduction = [.message(hasOthers ? .signedOutOfOne : .signedOutText)]
    if let issuer {
      page.notices = [Notice(.information, .message(.signedOutIssuer, ["issuer": .name(issuer)]))]
    }
    let back = back.map { Link($0.text, to: $0.destination, style: .primary) }
    let link = Link(.message(hasOthers ? .chooseAccount : .signInAgain), to: next)
    page.body = [.links([back, link].compactMap(\.self))]
    return page
  }
}
