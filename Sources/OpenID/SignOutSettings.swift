package import Runtime

/// The settings of sign-outs that clients ask for.
package struct SignOutSettings: SettingsSection {
  /// Whether `/v2/logout` asks the user also if the client has a session in the browser.
  package let alwaysAsks: Bool

  package init(_ read: inout SettingsReader) {
    alwaysAsks = read.flag(
      "confirm_sign_out",
      false,
      safe: true,
      "whether /v2/logout, to which any site can send a browser, always asks the user; otherwise it "
        + "does not ask if the named client has a session in the browser"
    )
  }
}
