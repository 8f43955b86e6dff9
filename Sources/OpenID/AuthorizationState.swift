package import Accounts
import JSON
package import Runtime

/// The state that the pages keep of an authorization between two requests.
package struct AuthorizationState: Sendable {
  /// The address that the user has entered.
  package var email: String?
  /// The stage at which the sign-in waits for the user.
  package var stage = AuthorizationStage.start
  /// The name of the page that the last form has led to; nil before the first one.
  package var pageName: String?
  /// Whether the last form has led on, to the next step of the authorization.
  package var hasLedOn = false
  /// Whether the user wants another account than those of the browser.
  package var isAnother = false
  /// The mail that was sent last.
  package var sentMail: SentMail?
  /// The codes of the errors of the last form.
  package var errors: [String] = []
  /// The user who has signed in, or was chosen, on these pages.
  package var user: UserID? {
    didSet {
      guard user != oldValue else { return }
      // Another user has neither authenticated here nor agreed.
      (hasAuthenticated, hasConsented, hasActed) = (false, false, false)
    }
  }
  /// Whether that user has authenticated here, and not only earlier.
  package var hasAuthenticated = false
  /// Whether that user has signed in, agreed or confirmed on a page of this authorization.
  ///
  /// A choice of the account is no such act: its page does not name the client.
  package var hasActed = false
  package var hasConsented = false
  /// The secret of the device that the last form has created.
  ///
  /// If the browser sends a form twice, it ignores the first response. The second has the same cookie.
  package var deviceSecret: String?
  /// The mark of the last form: only its sender can repeat it.
  package var lastForm: String?
  /// The value of a cookie of the browser in which a credential was verified.
  ///
  /// An attacker may have copied the key of the browser before.
  package var pass: String?
  /// The flow of an account at another service, which is linked after the user has signed in.
  package var pendingIdentity: String?
  /// The code of the error by which that account was not linked, until the user has seen it.
  package var linkError: String?
  /// New recovery codes, until the user has seen them.
  package var recoveryCodes: [String] = []
  /// The code that has ended the authorization.
  var code: String?

  package init() {}

  package enum SentMail: String, Sendable { case reset, verification }

  /// Forgets how the user came to sign in.
  package mutating func endStage() {
    (stage, pageName, hasLedOn, isAnother, sentMail) = (.start, nil, false, false, nil)
  }

  var json: JSON {
    func list(_ texts: [String]) -> JSON { .array(texts.map(JSON.string)) }
    var json = JSONObject()
    json["email"] = email.map(JSON.string)
    json["stage"] = stage.json
    json["page"] = pageName.map(JSON.string)
    json["led_on"] = .bool(hasLedOn)
    json["another"] = .bool(isAnother)
    json["mail"] = (sentMail?.rawValue).map(JSON.string)
    json["errors"] = list(errors)
    json["user"] = user.map { .string($0.text) }
    json["authenticated"] = .bool(hasAuthenticated)
    json["acted"] = .bool(hasActed)
    json["consented"] = .bool(hasConsented)
    json["device"] = deviceSecret.map(JSON.string)
    json["last_form"] = lastForm.map(JSON.string)
    json["pass"] = pass.map(JSON.string)
    json["pending_identity"] = pendingIdentity.map(JSON.string)
    json["link_error"] = linkError.map(JSON.string)
    json["recovery_codes"] = list(recoveryCodes)
    json["code"] = code.map(JSON.string)
    return .object(json)
  }

  init(_ json: JSON) {
    func list(_ name: String) -> [String] { json[name]?.array?.compactMap(\.string) ?? [] }
    email = json["email"]?.string
    stage = json["stage"].flatMap(AuthorizationStage.init) ?? .start
    pageName = json["page"]?.string
    hasLedOn = json["led_on"]?.bool ?? false
    isAnother = json["another"]?.bool ?? false
    sentMail = json["mail"]?.string.flatMap(SentMail.init)
    errors = list("errors")
    user = json["user"]?.string.flatMap { UserID($0) }
    hasAuthenticated = json["authenticated"]?.bool ?? false
    hasActed = json["acted"]?.bool ?? false
    hasConsented = json["consented"]?.bool ?? false
    deviceSecret = json["device"]?.string
    lastForm = json["last_form"]?.string
    pass = json["pass"]?.string
    pendingIdentity = json["pending_identity"]?.string
    linkError = json["link_error"]?.string
    recoveryCodes = list("recovery_codes")
    code = json["code"]?.string
  }
}

/// The stage at which a sign-in waits for the user, with the values that its page needs.
package enum AuthorizationStage: Sendable, Equatable {
  /// An address, a password or a choice.
  case start
  /// A code that was mailed, to sign in or to verify the address of a new user.
  case mailedCode(flow: String, isOfNewUser: Bool)
  /// A code that was mailed to the address of a new user, and the passkey that waits for it: the
  /// credential as JSON, and the flow of its ceremony.
  case newPasskey(flow: String, credential: String, ceremony: String)
  /// A code of an authenticator app, a recovery code or a passkey.
  case secondFactor(flow: String, methods: [SecondFactorFlow.Method])
  /// The first code of a new authenticator app, whose secret the page shows.
  case enrollment(flow: String, secret: String, uri: String)

  /// The flow of a second factor; nil in other stages.
  package var factorFlow: String? {
    switch self {
    case .start, .mailedCode, .newPasskey: nil
    case .secondFactor(let flow, _), .enrollment(let flow, _, _): flow
    }
  }

  /// The flow of a mailed code; nil in other stages.
  package var codeFlow: String? {
    switch self {
    case .mailedCode(let flow, _), .newPasskey(let flow, _, _): flow
    case .start, .secondFactor, .enrollment: nil
    }
  }

  /// Whether a code was mailed to verify the address of a new user.
  package var isOfNewUser: Bool {
    switch self {
    case .mailedCode(_, let isOfNewUser): isOfNewUser
    case .newPasskey: true
    case .start, .secondFactor, .enrollment: false
    }
  }

  /// The stored form; nil at the start.
  fileprivate var json: JSON? {
    switch self {
    case .start: nil
    case .mailedCode(let flow, let isOfNewUser):
      ["name": "mailed_code", "flow": .string(flow), "new_user": .bool(isOfNewUser)]
    case .newPasskey(let flow, let credential, let ceremony):
      [
        "name": "new_passkey", "flow": .string(flow), "credential": .string(credential),
        "ceremony": .string(ceremony),
      ]
    case .secondFactor(let flow, let methods):
      [
        "name": "second_factor", "flow": .string(flow),
        "methods": .array(methods.map { .string($0.rawValue) }),
      ]
    case .enrollment(let flow, let secret, let uri):
      [
        "name": "enrollment", "flow": .string(flow), "secret": .string(secret),
        "uri": .string(uri),
      ]
    }
  }

  /// Reads the stored form; nil for another name, or if a value of the stage is missing.
  fileprivate init?(_ json: JSON) {
    guard let flow = json["flow"]?.string else { return nil }
    switch json["name"]?.string {
    case "mailed_code":
      guard let isOfNewUser = json["new_user"]?.bool else { return nil }
      self = .mailedCode(flow: flow, isOfNewUser: isOfNewUser)
    case "new_passkey":
      guard let credential = json["credential"]?.string, let ceremony = json["ceremony"]?.string
      else { return nil }
      self = .newPasskey(flow: flow, credential: credential, ceremony: ceremony)
    case "second_factor":
      guard let methods = json["methods"]?.array else { return nil }
      self = .secondFactor(
        flow: flow, methods: methods.compactMap(\.string).compactMap(SecondFactorFlow.Method.init))
    case "enrollment":
      guard let secret = json["secret"]?.string, let uri = json["uri"]?.string else { return nil }
      self = .enrollment(flow: flow, secret: secret, uri: uri)
    default: return nil
    }
  }
}
