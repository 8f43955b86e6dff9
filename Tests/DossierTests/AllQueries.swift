import Accounts
import Administration
import Delivery
import Documents
import IdentitySubjects
import OpenID
import Permissions
import RateLimiting
import Runtime
import Sessions
import Tenancy
import Transfer
import Postgres

/// Every statement of the domain.
enum AllQueries {
  static let statements: [any PreparedStatement] = [
    KeyringQueries.all, PrincipalQueries.all,
    MaintenanceQueries.all,
    UnusedQueries.all, SessionsQueries.all, FreshProofQueries.all, AuditQueries.all,
    EventQueries.all,
    DevicesQueries.all, NewDeviceQueries.all, KnownNetworkQueries.all, AttemptQueries.all,
    AttemptLiftQueries.all,
    UsersQueries.all, PasswordQueries.all,
    EmailAddressQueries.all, AccountQueries.all, TakeoverQueries.all, CredentialQueries.all,
    CredentialRowQueries.all, CredentialRevocationQueries.all, SubjectQueries.all,
    MailTokenQueries.all, EmailChangeQueries.all, FlowQueries.all, NetworkFlowQueries.all,
    IdempotencyQueries.all,
    SecondFactorQueries.all, SecondFactorFlowQueries.all,
    OutboxQueries.all,
    IdentitiesQueries.all, UserOriginQueries.all, SignedSessionQueries.all, ForeignIDQueries.all,
    UserRecordQueries.all, UserRevisionQueries.all, StandingSessionQueries.all,
    AccountClaimQueries.all,
    RecordQueries.all, IssuerQueries.all, APIKeyQueries.all, SecurityNoticeQueries.all,
    ProfileQueries.all,
    PropertyQueries.all, DocumentsQueries.all, DocumentHistoryQueries.all,
    SearchValueQueries.all, PictureQueries.all,
    ExportQueries.all,
    AppsAdministrationQueries.all, AppsDeletionQueries.all, ClientQueries.all,
    ClientAdministrationQueries.all, ClientOriginQueries.statements, LogoutURLQueries.all,
    ResourceServerQueries.all,
    ClientGrantQueries.all, RoleQueries.all, RolePermissionQueries.all, UserRoleQueries.all,
    UserPermissionQueries.all, RemovedScopeQueries.all, SigningKeyQueries.all,
    UserRemovalQueries.all, UserAdministrationQueries.all,
    StoredAddressQueries.all, PresentedEmailTokenQueries.all,
    SessionsAdministrationQueries.all,
    SessionCreationQueries.all,
    AuditLogQueries.all, ImportQueries.all,
    UserExportQueries.all,
    SearchIndexQueries.all, SchemaQueries.statements,
    AuthorizationQueries.all, AuthorizationCodeQueries.all, BrowserUserQueries.all,
    ClientTokenQueries.all,
    ClientSessionQueries.all, UserSessionQueries.all, AccountSessionQueries.all,
    AccountSummaryQueries.all,
    UserLinkQueries.all, StandardClaimQueries.all, ConsentQueries.all, LogoutNoticeQueries.all,
    MasterKeysQueries.all, ReencryptionQueries.all, ReadinessQueries.all, HostQueries.all,
  ].flatMap(\.self)
}
