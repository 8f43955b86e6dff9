package import EventLoop
import Glibc
package import JSON
import OpenIDClient
import Outbound
package import Runtime
import Tenancy
import Records

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
    /// Nil in an app without a host name, to which no redirect leads.
    let redirectURI: String?
    /// The URI for logout tokens; nil if the service sends none.
    let logoutURI: String?
    /// The URI to which the service leads back after a sign-out there; nil if it has no sign-out.
    let signedOutURI: String?
    let lines: [Line]

    package var isRight: Bool { lines.allSatisfy { $0.fault == nil } }

    package var json: JSON {
      [
        "redirect_uri": redirectURI.map(JSON.string) ?? .null,
        "backchannel_logout_uri": logoutURI.map(JSON.string) ?? .null,
        "post_logout_redirect_uri": signedOutURI.map(JSON.string) ?? .null,
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
  /// It sends the token endpoint a code that it has not issued: a service that knows the app answers
  /// `invalid_grant`, and another one `invalid_client`.
  /// - Parameters:
  ///   - connection: the connection.
  ///   - issuer: the issuer of its app, with its slash; nil if the app has no host name.
  ///   - context: the context of the request, in that app.
  /// - Returns: what was checked.
  /// - Throws: `.overloaded`, `.internalError` if the secret cannot be decrypted.
  package static func run(
    _ connection: Connection, of issuer: String?, _ context: RequestContext
  ) async throws(Failure) -> Result {
    let uri = issuer.map { Redirects.uri(of: connection, $0) }
    let missing =
      "the app has no host name, so no browser comes back from the service: dossier app host set "
      + "--app \(context.app.name) HOST, then check again"
    var lines = [
      Line(name: "host", fault: uri == nil ? missing : nil, detail: issuer ?? ""),
      secretLine(connection),
    ]
    var (logoutURI, signedOutURI): (String?, String?)
    func result() -> Result {
      Result(redirectURI: uri, logoutURI: logoutURI, signedOutURI: signedOutURI, lines: lines)
    }
    let provider: Provider
    do throws(Failure) {
      provider = try await context.upstream.provider(of: connection)
      if provider.logsOutByBackchannel {
        logoutURI = issuer.map { IssuerLogout.uri(of: connection, $0) }
      }
      if provider.endSessionURL != nil {
        signedOutURI = issuer.map { "\($0)\(Redirects.signedOutPath)" }
      }
      lines.append(Line(name: "discovery", fault: nil, detail: provider.authorizationURL))
      lines.append(scopeLine(connection, provider))
    } catch {
      guard error.is(.connectionUnavailable) else { throw error }
      lines.append(Line(name: "discovery", fault: error.report ?? error.type.title, detail: ""))
      return result()
    }
    if let url = provider.keysURL {
      let fault = try await keyFault(connection, provider, context)
      lines.append(Line(name: "keys", fault: fault, detail: url))
    }
    let (fault, clock) = try await tokenFaults(connection, provider, uri, context)
    lines.append(Line(name: "token", fault: fault, detail: provider.tokenURL))
    lines.append(Line(name: "clock", fault: clock, detail: "it agrees with that of the service"))
    return result()
  }

  /// Services need not list all scopes that they accept.
  private static func scopeLine(_ connection: Connection, _ provider: Provider) -> Line {
    let asked = connection.usualScopes
    let unlisted = asked.filter { scope in
      provider.scopes?.contains(where: scope.hasSameBytes) == false
    }
    let detail =
      unlisted.isEmpty
      ? asked.joined(separator: " ")
      : "scopes_supported of the service lacks \(unlisted.joined(separator: " ")): it may ignore it"
    return Line(name: "scopes", fault: nil, detail: detail)
  }

  private static func secretLine(_ connection: Connection) -> Line {
    let preset = connection.preset
    let place = preset.consoleURL.map { " at \($0)" } ?? ""
    var (fault, detail): (String?, String) = (nil, "it is not expiring")
    if let days = connection.daysOfSecret, let day = connection.secretExpiresAt {
      detail = "it expires on \(day)"
      if days <= warning {
        fault =
          days < 0
          ? "the secret expired on \(day); make another one\(place), and set client_secret"
          : "the secret expires on \(day), in \(days) days; make another one\(place)"
      }
    } else if let days = preset.secretLifetimeDays {
      detail =
        "secrets of \(preset.title) expire after \(days) days at most: set secret_expires_at to the "
        + "day that stands\(place), for a warning in time"
    }
    return Line(name: "secret", fault: fault, detail: detail)
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

  /// Returns what is wrong at the token endpoint, and with the clocks.
  private static func tokenFaults(
    _ connection: Connection, _ provider: Provider, _ uri: String?, _ context: RequestContext
  ) async throws(Failure) -> (token: String?, clock: String?) {
    let credentials = try connection.credentials(context)
    var clock: String?
    func result(_ fault: String?) -> (String?, String?) { (fault, clock) }
    do throws(OpenIDClientError) {
      let grant = try CodeGrant(
        "dossier-check", redirectURI: uri,
        verifier: provider.usesPKCE ? String(repeating: "x", count: 43) : nil)
      let request = try TokenRequest(
        exchanging: grant, credentials, at: provider, now: time(nil))
      let answer = try await send(request, connection, context)
      clock = clockFault(answer)
      _ = try TokenResponse(status: answer.status, body: answer.body, of: provider)
      return result("it accepted a code that it has not issued")
    } catch .refused(let code, _) {
      // GitHub has a code of its own for a wrong secret.
      let isOfClient = ["invalid_client", "unauthorized_client", "incorrect_client_credentials"]
        .contains(code)
      return result(
        isOfClient ? "it answers \(code): compare client_id and client_secret" : nil)
    } catch {
      return result(error.rule)
    }
  }

  /// The greatest difference of the clocks, in seconds: that which ID tokens may have.
  private static let leeway = 60

  private static func clockFault(_ answer: HTTPAnswer) -> String? {
    guard let theirs = answer.date else { return nil }
    let ahead = theirs - time(nil)
    guard abs(ahead) > leeway else { return nil }
    return
      "the clock of the service differs by \(ahead) s from ours, so ID tokens are refused: let "
      + "this host ask a time server"
  }

  private static func send(
    _ request: TokenRequest, _ connection: Connection, _ context: RequestContext
  ) async throws(OpenIDClientError) -> HTTPAnswer {
    do throws(Failure) {
      return try await context.upstream.send(
        HTTPCall(request), to: connection, from: context.address)
    } catch {
      throw .invalidTokenResponse(rule: error.report ?? error.type.title)
    }
  }
}
