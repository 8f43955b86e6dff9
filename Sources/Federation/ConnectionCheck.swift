package import EventLoop
import Glibc
package import JSON
import OpenIDClient
import Outbound
package import Runtime
import Tenancy

/// A check of a connection, without a user: what an operator could have set wrong.
@EventLoop package enum ConnectionCheck {
  /// A thing that was checked.
  package struct Line: Sendable {
    let name: String
    /// Why it is wrong; nil if it is right.
    let fault: String?
    let detail: String
  }

  package struct Result: Sendable {
    let redirectURI: String
    let lines: [Line]

    package var isRight: Bool { lines.allSatisfy { $0.fault == nil } }

    package var json: JSON {
      [
        "redirect_uri": .string(redirectURI),
        "checks": .array(
          JSONArray(
            lines.map { line in
              [
                "check": .string(line.name), "ok": .bool(line.fault == nil),
                "detail": .string(line.fault ?? line.detail),
              ]
            })),
      ]
    }
  }

  /// Days before its expiry at which a secret is reported.
  private static let warning = 30

  /// Checks a connection.
  ///
  /// It sends the token endpoint a code that nobody has issued: a service that knows the app answers
  /// `invalid_grant`, and another one `invalid_client`.
  /// - Parameters:
  ///   - connection: the connection.
  ///   - issuer: the issuer of its app, with its slash.
  ///   - context: the context of the request, in that app.
  /// - Returns: what was checked.
  /// - Throws: `.overloaded`, `.internalError` if the secret cannot be decrypted.
  package static func run(
    _ connection: Connection, of issuer: String, _ context: RequestContext
  ) async throws(Failure) -> Result {
    var lines = [Line(name: "secret", fault: secretFault(connection), detail: "it is not expiring")]
    let uri = Redirects.uri(of: connection, issuer)
    func result() -> Result { Result(redirectURI: uri, lines: lines) }
    let provider: Provider
    do throws(Failure) {
      provider = try await context.upstream.provider(of: connection)
      lines.append(Line(name: "discovery", fault: nil, detail: provider.authorizationURL))
    } catch {
      guard error.is(.connectionUnavailable) else { throw error }
      lines.append(Line(name: "discovery", fault: error.report ?? error.type.title, detail: ""))
      return result()
    }
    if let url = provider.keysURL {
      let fault = try await keyFault(connection, provider, context)
      lines.append(Line(name: "keys", fault: fault, detail: url))
    }
    let fault = try await tokenFault(connection, provider, uri, context)
    lines.append(Line(name: "token", fault: fault, detail: provider.tokenURL))
    return result()
  }

  private static func secretFault(_ connection: Connection) -> String? {
    guard let days = connection.daysOfSecret, days <= warning else { return nil }
    return days < 0
      ? "the secret expired \(-days) days ago" : "the secret expires in \(days) days; replace it"
  }

  private static func keyFault(
    _ connection: Connection, _ provider: Provider, _ context: RequestContext
  ) async throws(Failure) -> String? {
    do throws(Failure) {
      return try await context.upstream.hasKeys(provider, of: connection)
        ? nil : "its key set has no key that can verify"
    } catch {
      guard error.is(.connectionUnavailable) else { throw error }
      return error.report ?? error.type.title
    }
  }

  private static func tokenFault(
    _ connection: Connection, _ provider: Provider, _ uri: String, _ context: RequestContext
  ) async throws(Failure) -> String? {
    let credentials = try connection.credentials(context)
    do throws(OpenIDClientError) {
      let request = try TokenRequest(
        exchanging: "dossier-check", redirectURI: uri,
        verifier: provider.usesPKCE ? String(repeating: "x", count: 43) : nil, credentials,
        at: provider, now: time(nil))
      let answer = try await send(request, connection, context)
      _ = try TokenResponse(status: answer.status, body: answer.body, of: provider)
      return "it accepted a code that nobody has issued"
    } catch .refused(let code, _) {
      return ["invalid_client", "unauthorized_client"].contains(code)
        ? "it answers \(code): compare client_id and client_secret" : nil
    } catch {
      return error.rule
    }
  }

  private static func send(
    _ request: TokenRequest, _ connection: Connection, _ context: RequestContext
  ) async throws(OpenIDClientError) -> HTTPAnswer {
    do throws(Failure) {
      return try await context.upstream.send(HTTPCall(request), to: connection)
    } catch {
      throw .invalidTokenResponse(rule: error.report ?? error.type.title)
    }
  }
}
