/// The current and maximum number of allocated bytes, counted by hooks of the address sanitizer.
///
/// The counts are behind pointers, since a hook must not allocate or trigger exclusivity checks.
enum Memory {
  private nonisolated(unsafe) static let counts = UnsafeMutablePointer<Int>.allocate(capacity: 2)

  static func watch() {
    unsafe counts.initialize(repeating: 0, count: 2)
    _ = unsafe installHooks(
      { _, size in Memory.change(by: size) },
      { pointer in
        if let pointer = unsafe pointer { unsafe Memory.change(by: -allocatedSize(pointer)) }
      }
    )
  }

  /// Returns the maximum of additional allocated bytes while `body` runs.
  static func peak(of body: () -> Void) -> Int {
    let start = unsafe counts[0]
    unsafe counts[1] = start
    body()
    return unsafe counts[1] - start
  }

  private static func change(by size: Int) {
    unsafe counts[0] += size
    unsafe counts[1] = max(counts[0], counts[1])
  }
}

@_silgen_name("__sanitizer_install_malloc_and_free_hooks")
private func installHooks(
  _ allocation: @convention(c) (UnsafeRawPointer?, Int) -> Void,
  _ release: @convention(c) (UnsafeRawPointer?) -> Void
) -> CInt

@_silgen_name("__sanitizer_get_allocated_size")
private func allocatedSize(_ pointer: UnsafeRawPointer) -> Int
