import FoundationEssentials
import Testing

/// Runs the fuzz targets without libFuzzer, so that every build compiles and tests them.
@Suite struct SeedTests {
  /// The number of inputs that are made of one seed.
  static let mutations = 40

  @Test(arguments: FuzzTarget.all.map(\.name))
  func `no seed and no input made of it breaks a rule`(name: String) throws {
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "seeds/\(name)").path
    let seeds = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    #expect(!seeds.isEmpty)
    for seed in seeds {
      let input = try Array(Data(contentsOf: URL(filePath: "\(folder)/\(seed)")))
      target.check(input)
      var mutator = Mutator(seed: 1, words: target.words)
      var made = input
      for _ in 0..<Self.mutations {
        let isTree = target.isJSON && mutator.dice.chance(2)
        made = (isTree ? mutator.tree(made) : mutator.text(made)) ?? made
        // An input that is too long ends the chain of mutations; begin again.
        if made.count > target.longest { made = input }
        target.check(made)
      }
    }
  }
}

/// Stands for the count of the address sanitizer, which units run without.
enum Memory {
  static func peak(of body: () -> Void) -> Int {
    body()
    return 0
  }
}
