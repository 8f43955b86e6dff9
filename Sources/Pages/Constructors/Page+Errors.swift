import Localization

// The pages for errors that no field can mend.
extension Page {
  /// The client id of the request does not exist.
  package static func unknownApplication(back: Destination? = nil) -> Page {
    failure(.unknownApplication, [.message(.unknownApplicationText)], links: toApp(back))
  }

  /// The redirect URI is not registered, so the error must not be sent to it.
  package static func unregisteredRedirect(client: String, uri: String) -> Page {
    failure(
      .unregisteredRedirect,
      [
        .message(.unregisteredRedirectText, ["client": .name(client)]),
        .message(.unregisteredRedirectURI, ["uri": .name(uri)]),
      ]
    )
  }

  /// The sign-in took too long, or its page was a bookmark.
  package static func expired(restart: Destination?) -> Page {
    failure(
      .signInExpired, [.message(.signInExpiredText)],
      links: [restart.map { .next(.startAgain, to: $0) }]
    )
  }

  /// The sign-in of the address began in another browser, such as that of an app, or this one
  /// refuses cookies.
  package static func otherBrowser(restart: Destination) -> Page {
    failure(
      .otherBrowser, [.message(.otherBrowserText)], links: [.next(.startAgain, to: restart)]
    )
  }

  package static func cookiesDisabled(reload: Destination) -> Page {
    failure(.cookiesNeeded, [.message(.cookiesNeededText)], links: [.next(.reload, to: reload)])
  }

  /// Too many attempts or requests.
  ///
  /// - `wait`: the time of `Retry-After`.
  package static func throttled(wait: Duration) -> Page {
    failure(.throttled, [.message(.tryAgain, ["time": .wait(wait)])])
  }

  /// The account is blocked; only for a user who has entered the right credentials.
  ///
  /// - `client`: the name of the client, and where the browser tells it so; nil for none.
  package static func blocked(
    support: Destination? = nil, client: (name: String, error: Destination)? = nil
  ) -> Page {
    failure(
      .accountBlocked,
      [.message(.accountBlockedText)],
      links: [
        client.map { .back(to: $0.name, at: $0.error) },
        support.map { Link(.message(.contactSupport), to: $0) },
      ]
    )
  }

  package static func unavailable(wait: Duration) -> Page {
    failure(.serviceUnavailable, [.message(.serviceUnavailableText, ["time": .wait(wait)])])
  }

  /// The link of a mail has expired or was used.
  package static func expiredLink(next: Link) -> Page {
    failure(.linkExpired, [.message(.linkExpiredText)], links: [next])
  }

  /// The request is malformed, or the account does not permit it.
  package static func refused() -> Page {
    failure(.requestRefused, [.message(.requestRefusedText)])
  }

  package static func notFound(back: Destination? = nil) -> Page {
    failure(.pageNotFound, [.message(.pageNotFoundText)], links: toApp(back))
  }

  /// An error of the server.
  ///
  /// - `requestID`: finds the error in the log of the operator; nil if the log does not have it.
  package static func internalError(requestID: String?, support: Destination? = nil) -> Page {
    let id = requestID.map { Text.message(.internalErrorRequest, ["request": .name($0)]) }
    return failure(
      .internalError, [.message(.internalErrorText), id].compactMap(\.self),
      links: [support.map { Link(.message(.contactSupport), to: $0) }]
    )
  }

  private static func toApp(_ back: Destination?) -> [Link?] {
    [back.map { .next(.backToApp, to: $0) }]
  }

  static func failure(
    _ title: MessageKey, heading: Text? = nil, _ texts: [Text], links: [Link?] = []
  ) -> Page {
    var page = Page(title: title, heading: heading)
    page.isError = true
    page.introduction = texts
    let links = links.compactMap(\.self)
    if !links.isEmpty { page.body = [.links(links)] }
    return page
  }
}
