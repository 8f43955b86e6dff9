import ConsoleKit
import ConsolePages
import Encoding
import EventLoop
import HTTP
import HostedPages
import JSON
import Pages
import Runtime
import WireKit

/// The devices of a user, and a device with all its users.
@EventLoop enum DevicePages {
  private nonisolated static let ofUser = "/console/{app}/users/{user}/devices"
  private nonisolated static let path = "/console/{app}/devices/{device}"

  nonisolated static let routes = [
    ConsoleVisit.page(ofUser, "List the devices of a user", list),
    ConsoleVisit.form("\(ofUser)/sign-out", below: 1, "Sign a user out of a device") {
      (visit, form) async throws(Failure) in
      let device = try await label(of: form["device"], visit)
      try await signOut(visit.userID, of: form["device"] ?? "", visit)
      return .done(visit.userPath("devices"), "The user is signed out on \(device).")
    },
    ConsoleVisit.form("\(ofUser)/remove", below: 1, "Make devices forget a user") {
      (visit, form) async throws(Failure) in
      var path = ["users", visit.userID, "devices"]
      if let device = form["device"] { path.append(device) }
      let device = try await label(of: form["device"], visit)
      _ = try await visit.send(ConsoleRequest(.delete, path))
      return .done(
        visit.userPath("devices"),
        "The user is signed out on \(device), and must sign in there with a password or code.")
    },
    ConsoleVisit.page(path, "Show a device with its users", show),
    ConsoleVisit.form("\(path)/sign-out", below: 1, "Sign users out of a device") {
      (visit, form) async throws(Failure) in
      let device = visit.call.text("device")
      for user in try await users(of: form, visit) { try await signOut(user, of: device, visit) }
      return .done(visit.path("devices", device), "Signed out.")
    },
    ConsoleVisit.form("\(path)/remove", below: 1, "Make a device forget users") {
      (visit, form) async throws(Failure) in
      let device = visit.call.text("device")
      for user in try await users(of: form, visit) {
        _ = try await visit.send(ConsoleRequest(.delete, "users", user, "devices", device))
      }
      return .done(visit.path("devices", device), "Removed from the device.")
    },
  ]

  // MARK: Requests

  /// Returns the name of a device of the user, for a sentence; all devices for nil.
  private static func label(
    of device: String?, _ visit: ConsoleVisit
  ) async throws(Failure) -> String {
    guard let device else { return "all devices" }
    let found = try await visit.read("users", visit.userID, "devices", device).json
    return found["agent"]?.string.map(BrowserName.init)?.label ?? "the device"
  }

  /// Returns the user that a form names, or all users of the device.
  private static func users(
    of form: FormValues, _ visit: ConsoleVisit
  ) async throws(Failure) -> [String] {
    if let user = form["user"] { return [user] }
    let found = try await visit.read("devices", visit.call.text("device")).json
    return found["users"]?.array?.compactMap { $0["user_id"]?.string } ?? []
  }

  /// Ends the sessions of a user on one device, which still knows the user then.
  private static func signOut(
    _ user: String, of device: String, _ visit: ConsoleVisit
  ) async throws(Failure) {
    var cursor = ""
    repeat {
      let page = try await visit.read(
        "users", user, "sessions", query: [("limit", "100"), ("cursor", cursor)])
      for session in page.items where session["device_id"]?.string == device {
        _ = try await visit.send(
          ConsoleRequest(.delete, "users", user, "sessions", session["id"]?.string ?? ""))
      }
      cursor = page.next ?? ""
    } while !cursor.isEmpty
  }

  // MARK: The devices of a user

  private static func list(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    let user = try await visit.read("users", visit.userID).json
    let devices = try await visit.read(
      "users", visit.userID, "devices", query: [("limit", "50"), ("cursor", visit.cursor)])
    var page = UserPages.page(of: user, .devices, visit)
    page.commands = ["dossier device list \(visit.userID) --app \(visit.place)"]
    guard !devices.items.isEmpty else {
      page.body = [Part.empty("No device knows this user.")]
      return page
    }
    let mayChange = visit.right >= .support
    if mayChange {
      page.actions = [
        Part.button("Remove from all devices", visit.target(visit.userPath("devices", "remove")))
      ]
      page.body = [Part.paragraph(meaning, isMuted: true)]
    }
    let networks = try await networks(visit)
    var columns: [ConsoleTable.Column] = [
      .init("Device"), .init("Application"), .init("Network"), .init("Sessions", isNumber: true),
      .init("First use"), .init("Last use"),
    ]
    if mayChange { columns.append(.init("Action")) }
    var table = ConsoleTable("Devices", columns)
    for device in devices.items {
      let id = device["id"]?.string ?? ""
      let count = device["sessions"]?.text ?? "0"
      var row: [Markup] = [
        #"<a href="\#(visit.path("devices", id).text)">\#(name(of: device, id))</a>"#,
        application(of: device), network(networks[id], visit), "\(count)",
        Part.time(device["created_at"]?.string),
        Part.time(device["last_seen_at"]?.string),
      ]
      if mayChange {
        let hidden = [HiddenField("device", id)]
        let out = Part.button(
          "Sign out", visit.target(visit.userPath("devices", "sign-out"), hidden))
        let remove = Part.button(
          "Remove", visit.target(visit.userPath("devices", "remove"), hidden))
        row.append(#"<div class="actions">\#(count == "0" ? nil : out)\#(remove)</div>"#)
      }
      table.rows.append(row)
    }
    page.body.append(table.markup)
    page.body += visit.pager(devices) { visit.userPath("devices", query: $0) }
    return page
  }

  /// The meaning of the buttons.
  private static let meaning =
    "Sign out ends the sessions on a device, which still lists the user for the next sign-in. Remove "
    + "also makes the device forget the user: choose it for a lost phone."

  /// Returns the program and the system of a device, and a part of its id.
  private static func name(of device: JSON, _ id: String) -> Markup {
    let label = device["agent"]?.string.map(BrowserName.init)?.label ?? "Device"
    return "\(Part.name(label)) \(Part.identifier(NameWords.short(id)))"
  }

  /// Returns an address with a link to its events.
  private static func network(_ address: String?, _ visit: ConsoleVisit) -> Markup {
    guard let address else { return "" }
    let path = visit.path("audit", query: [("network", address)])
    return #"<a href="\#(path.text)">\#(Part.whole(address))</a>"#
  }

  /// Returns the name of the application of the latest sign-in on a device.
  private static func application(of device: JSON) -> Markup {
    device["client_name"]?.string.map(Part.name) ?? Part.muted("The API")
  }

  /// Returns the addresses of the latest live sessions, by their devices.
  ///
  /// - Throws: the failure of the request.
  private static func networks(_ visit: ConsoleVisit) async throws(Failure) -> [String: String] {
    var networks: [String: String] = [:]
    let sessions = try await visit.read(
      "users", visit.userID, "sessions", query: [("limit", "100")])
    // The newest session comes first.
    for session in sessions.items {
      guard let device = session["device_id"]?.string, networks[device] == nil else { continue }
      networks[device] = session["address"]?.string
    }
    return networks
  }

  // MARK: One device

  private static func show(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    let id = visit.call.text("device")
    let device = try await visit.read("devices", id).json
    let users = device["users"]?.array.map(Array.init) ?? []
    var latest = JSON.null
    if let user = users.first?["user_id"]?.string {
      latest = try await visit.read("users", user, "devices", id).json
    }
    let label =
      latest["agent"]?.string.map(BrowserName.init)?.label ?? "Device \(NameWords.short(id))"
    var page = ConsolePage(label, heading: Part.name(label), section: .users)
    page.hasTimes = true
    page.commands = ["dossier device show \(id) --app \(visit.place)"]
    let mayChange = visit.right >= .support
    if mayChange, !users.isEmpty {
      page.actions = [
        Part.button("Sign out all", visit.target(visit.path("devices", id, "sign-out"))),
        Part.button("Remove all users", visit.target(visit.path("devices", id, "remove"))),
      ]
    }
    page.body = [
      Part.card(
        nil,
        Part.definitions([
          ("Id", Part.identifier(id)),
          ("Application", application(of: latest)),
          ("First use", Part.time(device["created_at"]?.string)),
          ("Last use", Part.time(device["last_seen_at"]?.string)),
        ]))
    ]
    guard !users.isEmpty else {
      page.body.append(Part.empty("This device knows no user."))
      return page
    }
    var columns: [ConsoleTable.Column] = [.init("User"), .init("State"), .init("Last active")]
    if mayChange { columns.append(.init("Action")) }
    var table = ConsoleTable("Users of the device", columns)
    let states = ["active": "Active", "inactive": "Signed in", "logged_out": "Signed out"]
    for user in users {
      let key = user["user_id"]?.string ?? ""
      let state = user["state"]?.string ?? ""
      var row: [Markup] = [
        """
        <a href="\(visit.path("users", key).text)">\
        \(user["email"]?.string.map(Part.address) ?? Part.name(user["name"]?.string ?? key))</a>
        """,
        Part.tag(states[state] ?? state, state == "logged_out" ? .neutral : .success),
        Part.time(user["activated_at"]?.string),
      ]
      if mayChange {
        let hidden = [HiddenField("user", key)]
        let out = Part.button(
          "Sign out", visit.target(visit.path("devices", id, "sign-out"), hidden))
        let remove = Part.button(
          "Remove", visit.target(visit.path("devices", id, "remove"), hidden))
        row.append(#"<div class="actions">\#(state == "logged_out" ? nil : out)\#(remove)</div>"#)
      }
      table.rows.append(row)
    }
    page.body.append("<h2>Users</h2>")
    if mayChange { page.body.append(Part.paragraph(meaning, isMuted: true)) }
    page.body.append(table.markup)
    return page
  }
}
