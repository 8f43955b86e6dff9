import DomainNames
package import Localization

/// A page as a value, without markup and in no language yet.
///
/// The functions of `Page` create the pages. `PageRenderer` renders any of them with one template.
package struct Page: Sendable {
  /// The title of the document, which contains no value from outside.
  package let title: MessageKey
  package let heading: Text
  package var layout = Layout.card
  /// Whether the page itself reports an error, not a field of it.
  package var isError = false
  package var symbol: Symbol?
  package var introduction: [Text] = []
  package var notices: [Notice] = []
  package var errors: [PageError] = []
  package var body: [Element] = []
  /// The link above the heading that leaves the page.
  package var back: Link?
  package var automation: Automation?

  package enum Layout: String, Sendable {
    /// One task in a narrow card.
    case card
    /// The pages of the account, which have more room.
    case account
  }

  /// The result that the icon above the heading shows.
  package enum Symbol: Sendable { case success, mail, passkey }

  package init(title: MessageKey, heading: Text? = nil) {
    self.title = title
    self.heading = heading ?? .message(title)
  }

  private var fields: [Field] {
    body.flatMap { element -> [Field] in
      if case .form(let form) = element { form.fields } else { [] }
    }
  }

  /// Whether a summary lists the errors: with one or two fields, the user sees them anyway.
  var hasSummary: Bool { !errors.isEmpty && fields.count(where: \.isEditable) > 2 }

  /// The errors that no field of the page shows.
  var errorsWithoutField: [PageError] {
    errors.filter { error in !fields.contains { $0.name == error.field } }
  }

  /// An action of a page after it is loaded.
  package enum Automation: Sendable {
    /// Opens the destination, without a script.
    case refresh(Destination)
    /// Submits the form of the page by a script with this nonce.
    case submit(Nonce)
    /// Posts a message to the window that opened or embeds the page.
    case post(WebMessage, Nonce)
    /// Leads on by a script once the user has acted in another tab.
    case wait(PageWait)
    /// Tells the browser, by a script, the passkeys and the name of the user, which are JSON.
    case signal(String)
  }

  package enum Element: Sendable {
    case form(Form)
    /// Other ways to do the same, below a divider.
    case alternatives([Form])
    /// Sign-ins at other issuers; below a divider if they are alternatives to what stands above.
    case connections([ConnectionButton], areAlternatives: Bool)
    /// A button of passkeys; below a divider if it is another way than what stands above.
    case passkey(PasskeyForm, isAlternative: Bool)
    case links([Link])
    case paragraphs([Text])
    case subheading(Text)
    case list(Group)
    case rows([Row])
    case accounts([AccountChoice])
    /// A user, and a link for those who are another one.
    case person(Person, Link? = nil)
    /// Codes to keep, with the link that downloads them; a single code is only for reading out.
    case codes([String], download: Link? = nil)
    case key(label: Text, text: String)
    case qrCode(QRCode, label: Text)
    /// A link to an app of this device, which only phones have.
    case phoneLink(Link)
    case picture(Picture)
  }
}

/// The paths of a page that waits.
package struct PageWait: Sendable {
  /// Answers 204 while the page waits, and 200 afterwards.
  package let check: LocalPath
  /// Where the page then leads.
  package let next: LocalPath

  package init(check: LocalPath, next: LocalPath) {
    self.check = check
    self.next = next
  }
}

/// The messages of `response_mode=web_message`.
package struct WebMessage: Sendable {
  /// The only origin that may embed the page and that receives the message.
  package let origin: Origin
  /// The message as JSON.
  package let json: String

  package init(origin: Origin, json: String) {
    self.origin = origin
    self.json = json
  }
}

/// A message above the content of a page.
package struct Notice: Sendable {
  package enum Kind: String, Sendable { case information, success, warning }

  package let kind: Kind
  package let text: Text

  package init(_ kind: Kind, _ text: Text) {
    self.kind = kind
    self.text = text
  }
}

/// An error of the last submission, which the summary and its field show in the same words.
package struct PageError: Sendable, Equatable {
  package let text: Text
  /// The field that has to change; nil if no field can mend the error.
  package let field: InputName?
  /// The input of the user there, which the field keeps; nil for an empty field.
  package let typed: String?
  /// The link that mends the error in another way.
  package let link: Link?

  package init(
    _ text: Text, field: InputName? = nil, typed: String? = nil, link: Link? = nil
  ) {
    self.text = text
    (self.field, self.typed) = (field, typed)
    self.link = link
  }

  /// The same error without its link, for a page that has the link itself.
  var withoutLink: PageError { PageError(text, field: field, typed: typed) }
}

package struct Link: Sendable, Equatable {
  package let text: Text
  package let destination: Destination
  /// The name of the file, if the link is a download.
  package var download: String?
  /// The style of a link that looks like a button; nil for other links.
  package var style: Button.Style?

  package init(
    _ text: Text, to destination: Destination, download: String? = nil, style: Button.Style? = nil
  ) {
    self.text = text
    self.destination = destination
    self.download = download
    self.style = style
  }

  /// Creates the link that leads to the next step.
  package static func next(_ key: MessageKey, to destination: Destination) -> Link {
    Link(.message(key), to: destination, style: .primary)
  }

  /// Creates the link that leads back to a client.
  package static func back(
    to client: String, at destination: Destination, style: Button.Style? = nil
  ) -> Link {
    Link(.message(.backToClient, ["client": .name(client)]), to: destination, style: style)
  }
}

/// A list under a heading, such as the scopes of one resource.
package struct Group: Sendable {
  package let heading: Text?
  package let items: [Text]

  package init(heading: Text? = nil, items: [Text]) {
    self.heading = heading
    self.items = items
  }
}

/// An image with its text alternative.
package struct Picture: Sendable {
  package let source: ImageSource
  package let alternative: Text

  package init(_ source: ImageSource, alternative: Text) {
    self.source = source
    self.alternative = alternative
  }
}

/// A user as pages show it.
package struct Person: Sendable {
  package let name: String?
  /// With the domain in the form that people read.
  package let email: String?
  package let picture: ImageSource?
  /// The label of the issuer where the user signed in; nil for a sign-in at this server.
  package var issuer: String?
  /// The text whose first letter stands for a missing picture.
  let initialSource: String?

  package init(
    name: String? = nil, email: String? = nil, picture: ImageSource? = nil, issuer: String? = nil
  ) {
    self.name = name
    self.issuer = issuer
    self.email = email.map(DomainName.shown(inAddress:))
    self.picture = picture
    initialSource = name ?? email
  }
}

/// A user of the account chooser.
package struct AccountChoice: Sendable {
  package let person: Person
  /// Where the button of the user leads.
  package let choice: FormTarget
  /// Whether the user has to enter a password or a code.
  package let isSignedOut: Bool
  /// Signs out this user, or removes a user that is signed out.
  package let removal: FormTarget?

  package init(
    _ person: Person, choice: FormTarget, isSignedOut: Bool = false, removal: FormTarget? = nil
  ) {
    self.person = person
    self.choice = choice
    self.isSignedOut = isSignedOut
    self.removal = removal
  }
}

/// A button that leads to the sign-in at another issuer.
package struct ConnectionButton: Sendable {
  /// The name by which people know the issuer.
  package let label: String
  package let mark: ConnectionMark
  package let destination: Destination
  /// Whether the last user of this browser signed in there.
  package let isLastUsed: Bool

  package init(
    _ label: String, mark: ConnectionMark = .other, to destination: Destination,
    isLastUsed: Bool = false
  ) {
    self.label = label
    self.mark = mark
    self.destination = destination
    self.isLastUsed = isLastUsed
  }
}

/// A row with a label, values and an action.
package struct Row: Sendable {
  package let label: Text
  /// The mark before the label.
  package var mark: ConnectionMark?
  package var values: [Text] = []
  /// An image in place of values, which the label names.
  package var picture: ImageSource?
  package var badge: Text?
  /// Whether the badge is a warning, such as the one of an unverified address.
  package var isWarning = false
  package var actions: [Action] = []

  package enum Action: Sendable {
    case link(Link)
    case button(Button, FormTarget)
  }

  package init(
    _ label: Text, values: [Text] = [], badge: Text? = nil, actions: [Action] = []
  ) {
    self.label = label
    self.values = values
    self.badge = badge
    self.actions = actions
  }
}
