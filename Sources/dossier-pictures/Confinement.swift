import CLinux
import CSeccomp
import Glibc
import PictureContract

/// The restrictions that the process puts on itself before it reads input.
enum Confinement {
  /// Limits memory, processor time and files.
  ///
  /// Must run before the library starts.
  static func limit() throws(PictureError) {
    guard CLinux_give_up_privileges() == 0, CLinux_die_with_parent(SIGKILL) == 0 else {
      throw PictureError(.unforeseen, "prctl")
    }
    // Requests have priority if processors are scarce.
    _ = nice(5)
    // Swift's handlers would print a backtrace with forbidden system calls. Without them, a crash
    // exits with its own signal.
    for number in [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSEGV, SIGTRAP] {
      signal(number, SIG_DFL)
    }
    // The soft limit sends SIGXCPU. The hard limit kills a second later.
    signal(SIGXCPU) { _ in _exit(PictureStatus.tooSlow.rawValue) }
    // A write to a file fails, and does not kill the process.
    signal(SIGXFSZ, SIG_IGN)
    let limits: [(resource: __rlimit_resource_t, soft: Int, hard: Int)] = [
      (RLIMIT_AS.number, PictureLimits.memory, PictureLimits.memory),
      (RLIMIT_CPU.number, PictureLimits.processorTime, PictureLimits.processorTime + 1),
      (RLIMIT_CORE.number, 0, 0),
      (RLIMIT_FSIZE.number, 0, 0),
      (RLIMIT_NOFILE.number, 64, 64),
    ]
    for limit in limits { try set(limit.resource, soft: limit.soft, hard: limit.hard) }
  }

  private static func set(_ resource: __rlimit_resource_t, soft: Int, hard: Int)
    throws(PictureError)
  {
    var limits = rlimit()
    guard unsafe getrlimit(resource, &limits) == 0 else {
      throw PictureError(.unforeseen, "rlimit \(resource)")
    }
    // The parent process may have set lower limits.
    limits.rlim_max = min(limits.rlim_max, rlim_t(hard))
    limits.rlim_cur = min(limits.rlim_cur, limits.rlim_max, rlim_t(soft))
    guard unsafe setrlimit(resource, &limits) == 0 else {
      throw PictureError(.unforeseen, "rlimit \(resource)")
    }
  }

  /// Closes all descriptors but 0, 1 and 2, and allows only the system calls for decoding.
  ///
  /// Must run after the library has started, and applies to all its threads.
  ///
  /// Any other call kills the process with SIGSYS.
  static func filter() throws(PictureError) {
    guard CLinux_close_from(3) == 0 else { throw PictureError(.unforeseen, "close_range") }
    try set(RLIMIT_NOFILE.number, soft: 3, hard: 3)
    guard let rules = unsafe seccomp_init(SCMP_ACT_KILL_PROCESS) else {
      throw PictureError(.unforeseen, "seccomp_init")
    }
    var filter = unsafe Filter(rules: rules)
    filter.set(SCMP_FLTATR_CTL_TSYNC, 1)
    filter.set(SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS)
    filter.allow("read", where: .init(0, SCMP_CMP_EQ, 0))
    for descriptor in [1, 2] {
      filter.allow("write", where: .init(0, SCMP_CMP_EQ, UInt64(descriptor)))
    }
    // Memory that is never executable.
    let noCode = Filter.Condition(2, SCMP_CMP_MASKED_EQ, UInt64(PROT_EXEC), 0)
    for call in ["mmap", "mprotect"] { filter.allow(call, where: noCode) }
    for call in ["munmap", "mremap", "madvise", "brk"] { filter.allow(call) }
    // Threads, but no processes. A filter cannot see the flags of `clone3`, which are in memory. If
    // that call fails as unknown, the C library uses `clone`.
    let thread = UInt64(CSeccompFlagThread.rawValue)
    filter.allow("clone", where: .init(0, SCMP_CMP_MASKED_EQ, thread, thread))
    filter.refuse("clone3", ENOSYS)
    for call in ["futex", "set_robust_list", "rseq", "sched_yield", "sched_getaffinity", "gettid"] {
      filter.allow(call)
    }
    filter.allow("prctl", where: .init(0, SCMP_CMP_EQ, UInt64(PR_SET_NAME)))
    // Time, signals to itself, and exit.
    for call in ["clock_gettime", "gettimeofday", "clock_nanosleep", "restart_syscall"] {
      filter.allow(call)
    }
    for call in ["rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "getpid"] {
      filter.allow(call)
    }
    filter.allow("tgkill", where: .init(0, SCMP_CMP_EQ, UInt64(getpid())))
    for call in ["getrandom", "exit", "exit_group"] { filter.allow(call) }
    // Calls that libraries make but can do without, to look for character sets and time zones.
    for call in ["openat", "newfstatat", "fstat", "ioctl"] { filter.refuse(call, EACCES) }
    guard filter.load() else { throw PictureError(.unforeseen, "seccomp") }
  }
}

extension __rlimit_resource {
  /// The resource in the type that the C library's functions take.
  fileprivate var number: __rlimit_resource_t { __rlimit_resource_t(rawValue) }
}

/// A builder of the list of allowed system calls.
@safe private struct Filter {
  /// A condition on an argument of a call.
  struct Condition {
    let comparison: scmp_arg_cmp

    init(_ argument: UInt32, _ operation: scmp_compare, _ first: UInt64, _ second: UInt64 = 0) {
      comparison = scmp_arg_cmp(arg: argument, op: operation, datum_a: first, datum_b: second)
    }
  }

  private let rules: scmp_filter_ctx
  private var isSound = true

  init(rules: scmp_filter_ctx) { unsafe self.rules = unsafe rules }

  mutating func set(_ attribute: scmp_filter_attr, _ value: UInt32) {
    note(unsafe seccomp_attr_set(rules, attribute, value))
  }

  mutating func allow(_ call: String, where conditions: Condition...) {
    add(SCMP_ACT_ALLOW, call, conditions)
  }

  mutating func refuse(_ call: String, _ code: Int32) { add(CSeccomp_refuse(code), call, []) }

  private mutating func add(_ action: UInt32, _ call: String, _ conditions: [Condition]) {
    let number = unsafe seccomp_syscall_resolve_name(call)
    let comparisons = conditions.map(\.comparison)
    note(
      unsafe seccomp_rule_add_array(rules, action, number, UInt32(comparisons.count), comparisons)
    )
  }

  private mutating func note(_ code: Int32) { if code != 0 { isSound = false } }

  /// Activates the filter.
  ///
  /// Returns false if that or a rule failed.
  func load() -> Bool { unsafe isSound && seccomp_load(rules) == 0 }
}
