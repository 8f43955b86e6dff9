// swift-tools-version: 6.2
import PackageDescription

var house: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableExperimentalFeature("Lifetimes"),
  // Without whole-module optimization, the compiler reports imports wrongly: the same import is unused in
  // one build and needed in the next.
  .treatAllWarnings(as: .error, .when(configuration: .release)),
]

/// Whether `deploy/test` builds.
let isTested = Context.environment["DOSSIER_TESTED"] != nil

// The build of `deploy/test` has the checks of a debug build. Others specialize generic code of one
// module for the types of another: statements, rows, routes. One thread compiles each module, since
// several would specialize the same code several times: that took half as much processor time more.
house.append(
  .unsafeFlags(
    isTested
      ? ["-enable-testing", "-assert-config", "Debug"]
      : ["-cross-module-optimization", "-num-threads", "1"],
    .when(configuration: .release)
  )
)

/// The archive with libFuzzer, which `Tests/Fuzz/run` sets: all is then built to be fuzzed.
let fuzzer = Context.environment["DOSSIER_FUZZER"]

if fuzzer != nil {
  house.append(.unsafeFlags(["-sanitize=fuzzer,address", "-enable-testing"]))
}

/// For the modules that hold pointers: each unsafe expression is marked.
let pointers = house + [.strictMemorySafety()]

/// For what lies under every request.
///
/// These have state that only the loop's thread touches, through a few functions of their own. Debug
/// builds, and so all tests, and what is fuzzed check each access for others that overlap; in release
/// builds that check took a twentieth of a request.
let unchecked: [SwiftSetting] =
  fuzzer == nil && !isTested
  ? [.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))] : []

let engine = pointers + unchecked

let unoptimized: [SwiftSetting] = [.unsafeFlags(["-Onone"], .when(configuration: .release))]

/// For the domain, the wires and the programs, and for engines that requests hardly use.
///
/// The build of `deploy/test` does not optimize them: that saves a quarter of its processor time,
/// and the tests need less than half of that more.
let domain = isTested ? house + unoptimized : house
let tests = house + unoptimized

/// Takes a third of the time of the default linker; programs and tests are linked after each change.
let linker: [LinkerSetting] = fuzzer == nil ? [.unsafeFlags(["-use-ld=lld"])] : []

/// For programs: each process takes 2 MB less.
///
/// They leave out the names of all functions, which no library looks up, and pack relocations.
let program =
  linker + [
    .unsafeFlags(
      ["--no-export-dynamic", "-z", "pack-relative-relocs"].flatMap { ["-Xlinker", $0] },
      .when(configuration: .release)
    )
  ]

let package = Package(
  name: "dossier",
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser.git", exact: "1.8.2"),
    .package(url: "https://github.com/apple/swift-collections.git", exact: "1.6.0"),
    .package(url: "https://github.com/apple/swift-crypto.git", exact: "4.5.2"),
  ],
  targets: [
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "CFastCGI"),
    .systemLibrary(name: "CCrypt"),
    .systemLibrary(name: "CSodium", pkgConfig: "libsodium"),
    .systemLibrary(name: "CPostgres", pkgConfig: "libpq"),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl"),
    .systemLibrary(name: "CHEIF", pkgConfig: "libheif"),
    .systemLibrary(name: "CIDN2", pkgConfig: "libidn2"),
    .systemLibrary(name: "CLCMS", pkgConfig: "lcms2"),
    .systemLibrary(name: "CPCRE2", pkgConfig: "libpcre2-8"),
    .systemLibrary(name: "CQREncode", pkgConfig: "libqrencode"),
    .systemLibrary(name: "CSeccomp"),
    .systemLibrary(name: "CVips", pkgConfig: "vips"),
    .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1"),
    .target(name: "Encoding", swiftSettings: house, linkerSettings: linker),
    .target(
      name: "EventLoop",
      dependencies: [
        "CLinux", .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "HeapModule", package: "swift-collections"),
      ],
      swiftSettings: engine
    ),
    .target(
      name: "FastCGI", dependencies: ["CFastCGI", "CLinux", "EventLoop"], swiftSettings: engine
    ),
    .target(
      name: "Postgres",
      dependencies: [
        "CPostgres", "EventLoop", "Encoding",
        .product(name: "DequeModule", package: "swift-collections"),
      ],
      swiftSettings: engine
    ),
    .target(name: "Distribution", dependencies: ["Postgres"], swiftSettings: domain),
    .target(
      name: "Outbound", dependencies: ["CCurl", "EventLoop", "Encoding"], swiftSettings: pointers
    ),
    .target(
      name: "Telemetry", dependencies: ["Encoding", "EventLoop", "Outbound"],
      swiftSettings: pointers
    ),
    .target(name: "JSON", dependencies: ["Encoding"], swiftSettings: house),
    .target(name: "Patterns", dependencies: ["CPCRE2", "Encoding"], swiftSettings: pointers),
    .target(
      name: "Operators", dependencies: ["JSON", "Encoding", "Patterns"], swiftSettings: house
    ),
    .target(
      name: "Records", dependencies: ["Encoding", "JSON", "Postgres"], swiftSettings: domain),
    .target(name: "JSONSchema", dependencies: ["JSON", "Patterns"], swiftSettings: house),
    .target(
      name: "ReferenceData", dependencies: ["JSON", "Encoding"], swiftSettings: house + unchecked
    ),
    .target(
      name: "BreachedPasswords",
      dependencies: [
        "Encoding",
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "HeapModule", package: "swift-collections"),
      ],
      swiftSettings: pointers
    ),
    .target(
      name: "DomainNames", dependencies: ["CIDN2", "ReferenceData"], swiftSettings: pointers),
    .target(
      name: "PasswordHashes",
      dependencies: [
        "CCrypt", "CSodium", "EventLoop", "Encoding",
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "CryptoExtras", package: "swift-crypto"),
      ],
      swiftSettings: house + unchecked
    ),
    .target(
      name: "WebTokens",
      dependencies: [
        "JSON", "Encoding",
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "CryptoExtras", package: "swift-crypto"),
      ],
      swiftSettings: house + unchecked
    ),
    .target(
      name: "HTTP", dependencies: ["Encoding", "EventLoop"], swiftSettings: house + unchecked),
    .target(
      name: "OpenIDClient",
      dependencies: [
        "DomainNames", "Encoding", "HTTP", "JSON", "WebTokens",
        .product(name: "Crypto", package: "swift-crypto"),
      ],
      swiftSettings: domain
    ),
    .target(
      name: "WebAuthn",
      dependencies: [
        "Encoding", "JSON", .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "CryptoExtras", package: "swift-crypto"),
      ],
      swiftSettings: domain
    ),
    .target(
      name: "Localization", dependencies: ["DomainNames", "Encoding", "HTTP", "JSON"],
      swiftSettings: domain
    ),
    .target(
      name: "Pages",
      dependencies: [
        "CQREncode", "DomainNames", "JSON", "Encoding", "Localization",
      ],
      resources: [
        .embedInCode("Branding/base.css"), .embedInCode("Branding/pages.css"),
        .embedInCode("Branding/page.js"),
      ],
      swiftSettings: domain + [.strictMemorySafety()]
    ),
    .target(name: "PictureContract", swiftSettings: house),
    .executableTarget(
      name: "dossier-pictures",
      dependencies: ["CHEIF", "CLCMS", "CLinux", "CSeccomp", "CVips", "PictureContract"],
      swiftSettings: pointers, linkerSettings: program
    ),
    .target(
      name: "Runtime",
      dependencies: [
        "Records",
        "CSodium", "Encoding", "EventLoop", "JSON", "Outbound", "PasswordHashes", "Postgres",
        "WebTokens",
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "CryptoExtras", package: "swift-crypto"),
      ],
      swiftSettings: domain + unchecked
    ),
    .target(
      name: "Tenancy",
      dependencies: [
        "Records",
        "Distribution", "Encoding", "EventLoop", "JSON", "Outbound", "Postgres", "Runtime",
        "WebTokens",
        .product(name: "Crypto", package: "swift-crypto"),
      ],
      swiftSettings: domain + unchecked
    ),
    .target(
      name: "Delivery",
      dependencies: [
        "Records", "DomainNames", "Encoding", "EventLoop", "JSON", "Outbound", "Postgres",
        "Runtime", "Tenancy", "Localization",
      ],
      swiftSettings: domain + unchecked
    ),
    .target(
      name: "IdentitySubjects",
      dependencies: ["Encoding", "EventLoop", "JSON", "Postgres", "Runtime", "Tenancy"],
      swiftSettings: domain + unchecked
    ),
    .target(
      name: "RateLimiting",
      dependencies: [
        "Records",

        "Encoding", "EventLoop", "JSON", "Outbound", "Postgres", "Runtime", "Tenancy",
      ],
      swiftSettings: domain + unchecked
    ),
    .target(
      name: "Sessions",
      dependencies: [
        "Records", "Delivery", "Encoding", "EventLoop", "JSON", "PasswordHashes", "Postgres",
        "Runtime", "Tenancy", "WebTokens", "IdentitySubjects", "RateLimiting",
        .product(name: "Crypto", package: "swift-crypto"),
      ],
      swiftSettings: domain + unchecked
    ),
    .target(
      name: "Permissions",
      dependencies: [
        "Records",
        "EventLoop", "JSON", "Postgres", "Runtime", "Sessions", "Tenancy",
      ],
      swiftSettings: domain + unchecked
    ),
    .target(
      name: "Events",
      dependencies: [
        "EventLoop", "JSON", "Outbound", "Postgres", "Records", "Runtime", "Sessions", "Tenancy",
      ],
      swiftSettings: domain
    ),
    .target(
      name: "Webhooks",
      dependencies: [
        "Administration", "Delivery", "Encoding", "EventLoop", "Events", "JSON", "Outbound",
        "Postgres", "Records", "Runtime", "Tenancy",
        .product(name: "Crypto", package: "swift-crypto"),
      ],
      swiftSettings: domain
    ),
    .target(
      name: "LogStreams",
      dependencies: [
        "Encoding", "EventLoop", "Events", "JSON", "Outbound", "Postgres", "Records", "Runtime",
        "Tenancy",
      ],
      swiftSettings: domain
    ),
    .target(
      name: "Imaging", dependencies: ["EventLoop", "PictureContract", "Postgres", "Runtime"],
      swiftSettings: domain + unchecked
    ),
    .target(
      name: "Accounts",
      dependencies: [
        "Records", "IdentitySubjects", "RateLimiting",
        "BreachedPasswords", "Delivery", "DomainNames", "Encoding", "EventLoop", "JSON", "Outbound",
        "PasswordHashes",
        "Imaging", "PictureContract", "Postgres", "ReferenceData", "Runtime", "Sessions", "Tenancy",
      ],
      swiftSettings: domain + unchecked
    ),
    .target(
      name: "Documents",
      dependencies: [
        "Records",
        "Accounts", "Encoding", "EventLoop", "JSON", "JSONSchema", "Operators", "Postgres",
        "RateLimiting", "Runtime", "Tenancy",
        .product(name: "Crypto", package: "swift-crypto"),
      ],
      swiftSettings: domain + unchecked
    ),
    .target(
      name: "Administration",
      dependencies: [
        "Encoding", "IdentitySubjects", "RateLimiting", "Records",
        "Accounts", "Delivery", "Distribution", "Documents", "EventLoop", "Imaging", "JSON",
        "Outbound", "Postgres",
        "Runtime", "Sessions", "Tenancy",
      ],
      swiftSettings: domain + unchecked
    ),
    .target(
      name: "Transfer",
      dependencies: [
        "Administration", "Federation", "IdentitySubjects", "OpenIDClient", "Permissions",
        "RateLimiting", "Records", "Imaging", "Accounts", "Documents", "Encoding", "EventLoop",
        "JSON", "Passkeys", "PasswordHashes", "Postgres", "Runtime", "Sessions", "Tenancy",
        "WebAuthn",
        .product(name: "Crypto", package: "swift-crypto"),
      ],
      swiftSettings: domain + unchecked
    ),
    .target(
      name: "Changes",
      dependencies: [
        "Documents", "EventLoop", "JSON", "Postgres", "Runtime",
        .product(name: "Crypto", package: "swift-crypto"),
      ],
      swiftSettings: domain
    ),
    .target(
      name: "Streams",
      dependencies: ["CLinux", "Changes", "EventLoop", "Events", "JSON", "Postgres", "Runtime"],
      swiftSettings: domain
    ),
    .target(
      name: "Federation",
      dependencies: [
        "Accounts", "Delivery", "DomainNames", "Encoding", "EventLoop", "HTTP", "IdentitySubjects",
        "JSON",
        "OpenIDClient", "Outbound", "Postgres", "RateLimiting", "Records", "Runtime", "Sessions",
        "Tenancy", "WebTokens",
      ],
      swiftSettings: domain
    ),
    .target(
      name: "Passkeys",
      dependencies: [
        "Accounts", "Delivery", "Documents", "Encoding", "EventLoop", "IdentitySubjects", "JSON",
        "Postgres", "RateLimiting", "Runtime", "Sessions", "Tenancy", "WebAuthn",
      ],
      swiftSettings: domain
    ),
    .target(
      name: "OpenID",
      dependencies: [
        "Federation",
        "Records", "IdentitySubjects", "Permissions", "RateLimiting",
        "Administration", "Imaging", "Accounts", "Delivery", "Documents", "Encoding", "EventLoop",
        "JSON", "Outbound",
        "PasswordHashes", "Postgres", "Runtime", "Sessions", "Tenancy", "Transfer",
        .product(name: "Crypto", package: "swift-crypto"),
      ],
      swiftSettings: domain + unchecked
    ),
    .target(
      name: "WireKit",
      dependencies: [
        "Records", "RateLimiting", "Localization",
        "Accounts", "Runtime", "Sessions", "Tenancy", "EventLoop", "Encoding", "HTTP", "JSON",
      ],
      swiftSettings: domain + unchecked
    ),
    .target(
      name: "Representations",
      dependencies: [
        "Permissions", "Records", "Accounts", "Documents", "JSON", "Runtime", "Sessions", "Tenancy",
      ],
      swiftSettings: domain
    ),
    .target(
      name: "Declarations",
      dependencies: [
        "Records", "IdentitySubjects",
        "Accounts", "Documents", "Runtime", "Sessions", "Tenancy",
        "Transfer",
        "EventLoop", "HTTP", "JSON", "WireKit",
      ],
      swiftSettings: domain
    ),
    .target(
      name: "Reference",
      dependencies: [
        "Declarations", "Documents", "Encoding", "EventLoop", "HTTP", "JSON", "Operators", "Pages",
        "Records", "Runtime", "WireKit",
      ],
      resources: [.embedInCode("reference.css"), .embedInCode("reference.js")],
      swiftSettings: domain
    ),
    .target(
      name: "RESTWire",
      dependencies: [
        "Changes", "Events", "LogStreams", "OpenID", "OpenIDClient", "Streams", "Webhooks",
        "Federation", "Passkeys",
        "Records", "Permissions", "RateLimiting", "Reference",
        "Administration", "Imaging", "Declarations", "Representations",
        "Accounts", "Delivery", "Documents", "Runtime", "Sessions", "Tenancy", "Transfer",
        "EventLoop", "HTTP", "JSON", "Encoding", "Operators", "Pages", "WireKit",
        "Outbound",
      ],
      swiftSettings: domain
    ),
    .target(
      name: "AppServicesWire",
      dependencies: [
        "OpenIDClient",
        "Records", "Accounts", "Delivery", "Documents", "Federation", "Runtime", "Sessions",
        "Tenancy", "EventLoop", "HTTP", "JSON", "Encoding", "Operators", "WireKit",
        "HostedPages", "OpenID", "Pages",
      ],
      swiftSettings: domain
    ),
    .target(
      name: "ParraWire",
      dependencies: [
        "OpenIDClient", "Passkeys",
        "Records", "Permissions", "RateLimiting", "Accounts", "Documents", "Encoding", "EventLoop",
        "Federation", "HTTP", "JSON", "Runtime", "Sessions", "Tenancy", "WebTokens", "WireKit",
      ],
      swiftSettings: domain
    ),
    .target(
      name: "HostedPages",
      dependencies: [
        "Localization", "Records",

        "Accounts", "Delivery", "Encoding", "EventLoop", "HTTP", "Imaging", "JSON", "OpenID",
        "Outbound", "Pages", "Passkeys", "PasswordHashes", "Runtime", "Sessions", "Tenancy",
        "WireKit",
      ],
      swiftSettings: domain
    ),
    .target(
      name: "AccountPages",
      dependencies: [
        "OpenIDClient",
        "Federation",
        "Localization", "Records",

        "Accounts", "Delivery", "Documents", "Encoding", "EventLoop", "HTTP", "HostedPages", "JSON",
        "OpenID", "Pages", "Passkeys", "Runtime", "Sessions", "Tenancy", "Transfer", "WireKit",
      ],
      swiftSettings: domain
    ),
    .target(
      name: "OpenIDWire",
      dependencies: [
        "Federation", "OpenIDClient", "Passkeys",
        "Records", "RateLimiting", "Accounts", "Delivery", "Encoding",
        "EventLoop", "HTTP", "JSON", "Localization", "OpenID", "Pages",
        "PasswordHashes", "Runtime",
        "Sessions", "Tenancy", "WireKit", "AccountPages", "HostedPages",
      ],
      swiftSettings: domain
    ),
    .target(
      name: "ConsolePages", dependencies: ["Documents", "Encoding", "JSON", "Pages"],
      resources: [.embedInCode("console.css"), .embedInCode("console.js")], swiftSettings: domain
    ),
    .target(
      name: "ConsoleKit",
      dependencies: [
        "Accounts", "Administration", "ConsolePages", "Encoding", "EventLoop", "HTTP",
        "HostedPages", "JSON", "OpenID", "Outbound", "Pages", "PasswordHashes", "RESTWire",
        "RateLimiting", "Records", "Runtime", "Sessions", "Tenancy", "WireKit",
      ],
      swiftSettings: domain
    ),
    .target(
      name: "ConsoleUsers",
      dependencies: [
        "Administration", "ConsoleKit", "ConsolePages", "Documents", "Encoding", "EventLoop",
        "HTTP", "HostedPages", "JSON", "Pages", "Records", "Runtime", "Sessions", "Transfer",
        "WireKit",
      ],
      swiftSettings: domain
    ),
    .target(
      name: "ConsoleWire",
      dependencies: [
        "Administration", "ConsoleKit", "ConsolePages", "ConsoleUsers", "Delivery", "Encoding",
        "EventLoop", "Events", "Federation", "HTTP", "HostedPages", "JSON", "Localization",
        "LogStreams", "OpenID", "Outbound", "Pages", "Permissions", "Records", "Runtime",
        "Sessions", "Tenancy", "Webhooks", "WireKit",
      ],
      swiftSettings: domain
    ),
    .target(
      name: "ManagementWire",
      dependencies: [
        "Federation", "OpenIDClient", "Passkeys",
        "Records", "IdentitySubjects", "Permissions", "RateLimiting",
        "Administration", "Accounts", "Delivery", "Documents", "Encoding", "EventLoop", "Events",
        "HTTP", "JSON", "OpenID",
        "Runtime", "Sessions", "Tenancy", "Transfer", "WireKit",
      ],
      swiftSettings: domain
    ),
    .target(
      name: "Configuration",
      dependencies: [
        "Administration", "CLinux", "ConsoleKit", "Federation", "LogStreams", "Telemetry",
        "Webhooks",
        "Records", "RateLimiting", "HostedPages", "Localization",
        "BreachedPasswords", "Imaging", "OpenID", "OpenIDWire", "AppServicesWire", "ManagementWire",
        "ParraWire",
        "Accounts", "Delivery", "Documents", "Runtime", "Sessions", "Tenancy", "EventLoop",
        "Encoding", "Outbound", "PasswordHashes", "Postgres", "WireKit",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: domain
    ),
    .target(
      name: "DeploymentFiles",
      dependencies: [
        "CYAML", "Encoding", "Federation", "JSON", "LogStreams", "Permissions", "Records",
        "Tenancy", "Webhooks",
      ],
      swiftSettings: domain + [.strictMemorySafety()]
    ),
    .target(
      name: "CommandKit",
      dependencies: [
        "Accounts", "Administration", "CLinux", "Configuration", "Delivery", "Encoding",
        "EventLoop", "HTTP", "JSON", "Outbound", "Postgres", "RESTWire", "Records", "Runtime",
        "Tenancy", "Transfer", "WireKit",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: domain
    ),
    // One file with the programs dossier, dossierd, dossier-migrate and dossier-streams; see `Program`.
    .executableTarget(
      name: "dossier",
      dependencies: [
        "dossierd", "dossier-migrate", "dossier-streams",
        "CommandKit", "Federation", "LogStreams", "Webhooks",
        "DeploymentFiles", "Records", "Permissions",
        "Administration",
        "AppServicesWire", "BreachedPasswords", "Configuration", "Accounts", "Delivery",
        "Documents",
        "ManagementWire", "OpenID", "Runtime", "Sessions", "Tenancy", "Transfer", "EventLoop",
        "HTTP", "Passkeys",
        "JSON",
        "Encoding", "Outbound", "PasswordHashes", "Postgres", "ReferenceData", "Telemetry",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: domain, linkerSettings: program
    ),
    .target(
      name: "dossierd",
      dependencies: [
        "Events", "LogStreams", "Webhooks",
        "OpenID", "OpenIDWire", "ManagementWire", "AppServicesWire", "ParraWire", "CLinux",
        "ConsoleWire", "Configuration", "Accounts", "Administration", "Delivery", "Distribution",
        "Documents", "Federation",
        "Runtime", "Sessions", "Tenancy", "Transfer", "EventLoop", "FastCGI", "HTTP", "JSON",
        "Encoding", "OpenIDClient",
        "Localization", "Outbound", "Postgres", "RESTWire", "ReferenceData", "Telemetry",
        "WireKit",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: domain + unchecked
    ),
    .target(
      name: "Migrations",
      dependencies: [
        "CPostgres", "Distribution", "EventLoop", "Encoding", "Postgres",
        .product(name: "Crypto", package: "swift-crypto"),
      ],
      swiftSettings: domain
    ),
    .target(
      name: "dossier-migrate",
      dependencies: [
        "Configuration", "Distribution", "EventLoop", "Migrations", "Postgres",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: domain
    ),
    .target(
      name: "dossier-streams",
      dependencies: [
        "Configuration", "EventLoop", "JSON", "Postgres", "Streams",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: domain
    ),
    .target(
      name: "TestSupport",
      dependencies: [
        "Documents", "Encoding", "EventLoop", "JSON", "Localization", "Postgres", "Runtime",
        "WebAuthn", .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "CryptoExtras", package: "swift-crypto"),
      ],
      path: "Tests/TestSupport", swiftSettings: tests
    ),
    .testTarget(
      name: "DossierTests",
      dependencies: [
        "Events", "LogStreams", "Streams", "Webhooks",
        "Federation", "Records",

        "Changes", "IdentitySubjects", "Permissions", "RateLimiting",
        "Administration", "BreachedPasswords", "Accounts", "CCrypt", "Declarations", "Delivery",
        "Distribution",
        "Documents",
        "OpenID", "Passkeys", "Runtime",
        "Sessions", "Tenancy", "Transfer", "EventLoop", "JSON", "Encoding", "Localization",
        "Outbound", "DomainNames", "PasswordHashes", "Postgres", "Migrations", "ReferenceData",
        "Telemetry", "TestSupport",
        "WebTokens", .product(name: "Crypto", package: "swift-crypto"),
      ],
      swiftSettings: tests
    ),
    .testTarget(
      name: "MigrationsTests", dependencies: ["Migrations", "TestSupport", "dossier"],
      exclude: ["dumps"], swiftSettings: tests
    ),
    .testTarget(
      name: "PicturesTests",
      dependencies: [
        "Imaging", "Runtime", "EventLoop", "PictureContract", "TestSupport",
        "dossier-pictures",
      ],
      swiftSettings: tests
    ),
    .testTarget(name: "EncodingTests", dependencies: ["Encoding"], swiftSettings: tests),
    .testTarget(name: "JSONTests", dependencies: ["JSON"], swiftSettings: tests),
    .testTarget(name: "PatternsTests", dependencies: ["Patterns"], swiftSettings: tests),
    .testTarget(
      name: "JSONSchemaTests", dependencies: ["JSON", "JSONSchema", "TestSupport"],
      exclude: ["reference.py"], swiftSettings: tests
    ),
    .testTarget(name: "OperatorsTests", dependencies: ["JSON", "Operators"], swiftSettings: tests),
    .testTarget(
      name: "FastCGITests", dependencies: ["EventLoop", "FastCGI", "TestSupport"],
      swiftSettings: pointers + unoptimized
    ),
    .testTarget(
      name: "CommandTests",
      dependencies: [
        "CommandKit", "Configuration", "DeploymentFiles", "Records",
        "Delivery", "Runtime", "Tenancy", "HTTP", "JSON", "Postgres", "WireKit", "dossier",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: tests
    ),
    .testTarget(name: "HTTPTests", dependencies: ["HTTP"], swiftSettings: tests),
    .testTarget(
      name: "OpenIDClientTests",
      dependencies: [
        "Encoding", "HTTP", "JSON", "OpenIDClient", "WebTokens",
        .product(name: "Crypto", package: "swift-crypto"),
      ],
      swiftSettings: tests
    ),
    .testTarget(
      name: "WebAuthnTests",
      dependencies: [
        "Encoding", "JSON", "TestSupport", "WebAuthn",
        .product(name: "Crypto", package: "swift-crypto"),
      ],
      exclude: ["second_verifier.py", "vectors"], swiftSettings: tests
    ),
    .testTarget(
      name: "PagesTests",
      dependencies: [
        "ConsolePages", "Documents", "Encoding", "JSON", "Localization", "Pages", "TestSupport",
      ],
      swiftSettings: tests),
    .testTarget(
      name: "WireTests",
      dependencies: [
        "Administration", "Federation", "Records", "Representations", "RateLimiting", "HostedPages",
        "Imaging", "Transfer", "AppServicesWire", "Configuration", "ConsoleKit", "ConsoleWire",
        "Accounts", "LogStreams", "Webhooks",
        "Delivery", "Documents", "Runtime",
        "Sessions", "Tenancy", "EventLoop", "HTTP", "JSON", "Encoding",
        "Outbound", "Postgres", "OpenIDWire", "ManagementWire", "ParraWire", "RESTWire",
        "Declarations", "Pages", "Passkeys", "Reference", "Localization",
        "CommandKit", "TestSupport", "WireKit",
        "dossier",
        "dossier-pictures",
        "dossierd",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Crypto", package: "swift-crypto"),
      ],
      swiftSettings: tests
    ),
    .testTarget(
      name: "PostgresTests", dependencies: ["EventLoop", "Postgres", "TestSupport"],
      swiftSettings: tests
    ),
    .testTarget(
      name: "OutboundTests", dependencies: ["EventLoop", "Outbound", "TestSupport"],
      exclude: ["servers"], swiftSettings: tests
    ),
    .testTarget(
      name: "EventLoopTests", dependencies: ["CLinux", "EventLoop", "TestSupport"],
      swiftSettings: tests
    ),
  ]
)

/// The modules that read what comes from outside.
///
/// `Tests/Fuzz/run` builds their targets with libFuzzer; all other builds test them with the seeds.
let readers: [Target.Dependency] = [
  "Events", "IdentitySubjects", "Permissions", "Streams",
  "Accounts", "Administration", "BreachedPasswords", "CFastCGI", "Delivery", "DeploymentFiles",
  "Documents", "DomainNames", "Records",
  "ManagementWire", "OpenID", "OpenIDClient", "OpenIDWire", "Runtime", "Sessions", "Tenancy",
  "Transfer",
  "FastCGI", "HTTP", "JSON", "JSONSchema", "Migrations", "Encoding", "Operators", "Outbound",
  "Patterns", "Postgres", "ParraWire", "Telemetry", "TestSupport",
  "WebAuthn", "WebTokens", "WireKit",
  .product(name: "Crypto", package: "swift-crypto"),
]

package.targets.append(
  fuzzer.map { fuzzer in
    .executableTarget(
      name: "dossier-fuzz", dependencies: readers, path: "Tests/Fuzz",
      exclude: ["run", "seeds", "SeedTests.swift"], swiftSettings: pointers,
      linkerSettings: [.unsafeFlags(["-sanitize=address", fuzzer, "-lstdc++"])]
    )
  }
    ?? .testTarget(
      name: "FuzzTests", dependencies: readers, path: "Tests/Fuzz",
      exclude: ["run", "seeds", "Memory.swift", "main.swift"], swiftSettings: pointers + unoptimized
    )
)
