package import ArgumentParser
import FoundationEssentials

/// What all commands take that go by the settings.
package struct ConfigurationOptions: ParsableArguments {
  @Option(
    name: .customLong("config"),
    help: "A file of settings, name = value a line; without it the one that DOSSIER_CONFIG names."
  )
  private var given: String?

  /// The path of the file of settings.
  package var config: String? {
    given ?? ProcessInfo.processInfo.environment[SettingValues.configVariable]
  }

  /// Where a supervisor has put what it read of that file.
  @Option(help: .hidden)
  package var configDescriptor: Int32?

  @Option(
    name: .customLong("set"),
    help: ArgumentHelp(
      "A setting, over the environment (DOSSIER_NAME) and the file.",
      valueName: "name=value"
    )
  )
  package var settings: [String] = []

  package init() {}

  /// What was said by flags, environment and file.
  package var values: SettingValues {
    values(config.map { SettingsFile(path: $0, descriptor: configDescriptor) })
  }

  /// The same, with a file that was read before.
  package func values(_ file: SettingsFile?) -> SettingValues {
    let environment = ProcessInfo.processInfo.environment
    return SettingValues(flags: settings, environment: environment, file: file)
  }

  /// The words for a process that is started with the same settings.
  package var arguments: [String] {
    (config.map { ["--config", $0] } ?? []) + settings.flatMap { ["--set", $0] }
  }
}
