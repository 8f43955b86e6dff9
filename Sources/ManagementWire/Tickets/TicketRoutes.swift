import Accounts
import Administration
import Delivery
import EventLoop
import HTTP
import IdentitySubjects
import JSON
import Runtime
import Tenancy
import WireKit

/// `/api/v2/tickets`: links to pages, which back ends hand over to users.
@EventLoop enum TicketRoutes {
  nonisolated static let routes = [
    route("password-change", .reset, "Make a link to a page that sets a password"),
    route("email-verification", .verify, "Make a link to a page that verifies an address"),
  ]

  private nonisolated static func route(
    _ name: String, _ purpose: EmailToken.Purpose, _ summary: String
  ) -> Route {
    Route(
      .post, "/api/v2/tickets/\(name)", access: .management("create:user_tickets"),
      body: .json(limit: 16_384), issuesSecrets: true, summary: summary
    ) { call async throws(Failure) in
      let request = try TicketRequest(call.json.objectOfBody, for: purpose)
      let user = try await user(of: request, call.context)
      try await check(request, call.context)
      let link = try await UserAdministration.link(
        for: purpose, request.ticket, of: user, call.context
      )
      let body: JSON = ["ticket": .string(link)]
      return Response(.created, json: body.reporting(request.ignored).serialized())
    }
  }

  private static func user(
    of request: TicketRequest, _ context: RequestContext
  ) async throws(Failure) -> UserID {
    let user =
      switch request.subject {
      case .id(let id): try await ForeignIDs.user(of: id, context)
      case .email(let email): try await UserAdministration.holder(of: email, context)
      }
    guard let user else { throw .notFound }
    return user
  }

  /// Checks that the client exists and that the result URL is one of its logout URLs.
  private static func check(
    _ request: TicketRequest, _ context: RequestContext
  ) async throws(Failure) {
    var client: Client?
    if let name = request.client {
      guard let id = ClientID(name) else { throw .applicationUnknown }
      client = try await Clients.client(id, of: context.app.id, context)
      guard client != nil else { throw .applicationUnknown }
    }
    guard let url = request.ticket.resultURL else { return }
    guard !url.utf8.contains(UInt8(ascii: "#")),
      try await LogoutURLs.allow(url, of: client, context)
    else {
      let detail = "The application does not list this URL as a logout URL."
      throw .invalid([FieldError("/result_url", "value", detail)])
    }
  }
}

/// The body of a request for a ticket.
struct TicketRequest {
  enum Subject {
    case id(String)
    case email(String)
  }

  let subject: Subject
  let client: String?
  /// The members that this server lacks.
  let ignored: [String]
  let ticket: EmailToken.Ticket

  private static let usualLifetime = 432_000
  /// 30 days.
  private static let lifetimes = 0...2_592_000

  /// - Throws: `.connectionUnknown`, `.invalid` with every fault.
  init(_ body: JSONObject, for purpose: EmailToken.Purpose) throws(Failure) {
    var texts: [String: String] = [:]
    var (reader, ignored) = (MemberReader(), [String]())
    var (lifetime, verifies) = (Self.usualLifetime, purpose == .verify)
    for (name, value) in body where value != .null {
      switch name {
      case "user_id", "client_id", "result_url": texts[name] = reader.string(name, value)
      case "email" where purpose == .reset, "connection_id" where purpose == .reset:
        texts[name] = reader.string(name, value)
      case "ttl_sec":
        guard let seconds = value.number?.int, Self.lifetimes.contains(seconds) else {
          let range = "\(Self.lifetimes.lowerBound) to \(Self.lifetimes.upperBound)"
          reader.refuse(name, "value", "ttl_sec must be from \(range).")
          continue
        }
        lifetime = seconds == 0 ? Self.usualLifetime : seconds
      case "mark_email_as_verified" where purpose == .reset:
        verifies = reader.flag(name, value) ?? false
      // A user has one address, and URLs of results have none.
      case "identity": _ = reader.object(name, value)
      case "includeEmailInRedirect": _ = reader.flag(name, value)
      // The first limits who may use the page, and the second would be the user's password.
      case "organization_id", "new_password": reader.refuse(.unknownProperty(name))
      default: ignored.append(name)
      }
    }
    try reader.check()
    switch (texts["user_id"], texts["email"]) {
    case (let id?, nil): subject = .id(id)
    case (nil, let email?):
      // There is one connection. Back ends that moved from Auth0 know its id there.
      guard let connection = texts["connection_id"],
        connection.hasSameBytes(as: ClientSettings.Connection.password.auth0Name)
          || connection.utf8.starts(with: "con_".utf8)
      else { throw .connectionUnknown }
      subject = .email(email)
    default:
      let detail = "Send user_id, or email and connection_id."
      throw .invalid([FieldError("/user_id", "choice", detail)])
    }
    client = texts["client_id"]
    self.ignored = ignored
    ticket = EmailToken.Ticket(
      for: .seconds(lifetime), verifies: verifies, resultURL: texts["result_url"]
    )
  }
}
