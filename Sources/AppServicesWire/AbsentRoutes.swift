import EventLoop
import HTTP
import WireKit

/// The routes of App Services that this server does not offer.
///
/// Each returns an error in the form of App Services.
enum AbsentRoutes {
  private static let app = AppServicesWire.appPrefix
  private static let push = "\(app)/push/providers/{service}/registration"

  static let routes = [
    absent(.get, "\(app)\(FunctionRoutes.path)", "Refuse to watch a collection") { _ in
      ServiceError(.notFound, "watch is not offered", .noCommand)
    },
    absent(.get, "\(app)/realm-sync", "Refuse device sync") { _ in
      ServiceError(.notFound, "device sync is not offered", .noService)
    },
    absent(.put, push, "Refuse to register for push messages", noPush),
    absent(.delete, push, "Refuse to deregister from push messages", noPush),
    absent(.post, "\(app)/graphql", "Refuse GraphQL") { _ in
      ServiceError(.notFound, "GraphQL is not offered", .noService)
    },
    absent(
      .get, "\(app)/auth/providers/{provider}/login", "Refuse to log in by way of a provider's page"
    ) { call in
      let name = call.text("provider")
      switch Provider(rawValue: name) {
      case .google, .apple:
        return .badRequest("\(name) has no page to log in by; send an id_token")
      default: return .noProvider(name)
      }
    },
  ]

  private static let noPush: @EventLoop @Sendable (Call) -> ServiceError = { call in
    ServiceError(.notFound, "service not found: '\(call.text("service"))'", .noService)
  }

  private static func absent(
    _ method: Method, _ pattern: String, _ summary: String,
    _ error: @escaping @EventLoop @Sendable (Call) -> ServiceError
  ) -> Route {
    Route(method, pattern, access: .open, summary: summary) { call in error(call).response(to: call)
    }
  }
}
