// swift-tools-version:6.2
// A message bus for programs of both sides. It stands on a library of the system, which the app side's package never asks for;
// of that package it uses only the modules that both sides speak (OstiaryShared).
import PackageDescription

/// The strict list of the root's manifest: a manifest cannot import another.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .strictMemorySafety(),
]

let shared: Target.Dependency = .product(name: "OstiaryShared", package: "Ostiary")

let package = Package(
    name: "OstiaryMessageBus",
    products: [
        .library(name: "MessageBus", targets: ["MessageBus"]),
        // For modules that follow devices.
        .library(name: "CSystemd", targets: ["CSystemd"]),
    ],
    dependencies: [.package(name: "Ostiary", path: "..")],
    targets: [
        .target(name: "MessageBus", dependencies: [shared, "CBusObjects", "CSystemd"], swiftSettings: strict),
        .target(name: "CBusObjects", dependencies: ["CSystemd"]),
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    ])
