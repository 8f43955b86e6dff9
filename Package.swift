// swift-tools-version: 6.2
import PackageDescription

let house: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableExperimentalFeature("Lifetimes"),
  .treatAllWarnings(as: .error),
]

/// For the modules that hold pointers: each unsafe expression is marked.
let pointers = house + [.strictMemorySafety()]

let package = Package(
  name: "dossier",
  dependencies: [
    .package(url: "https://github.com/apple/swift-collections.git", from: "1.6.0")
  ],
  targets: [
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "CFastCGI"),
    .systemLibrary(name: "CPostgres", pkgConfig: "libpq"),
    .target(name: "EventLoop", dependencies: ["CLinux"], swiftSettings: pointers),
    .target(
      name: "FastCGI",
      dependencies: ["CFastCGI", "CLinux", "EventLoop"],
      swiftSettings: pointers
    ),
    .target(
      name: "Postgres",
      dependencies: [
        "CPostgres", "EventLoop", .product(name: "DequeModule", package: "swift-collections"),
      ],
      swiftSettings: pointers
    ),
    .target(
      name: "TestSupport",
      dependencies: ["EventLoop"],
      path: "Tests/TestSupport",
      swiftSettings: house
    ),
    .testTarget(
      name: "EventLoopTests",
      dependencies: ["EventLoop", "TestSupport"],
      swiftSettings: house
    ),
  ]
)
