import EventLoop
package import Runtime
package import Sessions

extension APIKeys {
  /// Returns an access token for a key, for a protocol that asks for one before each request.
  ///
  /// The key has one session for that. A new one for each token would end the user's other sessions.
  /// - Parameters:
  ///   - text: the key.
  ///   - user: the user who must own the key.
  ///   - style: the style of the session.
  ///   - context: the context of the request.
  /// - Returns: the token.
  /// - Throws: as `signIn`; `.wrongCredentials` also for a key of another user.
  package static func accessToken(
    by text: String, of user: UserID, as style: SessionStyle, _ context: RequestContext
  ) async throws(Failure) -> String {
    let key = try await shown(text, context)
    guard key.owner == user else { throw .wrongCredentials }
    let credential = VerifiedCredential(of: user, .apiKey(key.id))
    if let standing = try await Sessions.standing(by: credential, as: style, context) {
      context.principal = standing
      return try await Sessions.accessToken(as: style, context)
    }
    return try await SignIn.complete(credential, as: style, context).accessToken
  }
}
