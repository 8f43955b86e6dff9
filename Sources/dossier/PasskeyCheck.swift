import CommandKit
import Administration
import EventLoop
import HTTP
import JSON
import Outbound
import Passkeys
import Runtime
import Tenancy

/// A check of what could keep the users of an app from its passkeys.
@EventLoop struct PasskeyCheck {
  private let app: App
  private let origins: PasskeyOrigins
  private let domain: String
  private let source: HTTPSource
  private let allowsPlainHTTP: Bool

  /// - Parameters:
  ///   - context: a context in the app.
  ///   - source: sends requests to other servers.
  ///   - allowsPlainHTTP: whether it sends requests without TLS.
  init(_ context: RequestContext, _ source: HTTPSource, allowsPlainHTTP: Bool) {
    app = context.app
    origins = PasskeyOrigins(of: context.app, context)
    domain = context.app.passkeySettings.relyingPartyID
    (self.source, self.allowsPlainHTTP) = (source, allowsPlainHTTP)
  }

  /// Returns what was checked; nothing if the app has neither passkeys nor native apps.
  func findings() async -> [Doctor.Finding] {
    var findings: [Doctor.Finding] = []
    if app.passkeySettings.use != .off {
      let faults = faults
      let all = faults.isEmpty ? nil : faults.joined(separator: "; ")
      findings.append(Doctor.Finding("passkeys of \(app.name)", all))
    }
    guard !domain.isEmpty, let origin = originOfFiles else { return findings }
    // Password managers do without the file of endpoints.
    for file in AssociationFile.allCases where file != .endpoints {
      guard let content = file.content(of: app, at: nil) else { continue }
      let url = origin + file.path
      let reason = await fault(of: url, having: content)
      let remedy =
        "serve there what dossier app well-known --app \(app.name) \(file.rawValue) prints, with "
        + "status 200, without a redirect, and as application/json"
      findings.append(Doctor.Finding(url, reason.map { "\($0): \(remedy)" }))
    }
    return findings
  }

  // MARK: Settings

  private var command: String { "dossier app set --app \(app.name)" }

  private var faults: [String] {
    guard !domain.isEmpty else {
      return ["passkey_rp_id is empty, so users have none: \(command) passkey_rp_id=YOUR.DOMAIN"]
    }
    guard !origins.pages.isEmpty else {
      let rule = "the app has no host name, so it has no pages: "
      return [rule + "dossier app host set --app \(app.name) HOST"]
    }
    return origins.pages.compactMap { fault(ofPagesAt: $0) } + faultsOfAndroid
  }

  /// Returns why pages of an origin cannot use the passkeys; nil if they can.
  private func fault(ofPagesAt origin: String) -> String? {
    let host = PasskeyOrigins.host(of: origin)
    if IPAddress(host.filter { $0 != "[" && $0 != "]" }) != nil {
      return "the pages at \(origin) have an IP address, at which browsers offer no passkeys: "
        + "dossier app host set --app \(app.name) HOST, or set issuer to a URL with a host name"
    }
    if origin.hasPrefix("http://"), !host.hasSameBytes(as: "localhost") {
      return "the pages at \(origin) have no TLS, without which browsers offer no passkeys: let "
        + "nginx serve https, and set issuer to the https URL"
    }
    let isRelated = app.passkeySettings.origins.contains(where: origin.hasSameBytes)
    guard !host.isAtOrBelow(domain), !isRelated else { return nil }
    return "the pages at \(origin) are not below \(domain), so browsers offer no passkeys there: "
      + "\(command) passkey_rp_id=\(host), or add \(origin) to passkey_origins"
  }

  private var faultsOfAndroid: [String] {
    let known = app.nativeApps.flatMap(\.androidOrigins)
    let unknown = app.passkeySettings.origins.filter { origin in
      !origin.hasPrefix("https://") && !known.contains(where: origin.hasSameBytes)
    }
    return unknown.map { origin in
      "assetlinks.json has no app with the origin \(origin) of passkey_origins, so Android gives it no "
        + "passkeys: dossier client set CLIENT android_package=… android_certificates=…"
    }
  }

  // MARK: Files

  /// The origin at which browsers and systems read the files; nil if the rules allow no request to it.
  ///
  /// It is the domain itself, also if the pages are below it.
  private var originOfFiles: String? {
    let own = origins.pages.first { PasskeyOrigins.host(of: $0).hasSameBytes(as: domain) }
    let origin = own ?? "https://\(domain)"
    return origin.hasPrefix("https://") || allowsPlainHTTP ? origin : nil
  }

  /// Returns why a file does not have what the settings ask for; nil if it has.
  private func fault(of url: String, having content: JSON) async -> String? {
    do throws(FetchError) {
      let owner = CallOwner(app: app.id.text, receiver: "passkeys")
      let answer = try await source.fetch(url, for: owner)
      guard answer.contentType.flatMap({ MediaType($0) }) == .json else {
        return "it is not application/json"
      }
      guard let json = try? JSON.parse(answer.body) else { return "it is not JSON" }
      return json.contains(content) ? nil : "it lacks what the settings name"
    } catch {
      return switch error {
      case .redirected(let target): "it redirects to \(target ?? "nothing")"
      case .status(let status): "the answer has status \(status)"
      case .privateAddress:
        "its address is private, and issuer_network does not allow it here; if phones can reach it"
      case .unreachable(let reason), .untrusted(let reason), .invalidURL(let reason): reason
      case .timedOut, .overloaded: "no answer came in time"
      case .tooLarge(let limit): "it has more than \(limit) bytes"
      case .invalidForm, .invalidField, .malformed: "it cannot be read"
      }
    }
  }
}

extension JSON {
  /// Returns whether it has all that another value has; an owner of the domain may add more.
  fileprivate func contains(_ other: JSON) -> Bool {
    if let object, let others = other.object {
      return others.allSatisfy { object[$0.key]?.contains($0.value) == true }
    }
    if let array, let others = other.array {
      return others.allSatisfy { other in array.contains { $0.contains(other) } }
    }
    return self == other
  }
}

extension CommandContext {
  /// Checks the passkeys of apps.
  func passkeyFindings(
    of apps: [String], _ settings: HTTPSourceSettings
  ) async -> [Doctor.Finding] {
    let source = HTTPSource(settings)
    var findings: [Doctor.Finding] = []
    for app in apps {
      do throws(CommandFailure) {
        findings += try await run(in: app) { (context) async throws(Failure) in
          let check = PasskeyCheck(context, source, allowsPlainHTTP: settings.allowsPlainHTTP)
          return await check.findings()
        }
      } catch {
        findings.append(Doctor.Finding("passkeys of \(app)", "they cannot be checked: \(error)"))
      }
    }
    return findings
  }
}
