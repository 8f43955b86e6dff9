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
  targets: [
    .systemLibrary(name: "CLinux"),
    .target(name: "EventLoop", dependencies: ["CLinux"], swiftSettings: pointers),
    .target(
      name: "TestSupport", dependencies: ["EventLoop"], path: "Tests/TestSupport",
      swiftSettings: house),
    .testTarget(
      name: "EventLoopTests", dependencies: ["EventLoop", "TestSupport"], swiftSettings: house),
  ]
)
