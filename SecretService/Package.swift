// swift-tools-version:6.2
// The Secret Service (org.freedesktop.secrets) on the session's bus. A package of its own, because the root never asks for the library
// of the system that the message bus stands on.
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

/// For the service and its commands: they wait for the bus, the daemon and people, so they are built to be small, not fast.
let small: [SwiftSetting] = [.unsafeFlags(["-Osize"], .when(configuration: .release))]

/// The same list for adapters whose every line touches C; there `unsafe` on each line would hide more than it shows.
let adapter: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// C modules of BoringSSL are imported for the implementation only, as in the root.
let adapterOfBoringSSL = adapter + [.treatWarning("ImplementationOnlyDeprecated", as: .warning)]

/// Of what both sides speak, the modules that need no cryptography, and the keys of secrets. OstiaryShared would link SSH's formats and
/// the cryptography that only they use.
let processes: Target.Dependency = .product(name: "OstiaryProcesses", package: "Ostiary")
let secretMemory: Target.Dependency = .product(name: "SecretMemory", package: "Ostiary")
let doors: Target.Dependency = .product(name: "OstiaryDoors", package: "Ostiary")
let messageBus: Target.Dependency = .product(name: "MessageBus", package: "MessageBus")
let systemd: Target.Dependency = .product(name: "CSystemd", package: "MessageBus")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
    name: "OstiarySecretService",
    products: [.executable(name: "ostiary-secrets", targets: ["ostiary-secrets"])],
    dependencies: [
        .package(name: "Ostiary", path: ".."),
        .package(path: "../MessageBus"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        // How secrets are encrypted on the bus. It reaches past swift-crypto's own API (decision 0110).
        .target(name: "SessionCiphers", dependencies: [secretMemory, crypto], swiftSettings: adapterOfBoringSSL),
        .target(
            name: "SecretService", dependencies: ["SessionCiphers", doors, messageBus, processes, secretMemory],
            swiftSettings: strict + small),
        // What the owner does with the keyring: `ostiary secrets`.
        .target(
            name: "SecretCommands",
            dependencies: ["SessionCiphers", doors, messageBus, processes, secretMemory, crypto, arguments],
            swiftSettings: strict + small),
        .executableTarget(
            name: "ostiary-secrets", dependencies: ["SecretCommands", "SecretService", doors, messageBus, arguments],
            swiftSettings: strict + small),
        // A program of the session that uses the service, on sd-bus itself: another implementation than the one under test.
        .target(
            name: "SecretProgramSupport", dependencies: ["SessionCiphers", secretMemory, systemd],
            path: "Tests/SecretProgramSupport",
            swiftSettings: adapter),
        .executableTarget(
            name: "secret-program", dependencies: ["SecretProgramSupport"], path: "Tests/Programs/secret-program",
            swiftSettings: adapter),
        .testTarget(
            name: "SecretServiceTests",
            dependencies: [
                "SecretProgramSupport", "SecretService", "SessionCiphers", "ostiary-secrets", "secret-program", doors,
                messageBus, processes, secretMemory,
                .product(name: "DaemonTestSupport", package: "Ostiary"),
                .product(name: "IndependentTools", package: "Ostiary"),
                .product(name: "SeededRandomness", package: "Ostiary"),
            ],
            swiftSettings: adapter),
        .testTarget(
            name: "SecretCommandsTests",
            dependencies: [
                "SecretCommands", "SecretProgramSupport", "SecretService", "ostiary-secrets", doors, messageBus,
                secretMemory,
                .product(name: "DaemonTestSupport", package: "Ostiary"),
                .product(name: "SeededRandomness", package: "Ostiary"),
            ],
            swiftSettings: adapter),
    ])
