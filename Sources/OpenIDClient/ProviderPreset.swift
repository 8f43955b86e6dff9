package import WebTokens

/// The facts about an issuer that need no request: its endpoints, and its deviations from the
/// standards.
///
/// Each deviation is a value here. No other code knows an issuer by its name.
package struct ProviderPreset: Sendable {
  /// The name in settings, such as `google`.
  package let name: String
  /// The issuer's own name, for people.
  package let title: String
  /// The name of such a connection at Auth0, which begins the user ids there.
  package internal(set) var auth0Name: String
  /// Whether the issuer answers with an ID token.
  package internal(set) var hasIDToken = true
  /// The issuer in identities; nil if the operator names it.
  ///
  /// `{tenantid}` in it stands for the tenant of the user.
  package internal(set) var issuer: String?
  /// Other values of `iss` in its tokens and callbacks, which mean the same issuer.
  package internal(set) var otherIssuers: [String] = []
  /// The tenant of users without an organization, which settings call `consumers`.
  package internal(set) var consumerTenant: String?
  /// The endpoints; nil if the operator or a discovery document names them.
  package internal(set) var endpoints: Endpoints?
  /// The path of the endpoint that revokes tokens, below the issuer; nil if only a discovery
  /// document names it.
  package internal(set) var revocationPath: String?
  /// The scopes that a sign-in asks for by default.
  package internal(set) var scopes = ["openid", "profile", "email"]
  /// How the client authenticates, unless the discovery document allows only another way.
  package internal(set) var authentication = ClientAuthentication.basic
  /// Whether requests have a code challenge.
  package internal(set) var usesPKCE = true
  /// Whether requests have a nonce, which the ID token must then have too.
  package internal(set) var usesNonce = true
  /// How the issuer sends its response: `form_post`, or nil for a query.
  package internal(set) var responseMode: String?
  package internal(set) var parameters = AuthorizationParameterSupport()
  /// The error codes by which the issuer reports that the user has cancelled.
  package internal(set) var cancellations = ["access_denied"]
  package internal(set) var profileSource = ProfileSource.tokenThenUserinfo
  /// The requests for the profile, in their order.
  package internal(set) var userinfo = [UserinfoQuery()]
  /// Whether requests with an access token prove that they know the client secret.
  package internal(set) var provesSecret = false
  /// The name of the endpoint for questions about access tokens, beside that for the profile.
  ///
  /// It is nil if the issuer has no such endpoint.
  package internal(set) var tokenInspection: String?
  /// The places of the members of the profile, the first that is present.
  package internal(set) var places = ProfileMember.standardPlaces
  /// The picture's URL, with the place of a claim in each pair of braces; nil if a claim has it.
  package internal(set) var pictureTemplate: String?
  package internal(set) var emailRule = EmailRule.claim
  /// The trust in addresses that a connection has by default.
  package internal(set) var emailTrust = EmailTrust.verified
  /// How long a client secret is valid at most, in days; nil if it does not expire.
  package internal(set) var secretLifetimeDays: Int?
  /// The page on which an operator registers the app, and makes its secret; nil if the operator runs
  /// the issuer.
  package internal(set) var consoleURL: String?

  init(_ name: String, _ title: String, _ change: (inout ProviderPreset) -> Void) {
    (self.name, self.title, auth0Name) = (name, title, name)
    change(&self)
  }

  /// Returns the preset of a name; nil if no preset has it.
  package static func named(_ name: String) -> ProviderPreset? {
    all.first { $0.name.utf8.elementsEqual(name.utf8) }
  }

  /// Whether the endpoints come from a discovery document.
  package var isDiscovered: Bool { hasIDToken }

  /// The placeholder for the tenant in an issuer.
  package static let tenantPlaceholder = "{tenantid}"

  /// Whether a request can make the issuer authenticate the user again.
  ///
  /// Only `auth_time` of the ID token then proves that it did.
  package var canForceSignIn: Bool {
    hasIDToken && (parameters.prompts.contains("login") || parameters.hasMaximumAge)
  }

  /// Whether the users are of tenants that the issuer keeps apart.
  package var hasTenants: Bool { issuer?.contains(Self.tenantPlaceholder) ?? false }

  package struct Endpoints: Sendable {
    package let authorization: String
    package let token: String
    package let userinfo: String
  }
}

extension ProviderPreset: Equatable {
  /// Each preset has a name of its own.
  package static func == (one: ProviderPreset, other: ProviderPreset) -> Bool {
    one.name.utf8.elementsEqual(other.name.utf8)
  }
}

/// How a client shows the token endpoint who it is.
package enum ClientAuthentication: Sendable, Equatable {
  /// By a field `Authorization`.
  case basic
  /// By members of the form.
  case post
  /// By members of the form, with a token in place of the secret that the client signs.
  case signedSecret

  /// The name in a discovery document.
  var metadataName: String {
    switch self {
    case .basic: "client_secret_basic"
    case .post, .signedSecret: "client_secret_post"
    }
  }
}

/// The optional parameters of a request that an issuer understands.
///
/// Others are not sent: some issuers refuse them, and a login hint is a personal datum.
package struct AuthorizationParameterSupport: Sendable {
  /// The values of `prompt`.
  var prompts: Set<String> = []
  var hasMaximumAge = false
  /// The parameter for a login hint, and that for the user's domain.
  var loginHint: String?
  var domainHint: String?
  var hasLocales = false
  /// The value of `prompt` that lets the user choose an account, if it is not `select_account`.
  var choosePrompt: String?
  /// Parameters of each request, unless the request has another value for one.
  var fixed: [(name: String, value: String)] = []

  /// All of OpenID Connect.
  static let standard = AuthorizationParameterSupport(
    prompts: ["none", "login", "consent", "select_account"], hasMaximumAge: true,
    loginHint: "login_hint", hasLocales: true
  )
}

/// Where the profile of a user comes from.
package enum ProfileSource: Sendable {
  case token
  /// The ID token; and the userinfo endpoint if the token lacks the address, the name, or a member
  /// whose place the operator has set.
  case tokenThenUserinfo
  case userinfo
}

/// A request for members of the profile, relative to the userinfo endpoint.
package struct UserinfoQuery: Sendable {
  /// The text that follows the path of the userinfo endpoint.
  var path = ""
  var query: [(name: String, value: String)] = []
  var content = UserinfoContent.members
  /// Whether the user or the issuer may deny this request, and the sign-in goes on without it.
  var mayBeDenied = false
}

package enum UserinfoContent: Sendable {
  /// An object with the members of the profile.
  case members
  /// A list of addresses, each with `email`, `primary` and `verified`.
  ///
  /// The primary one and its state are read under names of their own: the issuer may name another
  /// address elsewhere.
  case emails

  static let (primaryEmail, primaryEmailState) = ("primary_email", "primary_email_verified")
}

/// The rule by which an issuer has verified an address.
package enum EmailRule: Sendable {
  /// `email_verified`, or the place that stands for it, is true.
  case claim
  /// As `claim`; and the issuer runs the domain of the address, or its own domain for mail.
  case authority(ownDomain: String)
  /// The issuer names only addresses that it has verified.
  case always
  /// The issuer never states that it has verified an address.
  case never
}

/// Which addresses of an issuer a connection trusts.
package enum EmailTrust: String, CaseIterable, Sendable {
  case never
  /// Those that the issuer has verified, by the rule of its preset.
  case verified
  case always
}

/// The members of a profile.
package enum ProfileMember: String, CaseIterable, Sendable {
  case subject
  case email
  case emailVerified = "email_verified"
  case name
  case givenName = "given_name"
  case familyName = "family_name"
  case nickname
  case picture
  case locale
  case hostedDomain = "hosted_domain"
  case tenant

  /// The places by OpenID Connect.
  ///
  /// - Source: OpenID Connect Core section 5.1.
  static let standardPlaces: [ProfileMember: [ClaimPath]] = [
    .subject: ["sub"], .email: ["email"], .emailVerified: ["email_verified"], .name: ["name"],
    .givenName: ["given_name"], .familyName: ["family_name"],
    .nickname: ["nickname", "preferred_username"], .picture: ["picture"], .locale: ["locale"],
  ]
}
