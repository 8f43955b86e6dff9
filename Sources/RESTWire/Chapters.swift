import Accounts
import Administration
import Declarations
import Federation
import Runtime
import Tenancy
import Transfer
import WireKit

extension RESTWire {
  /// All of the API, in the order of the reference.
  ///
  /// A test runs the examples in this order, in one shell, as they are served.
  static let chapters: [Chapter] = [
    Chapter(
      title: "Signing in",
      says: "These routes need no access token. Failures are limited, by address and by network.",
      operations: LoginResource.operations + ConnectionResource.ofApps + EmailResource.codes
        + PasskeyResource.signIn + SecondFactorResource.signIn + EmailResource.verification
        + PasswordResource.operations
    ),
    Chapter(
      title: "Devices",
      says: "The users of a device, and the active one.",
      example: #"""
        # Ada and Grace share a device. Each sign-in replaces its secret.
        DEVICE=$(curl -s "$B/v1/login/password" -H "$JSON" \
          -d '{"email":"ada@example.org","password":"correct horse battery"}' | jq -r .device_secret)
        DEVICE=$(curl -s "$B/v1/login/password" -H "$JSON" -H "Dossier-Device: $DEVICE" \
          -d '{"email":"grace@example.org","password":"correct horse battery"}' | jq -r .device_secret)
        """#,
      operations: DeviceResource.operations
    ),
    Chapter(
      title: "Users",
      says: "Profile and picture. /v1/me is for the user, /v1/users for API clients.",
      exampleOfPrograms: #"""
        # Users that match a filter.
        curl -s -G "$B/v1/users" -H "Authorization: Bearer $SECRET" \
          --data-urlencode 'filter=email = "ada@example.org"'
        """#,
      operations: ProfileResource.operations + ChangesResource.operations
        + PictureResource.operations
        + UserResource.operations + UserResource.support + SignInCheckResource.operations
        + SearchResource.operations + ConsentResource.operations
        + MergeResource.operations
        + RoleResource.ofUsers
    ),
    Chapter(
      title: "Documents",
      says: "Metadata, app metadata and custom data: JSON objects of the app.",
      example: #"""
        # A JSON Patch changes parts of a document, all or none.
        curl -s -X PUT "$B/v1/me/custom-data" -H "Authorization: Bearer $TOKEN" -H "$JSON" \
          -d '{"level":7,"items":["axe"]}'
        curl -s -X PATCH "$B/v1/me/custom-data" -H "Authorization: Bearer $TOKEN" \
          -H 'Content-Type: application/json-patch+json' \
          -d '[{"op":"add","path":"/items/-","value":"lamp"}]'
        """#,
      operations: DocumentResource.operations + DocumentResource.together
        + UpdateResource.operations
    ),
    Chapter(
      title: "Properties",
      says: "Small values by key, each with a version.",
      operations: PropertyResource.operations
    ),
    Chapter(
      title: "Identities and sessions",
      says: "The credentials, sessions, devices and audit events of a user.",
      operations: SupportResource.ofUsers + IdentityResource.operations
        + PasskeyResource.operations + EmailResource.change
        + SecondFactorResource.operations + SessionResource.operations
        + SessionUndoResource.operations + DeviceResource.ofPrograms
        + KeyResource.ofApps
    ),
    Chapter(
      title: "Events",
      says: "Events of an app, for back ends, log systems and services that verify tokens.",
      operations: EventResource.operations + RecordResources.webhooks + WebhookResource.operations
        + RecordResources.logStreams + LogStreamResource.operations
    ),
    Chapter(
      title: "Operation",
      says:
        "Apps, administrators, clients, APIs, roles, keys, issuers, connections, jobs, indexes, "
        + "schemas, events and mail, for the operator.",
      operations: AppResource.operations + AdministratorResource.operations
        + ClientResource.operations + RecordResources.resourceServers
        + ClientGrantResource.operations
        + RecordResources.roles + RoleResource.operations + KeyResource.operations
        + RecordResources.issuers + RecordResources.connections
        + ConnectionResource.ofOperators + IndexResource.operations + SchemaResource.operations
        + AuditResource.operations + StatisticsResource.operations
        + DoctorResource.operations + MailResource.operations + RateLimitResource.operations
        + SupportResource.operations + JobResource.operations
    ),
    Chapter(
      title: "Reference",
      says: "These pages, and the OpenAPI document.",
      operations: ReferenceResource.operations
    ),
  ]
}

extension RESTWire {
  /// The types of error with a page, by status and code: those that routes declare, and others that
  /// precede a route, or that only other wires return.
  static let problems = ErrorType.sorted(
    Set(
      chapters.flatMap(\.operations).flatMap(\.problems)
        + ErrorType.types(
          .routeNotFound, .methodNotAllowed, .internalOnly, .wireDisabled, .userBlocked,
          .noHostName, .grantExists, .redirectStateInvalid, .logoutTokenInvalid,
          .roleInsufficient, .appReserved, .linkExpired, .secondFactorMissing, .networkRefused,
          .jobAbandoned, .exportTooLarge
        ))
  )
}
