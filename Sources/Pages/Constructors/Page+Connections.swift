import Localization

// The results of a sign-in at another issuer.
extension Page {
  /// The issuer reported an error, or its answer is not valid.
  ///
  /// - `requestID`: finds the reason in the log of the operator.
  /// - `again`: begins the sign-in at the issuer again.
  /// - `other`: leads to another method, or back to the account.
  package static func connectionFailed(
    _ issuer: String, requestID: String, again: Destination, other: Link? = nil
  ) -> Page {
    failure(
      .connectionFailedTitle, heading: about(issuer, .connectionFailed),
      [
        about(issuer, .connectionFailedText),
        .message(.internalErrorRequest, ["request": .name(requestID)]),
      ],
      links: [Link(.message(.retry), to: again, style: .primary), other]
    )
  }

  /// The issuer does not answer, or refuses the client that the operator has set up.
  ///
  /// - `wait`: the time of `Retry-After`; nil if it is unknown.
  package static func connectionUnavailable(
    _ issuer: String, wait: Duration? = nil, other: Link? = nil
  ) -> Page {
    failure(
      .serviceUnavailable, heading: about(issuer, .connectionUnavailable),
      [wait.map { .message(.tryAgain, ["time": .wait($0)]) } ?? .message(.tryLater)],
      links: [other.map { Link($0.text, to: $0.destination, style: .primary) }]
    )
  }

  /// Why an account of an issuer cannot sign in.
  package enum ConnectionRefusal: Sendable, CaseIterable {
    /// Its organization or the domain of its address is not allowed.
    case notAllowed
    /// The issuer did not state that the user has just signed in there, as the client demands.
    case notConfirmed
    /// It belongs to no user, and the app takes no new ones.
    case signUpClosed
    /// Its address belongs to a user, with whom the app does not link it.
    case addressTaken
  }

  /// The account of the issuer cannot sign in here.
  ///
  /// - `account`: the account as the issuer described it.
  /// - `another`: begins the sign-in at the issuer again, which asks for another account.
  /// - `other`: leads to another method, or back to the account.
  package static func connectionRefused(
    _ issuer: String, _ refusal: ConnectionRefusal, account: Person? = nil,
    another: Destination? = nil, other: Link? = nil
  ) -> Page {
    let text: MessageKey =
      switch refusal {
      case .notAllowed: .connectionNotAllowedText
      case .notConfirmed: .connectionNotConfirmedText
      case .signUpClosed: .connectionSignUpClosedText
      case .addressTaken: .connectionAddressTakenText
      }
    var page = failure(
      .connectionRefusedTitle, heading: about(issuer, .connectionRefused), [about(issuer, text)],
      links: [
        another.map { Link(.message(.useAnotherAccount), to: $0, style: .primary) },
        other.map { Link($0.text, to: $0.destination, style: another == nil ? .primary : nil) },
      ]
    )
    if let account { page.body.insert(.person(account), at: 0) }
    return page
  }

  /// The address of the issuer's account belongs to a user, who may link the account.
  ///
  /// - `signIn`: leads to the sign-in with the address.
  /// - `another`: begins the sign-in at the issuer again, which asks for another account.
  package static func accountExists(
    _ issuer: String, email: String, signIn: Destination, another: Destination? = nil
  ) -> Page {
    var page = Page(title: .accountExists)
    page.introduction = [about(issuer, .accountExistsText)]
    page.body = [
      .person(Person(email: email)),
      .links(
        [
          .next(.signInToLink, to: signIn),
          another.map { Link(.message(.useAnotherAccount), to: $0) },
        ].compactMap(\.self)
      ),
    ]
    return page
  }

  /// Asks before an account of an issuer is linked to a user, whose client has led here.
  ///
  /// A stranger could have sent the URL. So the page names the user.
  package static func linkIdentity(_ target: FormTarget, issuer: String, to person: Person) -> Page
  {
    var page = asking(.linkIdentity, target, [], .link)
    page.introduction = [about(issuer, .linkIdentityText)]
    page.body.insert(.person(person), at: 0)
    return page
  }

  /// Returns the page of a sign-in after which an account of an issuer is linked.
  package func linking(_ issuer: String) -> Page {
    var page = self
    page.notices.append(Notice(.information, Self.about(issuer, .linkingNotice)))
    return page
  }

  /// The user has signed in, but the account of an issuer was not linked.
  ///
  /// - `next`: continues without it.
  /// - `error`: why it was not linked.
  package static func notLinked(next: FormTarget, _ error: PageError) -> Page {
    var page = Page(title: .notLinked)
    page.introduction = [.message(.notLinkedText)]
    page.errors = [error]
    page.body = [.form(Form(next, buttons: [Button(.message(.continue))]))]
    return page
  }

  private static func about(_ issuer: String, _ key: MessageKey) -> Text {
    .message(key, ["issuer": .name(issuer)])
  }
}

extension Link {
  /// Creates the link to the other methods of a sign-in.
  package static func otherSignIn(_ destination: Destination) -> Link {
    Link(.message(.signInAnotherWay), to: destination)
  }

  /// Creates the link to the overview of the account.
  package static func account(_ destination: Destination) -> Link {
    Link(.message(.backToAccount), to: destination)
  }
}
