// The pages for errors that no field can mend.
extension Page {
  /// The client id of the request does not exist.
  package static func unknownApplication() -> Page {
    failure(.unknownApplication, [.message(.unknownApplicationText)])
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
      .signInExpired,
      [.message(.signInExpiredText)],
      links: restart.map { [.next(.startAgain, to: $0)] } ?? []
    )
  }

  package static func cookiesDisabled(reload: Destination) -> Page {
    failure(
      .cookiesNeeded,
      [.message(.cookiesNeededText)],
      links: [.next(.reload, to: reload)]
    )
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
    support: Destination? = nil,
    client: (name: String, error: Destination)? = nil
  ) -> Page {
    failure(
      .accountBlocked,
      [.message(.accountBlockedText)],
      links: [
        client.map { Link(.message(.backToClient, ["client": .name($0.name)]), to: $0.error) },
        support.map { Link(.message(.contactSupport), to: $0) },
      ].compactMap(\.self)
    )
  }

  package static func unavailable(wait: Duration) -> Page {
    failure(.serviceUnavailable, [.message(.serviceUnavailableText, ["time": .wait(wait)])])
  }

  /// The link of a mail has expired or was used.
  package static func expiredLink(request: Destination?) -> Page {
    failure(
      .linkExpired,
      [.message(.linkExpiredText)],
      links: request.map { [.next(.requestNewLink, to: $0)] } ?? []
    )
  }

  /// The request is malformed, or the account does not permit it.
  package static func refused() -> Page {
    failure(.requestRefused, [.message(.requestRefusedText)])
  }

  package static func notFound(back: Destination? = nil) -> Page {
    failure(
      .pageNotFound,
      [.message(.pageNotFoundText)],
      links: back.map { [.next(.backToApp, to: $0)] } ?? []
    )
  }

  /// An error of the server.
  ///
  /// - `requestID`: finds the error in the log of the operator; nil if the log does not have it.
  package static func internalError(requestID: String?, support: Destination? = nil) -> Page {
    let id = requestID.map { Text.message(.internalErrorRequest, ["request": .name($0)]) }
    return failure(
      .internalError,
      [.message(.internalErrorText), id].compactMap(\.self),
      links: support.map { [Link(.message(.contactSupport), to: $0)] } ?? []
    )
  }

  private static func failure(_ title: MessageKey, _ texts: [Text], links: [Link] = []) -> Page {
    var page = Page(title: title)
    page.isError = true
    page.introduction = texts
    if !links.isEmpty { page.body = [.links(links)] }
    return page
  }
}

// The errors of fields and submissions, with their numbers of the specification.
extension PageError {
  package static let emailMissing = PageError(.message(.emailMissing), field: .email)
  package static let emailMalformed = PageError(.message(.emailMalformed), field: .email)
  package static let nameMalformed = PageError(.message(.nameMalformed), field: "name")
  package static let passwordMissing = PageError(.message(.passwordMissing), field: .password)
  package static let newPasswordMissing = PageError(
    .message(.passwordMissing),
    field: .newPassword
  )
  package static let signInWrong = PageError(.message(.signInWrong), field: .password)
  package static let passwordWrong = PageError(.message(.passwordWrong), field: .password)
  package static let mailCodeWrong = PageError(.message(.mailCodeWrong), field: .code)
  package static let codeExpired = PageError(.message(.codeExpired), field: .code)
  package static let codeAttempts = PageError(.message(.codeAttempts), field: .code)
  package static let authenticatorCodeWrong = PageError(
    .message(.authenticatorCodeWrong),
    field: .code
  )
  package static let recoveryCodeWrong = PageError(
    .message(.recoveryCodeWrong),
    field: .recoveryCode
  )
  package static let passwordCommon = PageError(.message(.passwordCommon), field: .newPassword)
  package static let passwordPersonal = PageError(
    .message(.passwordPersonal),
    field: .newPassword
  )
  package static let passwordLong = PageError(.message(.passwordLong), field: .newPassword)
  package static let emailTaken = PageError(.message(.emailTaken), field: .email)
  package static let emailSame = PageError(.message(.emailSame), field: .email)
  package static let mailUnavailable = PageError(.message(.mailUnavailable))
  package static let signUpClosed = PageError(.message(.signUpClosed))
  package static let methodClosed = PageError(.message(.methodClosed))
  package static let browserFull = PageError(.message(.browserFull))
  package static let factorLimit = PageError(.message(.factorLimit))
  package static let lastIdentity = PageError(.message(.lastIdentity))
  package static let changedMeanwhile = PageError(.message(.changedMeanwhile))
  package static let signInExpired = PageError(.message(.signInExpiredText))
  package static let pictureMissing = PageError(.message(.pictureMissing), field: "picture")
  package static let pictureUnreadable = PageError(.message(.pictureUnreadable), field: "picture")
  package static let confirmationWrong = PageError(
    .message(.confirmationWrong),
    field: "confirmation"
  )

  package static func codeMalformed(digits: Int) -> PageError {
    PageError(.message(.codeMalformed, ["count": .count(digits)]), field: .code)
  }

  package static func passwordShort(minimum: Int) -> PageError {
    PageError(.message(.passwordShort, ["count": .count(minimum)]), field: .newPassword)
  }

  package static func attempts(wait: Duration) -> PageError {
    PageError(.message(.throttledText, ["time": .wait(wait)]))
  }

  package static func unavailable(wait: Duration) -> PageError {
    PageError(.message(.serviceUnavailableText, ["time": .wait(wait)]))
  }
}
