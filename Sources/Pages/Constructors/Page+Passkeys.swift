package import Encoding
package import Localization

/// A form whose button asks the browser for a passkey, and sends what it returns.
///
/// The script of the pages shows it in browsers that know passkeys.
package struct PasskeyForm: Sendable {
  package enum Kind: String, Sendable {
    /// Signs with a passkey.
    case get
    /// Makes a passkey.
    case create
  }

  package let target: FormTarget
  package let kind: Kind
  /// The flow of the options, which comes back with the result.
  package let flow: String
  /// The options as JSON, for the script.
  package let options: String
  package let label: MessageKey
  /// Whether the browser may offer passkeys in the field of the address too.
  package var fillsAddress = false
  /// Where the script gets new options, once these have expired, or for the address in the form.
  package var renewal: LocalPath?
  /// The credential id that no user has, which the script reports to the browser; nil for none.
  package var unknown: String?
  package var style = Button.Style.secondary
  /// Whether it stands above the other ways, with a divider between.
  package var isFirst = false

  package init(
    _ target: FormTarget, _ kind: Kind, flow: String, options: String, label: MessageKey
  ) {
    (self.target, self.kind, self.flow) = (target, kind, flow)
    (self.options, self.label) = (options, label)
  }
}

/// A passkey of the user, as its pages show it.
package struct PasskeyDescription: Sendable {
  package let name: String
  package let madeOn: CalendarDay
  package let lastUsed: CalendarDay?
  /// The page that renames or removes it.
  package let page: LocalPath

  package init(name: String, madeOn: CalendarDay, lastUsed: CalendarDay?, page: LocalPath) {
    (self.name, self.madeOn, self.lastUsed, self.page) = (name, madeOn, lastUsed, page)
  }
}

extension Page {
  /// Adds the button of passkeys, below a divider if something stands above; nothing for nil.
  mutating func add(_ passkey: PasskeyForm?) {
    guard let passkey else { return }
    guard !passkey.isFirst else {
      return body.insert(.passkey(passkey, isAlternative: false), at: 0)
    }
    body.append(.passkey(passkey, isAlternative: !body.isEmpty))
  }

  /// Lists the passkeys of a user.
  ///
  /// - `add`: leads to the page that makes one; nil at the limit.
  package static func passkeys(
    _ passkeys: [PasskeyDescription], add: Destination?, back: Destination,
    errors: [PageError] = []
  ) -> Page {
    var page = accountPage(.passkeys, back: back)
    page.errors = errors
    page.introduction = [.message(.passkeysIntroduction)]
    let rows = passkeys.map { passkey in
      let times: [Text?] = [
        .message(.passkeyMadeOn, ["day": .day(passkey.madeOn)]),
        passkey.lastUsed.map { .message(.lastUse, ["time": .day($0)]) },
      ]
      return Row(
        .name(passkey.name), values: times.compactMap(\.self),
        actions: [.link(Link(.message(.change), to: Destination(passkey.page)))])
    }
    page.body = [rows.isEmpty ? .paragraphs([.message(.nothingYet)]) : .rows(rows)]
    if let add { page.body.append(.links([.next(.addPasskey, to: add)])) }
    return page
  }

  /// Makes a passkey for a user who is signed in.
  package static func addPasskey(
    _ form: PasskeyForm, back: Destination, errors: [PageError] = []
  ) -> Page {
    var page = accountPage(.addPasskey, back: back)
    page.errors = errors
    page.introduction = [.message(.addPasskeyText)]
    page.body = [.passkey(form, isAlternative: false)]
    return page
  }

  /// Renames or removes a passkey.
  ///
  /// - `removal`: removes it; nil for the last way to sign in.
  package static func passkey(
    _ target: FormTarget, name: String, removal: FormTarget?, back: Destination,
    errors: [PageError] = []
  ) -> Page {
    let field = Field(
      "name", .message(.name), .text(autocomplete: "off"), value: name, isFocused: true)
    var page = asking(.passkey, target, [field], .save, errors: errors).inAccount(back: back)
    guard let removal else { return page }
    page.body += [
      .subheading(.message(.removePasskey)), .paragraphs([.message(.removePasskeyText)]),
    ]
    page.add(.remove, removal, .danger)
    return page
  }

  /// Asks a new user for a passkey.
  ///
  /// - `change`: leads to the page of the address.
  /// - `password`: leads to the page of a password; nil if the app takes none.
  package static func signUpWithPasskey(
    _ form: PasskeyForm, email: String, change: Destination, password: Destination?,
    errors: [PageError] = []
  ) -> Page {
    var page = Page(title: .createAccount)
    page.errors = errors
    page.introduction = [.message(.addPasskeyText)]
    page.body = [
      .person(Person(email: email), Link(.message(.change), to: change)),
      .passkey(form, isAlternative: false),
    ]
    page.add(.usePassword, to: password)
    return page
  }

  /// Offers a passkey after another sign-in.
  ///
  /// - `later`: continues without one; the page comes back on another day.
  /// - `never`: continues without one, in this browser for a year.
  package static func offerPasskey(
    _ form: PasskeyForm, later: FormTarget, never: FormTarget, errors: [PageError] = []
  ) -> Page {
    var page = Page(title: .passkeyOffer)
    page.symbol = .passkey
    page.errors = errors
    page.introduction = [.message(.passkeyOfferText)]
    page.body = [.passkey(form, isAlternative: false)]
    page.add(.remindLater, later)
    page.add(.notOnThisDevice, never, .plain)
    return page
  }
}
