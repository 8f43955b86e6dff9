package import ArgumentParser
import FoundationEssentials

/// What all commands take that go by the settings.
package struct ConfigurationOptions: ParsableArguments {
  @Option(name: .long, help: "A file of settings, name = value a line.")
  package var config: String?

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
    let environment = ProcessInfo.processInfo.environment
    return SettingValues(flags: settings, environment: environment, file: config)
  }

  /// The same words for a process that is started.
  package var arguments: [String] {
    (config.map { ["--config", $0] } ?? []) + settings.flatMap { ["--set", $0] }
  }
}
