import JSON
package import Runtime

/// The state that the pages keep of an authorization between two requests.
package struct AuthorizationState: Sendable {
  /// The address that the user has entered.
  package var email: String?
  /// The flow of a mailed code or of a second factor.
  package var flow: String?
  /// The codes of the errors of the last form.
  package var errors: [String] = []
  /// The user's input in fields that are no secrets, and other values of pages.
  package var values: [String: String] = [:]
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
  /// New recovery codes, until the user has seen them.
  package var recoveryCodes: [String] = []
  /// The code that has ended the authorization.
  var code: String?

  package init() {}

  var json: JSON {
    func list(_ texts: [String]) -> JSON { .array(texts.map(JSON.string)) }
    var json = JSONObject()
    json["email"] = email.map(JSON.string)
    json["flow"] = flow.map(JSON.string)
    json["errors"] = list(errors)
    json["values"] = .object(JSONObject(values.map { ($0.key, .string($0.value)) }))
    json["user"] = user.map { .string($0.text) }
    json["authenticated"] = .bool(hasAuthenticated)
    json["acted"] = .bool(hasActed)
    json["consented"] = .bool(hasConsented)
    json["device"] = deviceSecret.map(JSON.string)
    json["last_form"] = lastForm.map(JSON.string)
    json["pass"] = pass.map(JSON.string)
    json["recovery_codes"] = list(recoveryCodes)
    json["code"] = code.map(JSON.string)
    return .object(json)
  }

  init(_ json: JSON) {
    func list(_ name: String) -> [String] { json[name]?.array?.compactMap(\.string) ?? [] }
    email = json["email"]?.string
    flow = json["flow"]?.string
    errors = list("errors")
    for (name, value) in json["values"]?.object ?? JSONObject() { values[name] = value.string }
    user = json["user"]?.string.flatMap { UserID($0) }
    hasAuthenticated = json["authenticated"]?.bool ?? false
    hasActed = json["acted"]?.bool ?? false
    hasConsented = json["consented"]?.bool ?? false
    deviceSecret = json["device"]?.string
    lastForm = json["last_form"]?.string
    pass = json["pass"]?.string
    recoveryCodes = list("recovery_codes")
    code = json["code"]?.string
  }
}
