import Glibc

/// The driver of libFuzzer, which runs a target repeatedly.
@_silgen_name("LLVMFuzzerRunDriver")
func runDriver(
  _ count: UnsafeMutablePointer<CInt>,
  _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
  _ target: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

@_silgen_name("LLVMFuzzerMutate")
func mutateBytes(_ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int, _ limit: Int) -> Int

extension FuzzTarget {
  /// The name of the target, from the environment, since libFuzzer controls the arguments of the
  /// processes that it starts.
  static let wanted = unsafe getenv("DOSSIER_FUZZ_TARGET").map { unsafe String(cString: $0) }
  static let chosen = all.first { $0.name == wanted }
}

guard FuzzTarget.chosen != nil else {
  for target in FuzzTarget.all { print(target.name, target.longest) }
  exit(FuzzTarget.wanted == nil ? 0 : 64)
}

Memory.watch()
var count = CommandLine.argc
var arguments = unsafe CommandLine.unsafeArgv
exit(
  unsafe runDriver(&count, &arguments) { bytes, count in
    let input = unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
    FuzzTarget.chosen?.check(input)
    return 0
  }
)

/// Makes a new input from an existing one, for libFuzzer.
@_cdecl("LLVMFuzzerCustomMutator")
func mutate(
  _ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int, _ seed: CUnsignedInt
) -> Int {
  let target = FuzzTarget.chosen
  var mutator = Mutator(seed: UInt64(seed), words: target?.words ?? [])
  let input = unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
  let isTree = target?.isJSON == true && mutator.dice.chance(2)
  if let made = isTree ? mutator.tree(input) : mutator.text(input), made.count <= limit {
    _ = unsafe UnsafeMutableBufferPointer(start: bytes, count: limit).update(fromContentsOf: made)
    return made.count
  }
  return unsafe mutateBytes(bytes, count, limit)
}
