import CommandKit
import EventLoop
import ArgumentParser
import JSON
import PasswordHashes

struct Calibrate: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Suggests Argon2id parameters for this machine.",
    discussion: """
      Measures Argon2id and prints settings for dossierd. Run it while the machine is idle. More \
      memory is better than more passes. A worker needs the memory once for each of its \
      hashing_threads. When the settings change, each password is hashed again at the next login.
      """)
  @OptionGroup var output: OutputOptions

  @Option(help: ArgumentHelp("The time for one hash, at least 10.", valueName: "milliseconds"))
  var target = 100

  @Option(help: ArgumentHelp("The memory for one hash.", valueName: "KiB"))
  var maxMemory = 262_144

  func validate() throws {
    guard (10...60_000).contains(target) else {
      throw ValidationError("--target must be 10 to 60000 milliseconds.")
    }
    let memory = HashingCost.least.memory...HashingCost.most.memory
    guard memory.contains(maxMemory) else {
      throw ValidationError(
        "--max-memory must be \(memory.lowerBound) to \(memory.upperBound) KiB."
      )
    }
  }

  func run() throws {
    let cost = HashingCost.calibrated(for: .milliseconds(target), memoryLimit: maxMemory)
    guard let time = cost.measured() else { end(["there is not enough memory"], .internalError) }
    let microseconds = max(1, Int(time / .microseconds(1)))
    if output.isJSON {
      let value: JSON = [
        "argon2_memory": .number(JSONNumber(cost.memory)),
        "argon2_passes": .number(JSONNumber(cost.passes)),
        "microseconds": .number(JSONNumber(microseconds)),
      ]
      Output.write(value.text + "\n", to: 1)
    } else {
      Output.write("argon2_memory = \(cost.memory)\nargon2_passes = \(cost.passes)\n", to: 1)
      let rate = 1_000_000 / microseconds
      say("a hash takes \(microseconds / 1_000) ms; a thread makes \(rate) a second")
    }
    if cost == .least, microseconds > target * 1_000 {
      say("the minimum safe cost takes longer than \(target) ms here")
    }
  }
}
