import Accounts
import Declarations
import Runtime
import Tenancy
import WireKit

extension RESTWire {
  /// All of the API, in the order of the reference.
  ///
  /// The examples are commands for one shell, in this order. A test runs them as they are served.
  static let chapters: [Chapter] = [
    Chapter(
      title: "Signing in",
      says: "These routes need no access token. Failures are limited, by address and by network.",
      example: #"""
        # B is the address of the server, such as http://127.0.0.1:8080.
        JSON='Content-Type: application/json'
        TOKEN=$(curl -s $B/v1/register -H "$JSON" \
          -d '{"email":"lovelace@example.com","password":"correct horse battery"}' \
          | sed 's/.*"access_token":"\([^"]*\)".*/\1/')
        AUTH="Authorization: Bearer $TOKEN"
        curl -s $B/v1/login/password -H "$JSON" \
          -d '{"email":"lovelace@example.com","password":"correct horse battery"}'
        """#,
      operations: LoginResource.operations + EmailResource.codes
        + SecondFactorResource.signIn + EmailResource.verification
        + PasswordResource.operations
    ),
    Chapter(
      title: "Devices",
      says: "The users of a device, and the active one.",
      example: #"""
        DEVICE=$(curl -s $B/v1/login/anonymous -H "$JSON" -d '{}' \
          | sed 's/.*"device_secret":"\([^"]*\)".*/\1/')
        curl -s $B/v1/device -H "Dossier-Device: $DEVICE"
        """#,
      operations: DeviceResource.operations
    ),
    Chapter(
      title: "Users",
      says: "Profile and picture. /v1/me is for the user, /v1/users for API clients.",
      example: #"""
        curl -s $B/v1/me -H "$AUTH"
        curl -s -X PATCH $B/v1/me -H "$AUTH" -H 'Content-Type: application/merge-patch+json' \
          -d '{"name":"Ada Lovelace","zone":"Europe/London"}'
        """#,
      exampleOfPrograms: #"""
        # SECRET is what this prints once: dossier client create NAME kind=machine --operator
        curl -s $B/v1/users -H "Authorization: Bearer $SECRET" -H "$JSON" \
          -d '{"email":"charles@example.com","name":"Charles","metadata":{"theme":"dark"}}'
        curl -s -G $B/v1/users -H "Authorization: Bearer $SECRET" \
          --data-urlencode 'filter=email = "lovelace@example.com"'
        """#,
      operations: ProfileResource.operations + PictureResource.operations
        + UserResource.operations + UserResource.support + RoleResource.ofUsers
    ),
    Chapter(
      title: "Documents",
      says: "Metadata, app metadata and custom data: JSON objects of the app.",
      example: #"""
        curl -s -X PATCH $B/v1/me/metadata -H "$AUTH" -H 'If-Match: "0"' \
          -H 'Content-Type: application/merge-patch+json' -d '{"theme":"dark"}'
        curl -s -X PUT $B/v1/me/custom-data -H "$AUTH" -H "$JSON" -d '{"level":7,"items":["axe"]}'
        curl -s -X PATCH $B/v1/me/custom-data -H "$AUTH" \
          -H 'Content-Type: application/json-patch+json' \
          -d '[{"op":"add","path":"/items/-","value":"lamp"}]'
        curl -s $B/v1/me/custom-data/update -H "$AUTH" -H "$JSON" \
          -d '{"update":{"$inc":{"level":1},"$push":{"items":"rope"}}}'
        curl -s $B/v1/me/custom-data -H "$AUTH"
        """#,
      operations: DocumentResource.operations + UpdateResource.operations
    ),
    Chapter(
      title: "Properties",
      says: "Small values by key, each with a version.",
      example: #"""
        curl -s -X PUT $B/v1/me/properties/volume -H "$AUTH" -H "$JSON" -d '{"value":5}'
        curl -s -X PATCH $B/v1/me/properties -H "$AUTH" -H "$JSON" -d '{"volume":8,"sound":true}'
        curl -s $B/v1/me/properties -H "$AUTH"
        """#,
      operations: PropertyResource.operations
    ),
    Chapter(
      title: "Identities and sessions",
      says: "The credentials, sessions and audit events of a user.",
      example: #"""
        curl -s $B/v1/me/api-keys -H "$AUTH" -H "$JSON" -d '{"name":"laptop"}'
        curl -s $B/v1/me/identities -H "$AUTH"
        curl -s $B/v1/me/sessions -H "$AUTH"
        curl -s $B/v1/me/audit -H "$AUTH"
        curl -s $B/v1/apps/default/jwks.json
        """#,
      operations: IdentityResource.operations + EmailResource.change
        + SecondFactorResource.operations + SessionResource.operations + KeyResource.ofApps
    ),
    Chapter(
      title: "Operation",
      says:
        "Apps, clients, APIs, roles, keys, issuers, indexes, schemas, events and mail, for the operator.",
      exampleOfPrograms: #"""
        curl -s $B/v1/apps -H "Authorization: Bearer $SECRET" -H "$JSON" -d '{"name":"adventure"}'
        curl -s -X PATCH $B/v1/apps/adventure -H "Authorization: Bearer $SECRET" \
          -H 'Content-Type: application/merge-patch+json' -d '{"settings":{"session_days":30}}'
        curl -s $B/v1/indexes -H "Authorization: Bearer $SECRET" -H "Dossier-App: adventure" -H "$JSON" \
          -d '{"path":"metadata.theme","kind":"text"}'
        curl -s -X PUT $B/v1/schemas/metadata -H "Authorization: Bearer $SECRET" \
          -H "Dossier-App: adventure" -H "$JSON" -d '{"properties":{"theme":{"enum":["dark","light"]}}}'
        curl -s $B/v1/clients -H "Authorization: Bearer $SECRET" -H "$JSON" \
          -d '{"name":"game","app":"adventure","kind":"native",
            "callback_urls":["com.example.game://callback"]}'
        curl -s $B/v1/resource-servers -H "Authorization: Bearer $SECRET" -H "$JSON" \
          -d '{"app":"adventure","identifier":"https://api.example.com","name":"Scores",
            "scopes":{"read:scores":"See your scores"}}'
        """#,
      operations: AppResource.operations + ClientResource.operations
        + RecordResources.resourceServers + ClientGrantResource.operations
        + RecordResources.roles + RoleResource.operations + KeyResource.operations
        + RecordResources.issuers + IndexResource.operations + SchemaResource.operations
        + AuditResource.operations + MailResource.operations + RateLimitResource.operations
    ),
    Chapter(
      title: "Reference",
      says: "These pages, and the OpenAPI document.",
      example: #"""
        curl -s $B/openapi.json
        """#,
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
          .noHostName, .grantExists
        ))
  )
}
