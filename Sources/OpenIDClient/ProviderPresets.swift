import WebTokens

extension ProviderPreset {
  /// All presets: those of the standards first, then by their names.
  package static let all = [
    oidc, oauth2, apple, discord, facebook, github, gitlab, google, linkedIn, microsoft, slack, x,
  ]

  /// Any issuer of OpenID Connect.
  ///
  /// Its operator decides whether its addresses are trusted: by default none is.
  package static let oidc = ProviderPreset("oidc", "OpenID Connect") {
    $0.parameters = .standard
    $0.emailTrust = .never
  }

  /// Any server of OAuth 2 with an endpoint for the user.
  package static let oauth2 = ProviderPreset("oauth2", "OAuth 2.0") {
    $0.hasIDToken = false
    $0.scopes = []
    $0.usesNonce = false
    $0.profileSource = .userinfo
    $0.emailTrust = .never
  }

  /// The scopes make Apple answer by a form.
  ///
  /// - Source: Apple, "Sign in with Apple REST API": "Request an authorization to the Sign in with
  ///   Apple server", "Authenticating users with Sign in with Apple", "Revoke tokens". It documents
  ///   neither code challenges nor optional parameters.
  package static let apple = ProviderPreset("apple", "Apple") {
    $0.issuer = "https://appleid.apple.com"
    $0.otherIssuers = ["https://account.apple.com"]
    $0.revocationPath = "/auth/revoke"
    $0.scopes = ["name", "email"]
    $0.authentication = .signedSecret
    $0.usesPKCE = false
    $0.responseMode = "form_post"
    $0.cancellations = ["user_cancelled_authorize", "access_denied"]
    $0.profileSource = .token
    $0.consoleURL = "https://developer.apple.com/account/resources/identifiers/list/serviceId"
  }

  /// `prompt=none` only spares users who have agreed before the page of the scopes.
  ///
  /// That page names the account, and lets the user take another one.
  /// - Source: Discord, "OAuth2" and "User Object" of its API documentation.
  package static let discord = ProviderPreset("discord", "Discord") {
    $0.hasIDToken = false
    $0.issuer = "https://discord.com"
    $0.endpoints = Endpoints(
      authorization: "https://discord.com/oauth2/authorize",
      token: "https://discord.com/api/oauth2/token",
      userinfo: "https://discord.com/api/users/@me"
    )
    $0.scopes = ["identify", "email"]
    $0.usesNonce = false
    $0.parameters.fixed = [("prompt", "none")]
    $0.parameters.choosePrompt = "consent"
    $0.profileSource = .userinfo
    $0.places = [
      .subject: ["id"], .email: ["email"], .emailVerified: ["verified"],
      .name: ["global_name", "username"], .nickname: ["username"], .locale: ["locale"],
    ]
    $0.pictureTemplate = "https://cdn.discordapp.com/avatars/{id}/{avatar}.png"
    $0.consoleURL = "https://discord.com/developers/applications"
  }

  /// An address may be absent, and is never verified.
  ///
  /// Ids belong to one app of Facebook.
  /// - Source: Facebook, "Manually Build a Login Flow", "Securing Graph API Requests".
  package static let facebook = ProviderPreset("facebook", "Facebook") {
    $0.hasIDToken = false
    $0.issuer = "https://www.facebook.com"
    $0.endpoints = Endpoints(
      authorization: "https://www.facebook.com/dialog/oauth",
      token: "https://graph.facebook.com/oauth/access_token",
      userinfo: "https://graph.facebook.com/me"
    )
    $0.scopes = ["email"]
    $0.authentication = .post
    $0.usesNonce = false
    $0.profileSource = .userinfo
    $0.userinfo = [
      UserinfoQuery(query: [
        ("fields", "id,name,first_name,last_name,email,picture.width(256)")
      ])
    ]
    $0.provesSecret = true
    $0.tokenInspection = "debug_token"
    $0.places = [
      .subject: ["id"], .email: ["email"], .name: ["name"], .givenName: ["first_name"],
      .familyName: ["last_name"], .picture: ["picture.data.url"],
    ]
    $0.emailRule = .never
    $0.consoleURL = "https://developers.facebook.com/apps"
  }

  /// The subject is the number `id`: others can take a `login` later.
  ///
  /// The list of addresses has the primary one and its state. Users can deny the scope for it.
  /// - Source: GitHub, "Authorizing OAuth apps", "REST API endpoints for emails".
  package static let github = ProviderPreset("github", "GitHub") {
    $0.hasIDToken = false
    $0.issuer = "https://github.com"
    $0.otherIssuers = ["https://github.com/login/oauth"]
    $0.endpoints = Endpoints(
      authorization: "https://github.com/login/oauth/authorize",
      token: "https://github.com/login/oauth/access_token", userinfo: "https://api.github.com/user"
    )
    $0.scopes = ["user:email"]
    $0.authentication = .post
    $0.usesNonce = false
    $0.parameters.prompts = ["select_account"]
    $0.parameters.loginHint = "login"
    $0.profileSource = .userinfo
    $0.userinfo = [
      UserinfoQuery(), UserinfoQuery(path: "/emails", content: .emails, mayBeDenied: true),
    ]
    // The profile's own address is the one that the user publishes, without its state.
    $0.places = [
      .subject: ["id"], .email: [ClaimPath(UserinfoContent.primaryEmail)],
      .emailVerified: [ClaimPath(UserinfoContent.primaryEmailState)], .name: ["name"],
      .nickname: ["login"], .picture: ["avatar_url"],
    ]
    $0.consoleURL = "https://github.com/settings/developers"
  }

  /// GitLab at gitlab.com, or at a host that the operator names as its issuer.
  ///
  /// Its ID tokens have the address and its state, but no name.
  /// - Source: GitLab, "GitLab as OpenID Connect identity provider".
  package static let gitlab = ProviderPreset("gitlab", "GitLab") {
    $0.issuer = "https://gitlab.com"
    $0.parameters.prompts = AuthorizationParameterSupport.standard.prompts
    $0.parameters.hasMaximumAge = true
    $0.consoleURL = "https://gitlab.com/-/user_settings/applications"
  }

  /// Google verifies all its addresses, but speaks for the domain only of its own and of Workspace.
  ///
  /// - Source: Google, "OpenID Connect", "Verify the Google ID token on your server side".
  package static let google = ProviderPreset("google", "Google") {
    $0.auth0Name = "google-oauth2"
    $0.issuer = "https://accounts.google.com"
    $0.otherIssuers = ["accounts.google.com"]
    $0.authentication = .post
    $0.parameters = AuthorizationParameterSupport(
      prompts: ["none", "consent", "select_account"], loginHint: "login_hint", domainHint: "hd"
    )
    $0.places[.hostedDomain] = ["hd"]
    $0.emailRule = .authority(ownDomain: "gmail.com")
    $0.consoleURL = "https://console.cloud.google.com/auth/clients"
  }

  /// LinkedIn returns no nonce, and refuses a code verifier of a web application.
  ///
  /// Its documents state both values of `iss`. It names the addresses of the members' accounts.
  /// - Source: LinkedIn, "Sign In with LinkedIn using OpenID Connect", "Authorization Code Flow";
  ///   issues directus 23645, authlib 763 and next-auth 8831.
  package static let linkedIn = ProviderPreset("linkedin", "LinkedIn") {
    $0.issuer = "https://www.linkedin.com/oauth"
    $0.otherIssuers = ["https://www.linkedin.com"]
    $0.authentication = .post
    $0.usesPKCE = false
    $0.usesNonce = false
    $0.cancellations = ["user_cancelled_login", "user_cancelled_authorize", "access_denied"]
    $0.consoleURL = "https://www.linkedin.com/developers/apps"
  }

  /// The address is text that an administrator of any tenant writes.
  ///
  /// Only the optional claim `xms_edov` states that its domain belongs to the tenant.
  /// - Source: Microsoft, "Optional claims reference", "ID token claims reference", "OpenID Connect
  ///   on the Microsoft identity platform".
  package static let microsoft = ProviderPreset("microsoft", "Microsoft") {
    $0.auth0Name = "windowslive"
    $0.issuer = "https://login.microsoftonline.com/{tenantid}/v2.0"
    $0.consumerTenant = "9188040d-6c67-4c5b-b112-36a304b66dad"
    $0.authentication = .post
    $0.parameters = AuthorizationParameterSupport(
      prompts: AuthorizationParameterSupport.standard.prompts, loginHint: "login_hint",
      domainHint: "domain_hint"
    )
    $0.profileSource = .token
    $0.places[.emailVerified] = ["xms_edov"]
    // The user name at the tenant only looks like an address.
    $0.places[.nickname] = ["nickname"]
    $0.places[.tenant] = ["tid"]
    $0.secretLifetimeDays = 730
    $0.consoleURL =
      "https://entra.microsoft.com/#view/Microsoft_AAD_RegisteredApps/ApplicationsListBlade"
  }

  /// The subject is of one workspace: a person of two has two.
  ///
  /// Auth0 has two connections for Slack; this is the one for sign-in.
  /// - Source: Slack, "Sign in with Slack", "openid.connect.token".
  package static let slack = ProviderPreset("slack", "Slack") {
    $0.auth0Name = "sign-in-with-slack"
    $0.issuer = "https://slack.com"
    $0.authentication = .post
    $0.usesPKCE = false
    $0.places[.picture] = ["picture", "https://slack.com/user_image_512"]
    $0.places[.tenant] = ["https://slack.com/team_id"]
    $0.consoleURL = "https://api.slack.com/apps"
  }

  /// X names an address only if it is confirmed, and only to apps that may ask for it.
  ///
  /// - Source: X, "OAuth 2.0 Authorization Code Flow with PKCE", "Get my User"; X Developer
  ///   Community, "Announcing support for email address retrieval with OAuth 2.0".
  package static let x = ProviderPreset("x", "X") {
    $0.auth0Name = "twitter"
    $0.hasIDToken = false
    $0.issuer = "https://x.com"
    $0.endpoints = Endpoints(
      authorization: "https://x.com/i/oauth2/authorize",
      token: "https://api.x.com/2/oauth2/token", userinfo: "https://api.x.com/2/users/me"
    )
    $0.scopes = ["users.read", "tweet.read", "users.email"]
    $0.usesNonce = false
    $0.profileSource = .userinfo
    $0.userinfo = [
      UserinfoQuery(query: [("user.fields", "profile_image_url")]),
      UserinfoQuery(query: [("user.fields", "confirmed_email")], mayBeDenied: true),
    ]
    $0.places = [
      .subject: ["data.id"], .email: ["data.confirmed_email"], .name: ["data.name"],
      .nickname: ["data.username"], .picture: ["data.profile_image_url"],
    ]
    $0.emailRule = .always
    $0.consoleURL = "https://developer.x.com/en/portal/dashboard"
  }
}
