package import Runtime
import JSON

extension ErrorType {
  /// A form needs a cookie that the browser has not sent.
  package static let cookiesNeeded = ErrorType("cookies_needed", .forbidden)
    .titled("The browser has sent no cookie.")
    .remedied("Allow cookies for this server, and load the page again.")
  /// Another site, or a page in another browser, has sent a form.
  package static let formForged = ErrorType("form_forged", .forbidden)
    .titled("The form was not sent by a page of this server in this browser.")
    .remedied("Load the page again, and send its form.")
  package static let unknownApplication = ErrorType("unknown_application", .notFound)
    .titled("No application that signs users in has this client_id.")
    .remedied(
      "Compare client_id with the id of the application in this app. Its kind must not be machine."
    )
  package static let unregisteredRedirect = ErrorType("unregistered_redirect", .malformed)
    .titled("The application has not registered this redirect_uri.")
    .remedied("Register exactly this URL as a callback URL of the application.")
}

extension Failure {
  package static var cookiesNeeded: Failure { Failure(.cookiesNeeded) }
  package static var formForged: Failure { Failure(.formForged) }
  package static var unknownApplication: Failure { Failure(.unknownApplication) }

  /// Returns the error for a redirect URI that the named client has not registered.
  package static func unregisteredRedirect(_ uri: String, client: String) -> Failure {
    Failure(
      .unregisteredRedirect, members: [("client", .string(client)), ("redirect_uri", .string(uri))]
    )
  }
}
