// swift-tools-version:6.2
// What script/benchmark runs. A package of its own, so that no build of the others pays for it.
import PackageDescription

/// The settings of the other packages' adapters: nearly every line here measures or talks to C.
let adapter: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "OstiaryBenchmarks",
    dependencies: [
        .package(name: "Ostiary", path: ".."),
        .package(path: "../MessageBus"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        // What users have today in place of a keychain.
        .systemLibrary(name: "CLibSecret", pkgConfig: "libsecret-1", providers: [.apt(["libsecret-1-dev"])]),
        .target(name: "CSecretService", dependencies: ["CLibSecret"]),
        // The Secret Service without a library between, and a service that does nothing.
        .target(name: "CKeyringBus", dependencies: [.product(name: "CSystemd", package: "MessageBus")]),
        // A host of modules of PKCS #11.
        .systemLibrary(name: "CP11Kit", pkgConfig: "p11-kit-1", providers: [.apt(["libp11-kit-dev"])]),
        .target(name: "CToken", dependencies: ["CP11Kit"]),
        .executableTarget(
            name: "ostiary-benchmark",
            dependencies: [
                "CKeyringBus", "CSecretService", "CToken",
                .product(name: "LocalAuthentication", package: "Ostiary"),
                .product(name: "Security", package: "Ostiary"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "OstiaryClient", package: "Ostiary"),
                .product(name: "OstiaryTesting", package: "Ostiary"),
                .product(name: "OstiaryShared", package: "Ostiary"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: adapter),
    ]
)
