package import ArgumentParser
import FoundationEssentials

/// The options of all commands that use the settings.
package struct ConfigurationOptions: ParsableArguments {
  @Option(
    name: .customLong("config"),
    help: "The settings file, with lines `name = value`. The default is the file in DOSSIER_CONFIG."
  )
  private var given: String?

  /// The path of the settings file.
  package var config: String? {
    given ?? ProcessInfo.processInfo.environment[SettingValues.configVariable]
  }

  /// The descriptor under which a supervisor passes its copy of that file.
  @Option(help: .hidden)
  package var configDescriptor: Int32?

  @Option(
    name: .customLong("set"),
    help: ArgumentHelp(
      "A setting. It overrides the environment (DOSSIER_NAME) and the file.",
      valueName: "name=value"
    )
  )
  package var settings: [String] = []

  package init() {}

  /// The settings from flags, environment and file.
  package var values: SettingValues {
    values(config.map { SettingsFile(path: $0, descriptor: configDescriptor) })
  }

  /// Returns the settings from flags, environment and an already read file.
  package func values(_ file: SettingsFile?) -> SettingValues {
    let environment = ProcessInfo.processInfo.environment
    return SettingValues(flags: settings, environment: environment, file: file)
  }

  /// The arguments for a process with the same settings.
  package var arguments: [String] {
    (config.map { ["--config", $0] } ?? []) + settings.flatMap { ["--set", $0] }
  }
}
