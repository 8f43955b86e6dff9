import Testing

@testable import Tenancy

@Suite struct IdentityProviderTests {
  @Test(arguments: [
    "anonymous", "password", "email", "api-key", "jwt:https://a.example", "auth0", "",
  ])
  func `a stored text is kept`(text: String) {
    #expect(IdentityProvider(text).text == text)
  }

  @Test func `providers are compared by bytes`() {
    let (composed, decomposed) = ("jwt:\u{E9}", "jwt:e\u{301}")
    #expect(composed == decomposed)
    #expect(IdentityProvider(composed) != IdentityProvider(decomposed))
    #expect(Set([composed, decomposed, composed].map { IdentityProvider($0) }).count == 2)
  }

  @Test func `only issuers have the name of an issuer`() {
    #expect(IdentityProvider(ofIssuer: "https://a.example").issuer == "https://a.example")
    #expect(IdentityProvider("google-oauth2").issuer == "google-oauth2")
    for provider: IdentityProvider in [.anonymous, .password, .email, .apiKey] {
      #expect(provider.issuer == nil)
    }
  }
}
