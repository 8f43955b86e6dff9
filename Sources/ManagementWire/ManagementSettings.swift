package import Runtime

/// Which APIs of Auth0 an app offers, beside OpenID Connect.
package struct ManagementSettings: SettingsSection {
  /// Whether the app has back ends that call `/api/v2`.
  let offersManagement: Bool
  /// Whether the app has clients that call `/dbconnections`.
  let offersDatabaseConnections: Bool

  package init(_ read: inout SettingsReader) {
    offersManagement = read.flag(
      "auth0_management", false, safe: false,
      "whether back ends may call the Management API of Auth0 (/api/v2) in the app"
    )
    offersDatabaseConnections = read.flag(
      "auth0_dbconnections", false, safe: false,
      "whether clients of Auth0 may sign users up and ask for a reset at /dbconnections"
    )
  }
}
