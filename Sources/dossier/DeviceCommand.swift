import CommandKit
import ArgumentParser
import HTTP
import JSON

struct DeviceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "device",
    abstract: "Devices of an app, and the users who are known on each.",
    subcommands: [List.self, Show.self, Delete.self]
  )

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the devices on which a user is known, the newest first."
    )
    @OptionGroup var user: UserArgument
    @OptionGroup var list: ListOptions

    func run() throws {
      user.run { context, path async throws(CommandFailure) in
        try await context.list(
          "\(path)/devices", of: user.options.app, options: list,
          columns: ["id", "created_at", "last_seen_at", "activated_at", "sessions"]
        )
      }
    }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows a device with its users, the active user first."
    )
    @OptionGroup var options: AppOptions

    @Argument(help: "The id of the device.")
    var device: String

    func run() throws { options.send(.get, "/v1/devices/\(segment(device))") }
  }

  struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Makes a device forget a user, and ends the user's sessions there.",
      discussion: "Without a device, all devices forget the user, and all its sessions end.")
    @OptionGroup var user: UserArgument
    @OptionGroup var confirmation: Confirmation

    @Argument(help: "The id of the device.")
    var device: String?

    func run() throws {
      user.send(
        .delete, "/devices" + (device.map { "/\(segment($0))" } ?? ""), asking: confirmation,
        "Remove the user from \(device.map { "the device \($0)" } ?? "all devices")?")
    }
  }
}
