// swift-tools-version:6.2
// A message bus for programs of both sides. It stands on a library of the system, which the app side's package never asks for;
// of that package it uses only modules that both sides speak and that need no cryptography (OstiaryProcesses), because some programs
// on a bus use none.
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

let processes: Target.Dependency = .product(name: "OstiaryProcesses", package: "Ostiary")

let package = Package(
    name: "OstiaryMessageBus",
    products: [
        .library(name: "MessageBus", targets: ["MessageBus"]),
        // For modules that follow devices.
        .library(name: "CSystemd", targets: ["CSystemd"]),
    ],
    dependencies: [.package(name: "Ostiary", path: "..")],
    targets: [
        .target(name: "MessageBus", dependencies: [processes, "CBusObjects", "CSystemd"], swiftSettings: strict),
        .target(name: "CBusObjects", dependencies: ["CSystemd"]),
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    ])
