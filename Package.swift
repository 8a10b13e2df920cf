// swift-tools-version:6.2
// The app side: the libraries that an author adds to a program. It never depends on the trusted side (Daemon/).
import PackageDescription

/// One strict list for every Swift target that holds rules, messages or secrets.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    // C modules are imported for the implementation only. Packages that find Security in their build without depending on it
    // are not shown our C modules, and could not load a module that needs them.
    .treatWarning("ImplementationOnlyDeprecated", as: .warning),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .strictMemorySafety(),
]

/// The same list for adapters whose every line touches C; there `unsafe` on each line would hide more than it shows.
let adapter: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .treatWarning("ImplementationOnlyDeprecated", as: .warning),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// For programs that wait for people, devices and other programs: they are built to be small, not fast. Only a program that nobody depends
/// on may have such a setting.
let small: [SwiftSetting] = [.unsafeFlags(["-Osize"], .when(configuration: .release))]

let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let asn1: Target.Dependency = .product(name: "SwiftASN1", package: "swift-asn1")

let package = Package(
    name: "Ostiary",
    products: [
        .library(name: "LocalAuthentication", targets: ["LocalAuthentication"]),
        .library(name: "LocalAuthenticationEmbeddedUI", targets: ["LocalAuthenticationEmbeddedUI"]),
        .library(name: "AuthenticationServices", targets: ["AuthenticationServices"]),
        .library(name: "Security", targets: ["Security"]),
        .library(name: "CryptoKit", targets: ["CryptoKit"]),
        .library(name: "OstiaryClient", targets: ["OstiaryClient"]),
        .library(name: "OstiaryTesting", targets: ["OstiaryTesting"]),
        .library(name: "LocalAuthenticationTesting", targets: ["LocalAuthenticationTesting", "SimulatorMessages"]),
        // Spoken by tests and the simulator. The shipped daemon does not know it.
        .library(name: "SimulatorMessages", targets: ["SimulatorMessages"]),
        // Spoken by both sides.
        .library(
            name: "OstiaryShared",
            targets: [
                "AccessControl", "CTAPHID", "Cancellations", "CanonicalEncoding", "DetachedThreads", "DirectionalText",
                "KeyAlgorithms", "OstiaryMessages", "OstiaryWire", "SSHFormats", "SecretMemory", "UnixSocket",
            ]),
        // What of these needs no cryptography, for programs that would hold a library of it for nothing.
        .library(
            name: "OstiaryProcesses",
            targets: [
                "Cancellations", "CanonicalEncoding", "DetachedThreads", "DirectionalText", "SecretBuffers",
                "UnixSocket",
            ]),
        // For programs that make keys of secrets, and need no other cryptography of these.
        .library(name: "SecretMemory", targets: ["SecretMemory"]),
        // Read by the daemon and by servers alike.
        .library(name: "CanonicalCBOR", targets: ["CanonicalCBOR"]),
        .library(name: "AccessControl", targets: ["AccessControl"]),
        .executable(name: "ostiary", targets: ["ostiary"]),
        .executable(name: "ostiary-hid", targets: ["ostiary-hid"]),
        // Doors: for software that does not know Ostiary.
        .executable(name: "ostiary-ssh-agent", targets: ["ostiary-ssh-agent"]),
        .executable(name: "ostiary-credential-helper", targets: ["ostiary-credential-helper"]),
        .executable(name: "age-plugin-ostiary", targets: ["age-plugin-ostiary"]),
        .executable(name: "ostiary-credentials", targets: ["ostiary-credentials"]),
        .executable(name: "ostiary-pkcs11d", targets: ["ostiary-pkcs11d"]),
        // One file that is each of these and ostiary-hid, as packages and installations have them.
        .executable(name: "ostiary-doors", targets: ["ostiary-doors"]),
        // For the doors that are packages of their own.
        .library(name: "OstiaryDoors", targets: ["SecretItems"]),
        // For the tests of this repository's packages alone.
        .library(name: "SeededRandomness", targets: ["SeededRandomness"]),
        .library(name: "IndependentTools", targets: ["IndependentTools"]),
        .library(name: "DaemonTestSupport", targets: ["DaemonTestSupport"]),
        .library(name: "SocketTestSupport", targets: ["SocketTestSupport"]),
        .library(name: "WireTranscripts", targets: ["WireTranscripts"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-asn1.git", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        // MARK: Apple's names
        .target(name: "CLocalAuthentication", path: "Sources/Frameworks/CLocalAuthentication"),
        .target(
            name: "LocalAuthentication",
            dependencies: [
                "AccessControl", "CLocalAuthentication", "Cancellations", "DetachedThreads", "KeyAlgorithms",
                "OstiaryClient",
                "OstiaryWire", "SecretMemory", "Security",
            ],
            path: "Sources/Frameworks/LocalAuthentication", swiftSettings: strict),
        .target(
            name: "LocalAuthenticationEmbeddedUI", dependencies: ["LocalAuthentication"],
            path: "Sources/Frameworks/LocalAuthenticationEmbeddedUI", swiftSettings: strict),
        .target(name: "CAuthenticationServices", path: "Sources/Frameworks/CAuthenticationServices"),
        .target(
            name: "AuthenticationServices",
            dependencies: [
                "CAuthenticationServices", "Cancellations", "LoopbackCallback", "OstiaryClient", "OstiaryWire",
                "SecretMemory", crypto,
            ],
            path: "Sources/Frameworks/AuthenticationServices", swiftSettings: strict),
        .target(
            name: "LoopbackCallback", dependencies: ["CLinuxShims", "DetachedThreads"],
            path: "Sources/Frameworks/LoopbackCallback",
            swiftSettings: adapter),
        .target(
            name: "Security",
            dependencies: [
                "AccessControl", "CertificateChains", "CertificateReading", "KeyAlgorithms", "OstiaryClient",
                "OstiaryWire", "PKCS12", "RSAKeys",
                "SecretMemory", asn1, crypto,
            ],
            path: "Sources/Frameworks/Security", swiftSettings: strict),
        .target(
            name: "CryptoKit",
            dependencies: [
                "AccessControl", "KeyAlgorithms", "OstiaryClient", "SecretMemory", "Security",
                crypto,
            ],
            path: "Sources/Frameworks/CryptoKit", swiftSettings: strict),
        .target(
            name: "CertificateChains", dependencies: [crypto],
            path: "Sources/Frameworks/CertificateChains", swiftSettings: adapter),
        // Also for a door, which loads no Foundation beside its essentials (decision 0129).
        .target(
            name: "CertificateReading", dependencies: [asn1], path: "Sources/Frameworks/CertificateReading",
            swiftSettings: strict),
        .target(
            name: "PKCS12", dependencies: ["SecretMemory", crypto],
            path: "Sources/Frameworks/PKCS12", swiftSettings: adapter),
        .target(
            name: "RSAKeys", dependencies: ["KeyAlgorithms", "SecretMemory", crypto],
            path: "Sources/Frameworks/RSAKeys", swiftSettings: adapter),

        // MARK: the connection
        .target(
            name: "OstiaryClient",
            dependencies: [
                "AccessControl", "CLinuxShims", "Cancellations", "DetachedThreads", "KeyAlgorithms", "OstiaryWire",
                "SecretMemory",
                "UnixSocket",
            ],
            path: "Sources/Client/OstiaryClient", swiftSettings: strict),
        // This machine as a HID device.
        .target(name: "CUHID", path: "Sources/Client/CUHID"),
        .target(
            name: "PasskeyDevice",
            dependencies: ["CTAPHID", "CUHID", "Cancellations", "OstiaryClient", "OstiaryWire", "UnixSocket"],
            path: "Sources/Client/PasskeyDevice", swiftSettings: strict),
        .target(
            name: "OstiaryTesting", dependencies: ["OstiaryClient"],
            path: "Sources/Testing/OstiaryTesting", swiftSettings: strict),

        .target(
            name: "SimulatorMessages", dependencies: ["UnixSocket"], path: "Sources/Testing/SimulatorMessages",
            swiftSettings: adapter),
        .target(
            name: "LocalAuthenticationTesting",
            dependencies: ["AccessControl", "OstiaryClient", "OstiaryWire", "SimulatorMessages", "UnixSocket"],
            path: "Sources/Testing/LocalAuthenticationTesting", swiftSettings: adapter),

        // MARK: spoken by both sides
        .target(name: "AccessControl", path: "Sources/Shared/AccessControl", swiftSettings: strict),
        .target(name: "DetachedThreads", path: "Sources/Shared/DetachedThreads", swiftSettings: strict),
        .target(name: "DirectionalText", path: "Sources/Shared/DirectionalText", swiftSettings: strict),
        .target(
            name: "KeyAlgorithms", dependencies: [crypto, "SecretMemory"],
            path: "Sources/Shared/KeyAlgorithms", swiftSettings: strict),
        .target(name: "CanonicalCBOR", path: "Sources/Shared/CanonicalCBOR", swiftSettings: strict),
        // The frames of FIDO security keys, for this machine as one and for the tests' own.
        .target(
            name: "CTAPHID", dependencies: ["Cancellations"], path: "Sources/Shared/CTAPHID", swiftSettings: strict),
        .target(
            name: "Cancellations", dependencies: ["CLinuxShims", "UnixSocket"], path: "Sources/Shared/Cancellations",
            swiftSettings: adapter),
        .target(name: "CanonicalEncoding", path: "Sources/Shared/CanonicalEncoding", swiftSettings: strict),
        .target(
            name: "OstiaryMessages", dependencies: ["CanonicalEncoding"],
            path: "Sources/Shared/OstiaryMessages", swiftSettings: strict),
        .target(
            name: "OstiaryWire", dependencies: ["OstiaryMessages", "SecretMemory", "UnixSocket"],
            path: "Sources/Shared/OstiaryWire", swiftSettings: strict),
        .target(
            name: "SSHFormats", dependencies: [crypto, cryptoExtras], path: "Sources/Shared/SSHFormats",
            swiftSettings: strict),
        .target(
            name: "SecretBuffers", dependencies: ["CLinuxShims"],
            path: "Sources/Shared/SecretBuffers", swiftSettings: adapter),
        .target(
            name: "SecretMemory", dependencies: [crypto, "SecretBuffers"],
            path: "Sources/Shared/SecretMemory", swiftSettings: adapter),
        .target(
            name: "UnixSocket", dependencies: ["CLinuxShims"],
            path: "Sources/Shared/UnixSocket", swiftSettings: adapter),
        .target(name: "CLinuxShims", path: "Sources/Shared/CLinuxShims"),

        // MARK: programs
        .target(name: "CCommandLaunch", path: "Sources/Programs/CCommandLaunch"),
        .executableTarget(
            name: "ostiary",
            dependencies: [
                "OstiaryClient", "AccessControl", "CCommandLaunch", "CLinuxShims", "CertificateReading",
                "CommandFailures", "DetachedThreads", "DirectionalText", "DoorSupport", "KeyAlgorithms", "OstiaryWire",
                "SSHAgent", "SSHFormats", "SSHKeyFiles", "SecretMemory", "UnixSocket",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/Programs/ostiary", swiftSettings: strict + small),

        .target(
            name: "CommandFailures", dependencies: ["OstiaryClient", "OstiaryWire"],
            path: "Sources/Programs/CommandFailures", swiftSettings: strict),
        .target(
            name: "PasskeyDeviceProgram",
            dependencies: [
                "CLinuxShims", "CommandFailures", "OstiaryClient", "OstiaryWire", "PasskeyDevice",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/Programs/PasskeyDeviceProgram", swiftSettings: strict),
        .executableTarget(
            name: "ostiary-hid", dependencies: ["PasskeyDeviceProgram"], path: "Sources/Programs/ostiary-hid",
            swiftSettings: strict),

        // MARK: doors
        .target(
            name: "DoorSupport",
            dependencies: [
                "AccessControl", "CLinuxShims", "Cancellations", "CommandFailures", "DetachedThreads", "OstiaryClient",
                "OstiaryWire", "SecretMemory", "UnixSocket",
            ],
            path: "Sources/Doors/DoorSupport", swiftSettings: strict),
        .target(
            name: "SSHKeyFiles", dependencies: ["RSAKeys", "SSHFormats", "SecretMemory", crypto],
            path: "Sources/Doors/SSHKeyFiles", swiftSettings: strict),
        .target(
            name: "SSHAgent",
            dependencies: [
                "AccessControl", "CLinuxShims", "Cancellations", "CommandFailures", "DoorSupport", "KeyAlgorithms",
                "OstiaryClient", "OstiaryMessages", "OstiaryWire", "RSAKeys", "SSHFormats", "SSHKeyFiles",
                "SecretMemory",
                "UnixSocket", crypto,
            ],
            path: "Sources/Doors/SSHAgent", swiftSettings: strict),
        .target(
            name: "CredentialHelpers",
            dependencies: [
                "AccessControl", "CommandFailures", "DoorSupport", "OstiaryClient", "OstiaryWire", "SecretMemory",
                "UnixSocket",
            ],
            path: "Sources/Doors/CredentialHelpers", swiftSettings: strict),
        .target(
            name: "AgePlugin",
            dependencies: [
                "AccessControl", "CommandFailures", "DoorSupport", "KeyAlgorithms", "OstiaryClient", "OstiaryWire",
                "SecretMemory", "UnixSocket", crypto,
            ],
            path: "Sources/Doors/AgePlugin", swiftSettings: strict),
        .target(
            name: "UnitCredentials",
            dependencies: [
                "CLinuxShims", "Cancellations", "CommandFailures", "DoorSupport", "OstiaryClient", "OstiaryWire",
                "SecretMemory", "UnixSocket",
            ],
            path: "Sources/Doors/UnitCredentials", swiftSettings: strict),
        // For the package SecretService/, which cannot use what only this package may.
        .target(
            name: "SecretItems",
            dependencies: [
                "AccessControl", "CLinuxShims", "Cancellations", "CommandFailures", "DetachedThreads", "DoorSupport",
                "OstiaryClient", "OstiaryMessages", "SecretMemory", "UnixSocket",
            ],
            path: "Sources/Doors/SecretItems", swiftSettings: strict),
        .target(
            name: "PKCS11Door",
            dependencies: [
                "AccessControl", "Cancellations", "CanonicalEncoding", "CertificateReading", "CommandFailures",
                "DetachedThreads", "DoorSupport", "KeyAlgorithms", "OstiaryClient", "OstiaryMessages", "RSAKeys",
                "SSHAgent", "SSHFormats", "SSHKeyFiles", "SecretMemory", "UnixSocket", asn1, crypto,
            ],
            path: "Sources/Doors/PKCS11Door", swiftSettings: strict),
        // The programs, as libraries: each has an executable of its own for debug builds and tests, and all are in ostiary-doors.
        .target(
            name: "SSHAgentProgram",
            dependencies: [
                "CLinuxShims", "CommandFailures", "DetachedThreads", "DoorSupport", "SSHAgent", "UnixSocket",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/Doors/SSHAgentProgram", swiftSettings: strict),
        .target(
            name: "AgePluginProgram",
            dependencies: [
                "AccessControl", "AgePlugin", "CommandFailures", "DoorSupport", "OstiaryClient", "OstiaryWire",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/Doors/AgePluginProgram", swiftSettings: strict),
        .target(
            name: "UnitCredentialsProgram",
            dependencies: [
                "CommandFailures", "DetachedThreads", "DoorSupport", "UnitCredentials",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/Doors/UnitCredentialsProgram", swiftSettings: strict),
        .executableTarget(
            name: "ostiary-ssh-agent", dependencies: ["SSHAgentProgram"], path: "Sources/Doors/ostiary-ssh-agent",
            swiftSettings: strict),
        .executableTarget(
            name: "ostiary-credential-helper", dependencies: ["CredentialHelpers"],
            path: "Sources/Doors/ostiary-credential-helper", swiftSettings: strict),
        .executableTarget(
            name: "age-plugin-ostiary", dependencies: ["AgePluginProgram"], path: "Sources/Doors/age-plugin-ostiary",
            swiftSettings: strict),
        .executableTarget(
            name: "ostiary-credentials", dependencies: ["UnitCredentialsProgram"],
            path: "Sources/Doors/ostiary-credentials", swiftSettings: strict),
        .executableTarget(
            name: "ostiary-doors",
            dependencies: [
                "AgePluginProgram", "CredentialHelpers", "DoorSupport", "PKCS11DoorProgram", "PasskeyDeviceProgram",
                "SSHAgentProgram", "UnitCredentialsProgram",
            ],
            path: "Sources/Doors/ostiary-doors", swiftSettings: strict),
        .target(
            name: "PKCS11DoorProgram",
            dependencies: [
                "CommandFailures", "DetachedThreads", "DoorSupport", "OstiaryClient", "PKCS11Door", "UnixSocket",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/Doors/PKCS11DoorProgram", swiftSettings: strict),
        .executableTarget(
            name: "ostiary-pkcs11d", dependencies: ["PKCS11DoorProgram"], path: "Sources/Doors/ostiary-pkcs11d",
            swiftSettings: strict),

        // MARK: tests
        .target(name: "SeededRandomness", path: "Tests/SeededRandomness", swiftSettings: strict),
        .testTarget(
            name: "AccessControlTests", dependencies: ["AccessControl", "SeededRandomness"], swiftSettings: strict),
        .testTarget(
            name: "KeyAlgorithmsTests", dependencies: ["IndependentTools", "KeyAlgorithms", "SecretMemory", crypto],
            swiftSettings: adapter),
        .testTarget(
            name: "SecretMemoryTests", dependencies: ["SecretBuffers", "SecretMemory", crypto], swiftSettings: adapter),
        .testTarget(name: "CanonicalEncodingTests", dependencies: ["CanonicalEncoding"], swiftSettings: strict),
        .testTarget(
            name: "OstiaryWireTests",
            dependencies: [
                "CLinuxShims", "CanonicalEncoding", "OstiaryWire", "SecretMemory", "SeededRandomness",
                "SocketTestSupport", "UnixSocket", crypto,
            ],
            swiftSettings: adapter),
        .testTarget(
            name: "CertificateReadingTests", dependencies: ["CertificateReading", "IndependentTools"],
            swiftSettings: adapter),
        .testTarget(
            name: "SecurityTests",
            dependencies: [
                "AccessControl", "CertificateReading", "CryptoKit", "IndependentTools", "KeyAlgorithms",
                "OstiaryClient", "OstiaryWire", "SecretMemory", "Security", "SeededRandomness", crypto,
            ],
            swiftSettings: adapter),
        .testTarget(
            name: "LocalAuthenticationTests",
            dependencies: [
                "AccessControl", "CLinuxShims", "Cancellations", "KeyAlgorithms", "LocalAuthentication",
                "LocalAuthenticationEmbeddedUI", "OstiaryClient", "OstiaryTesting", "OstiaryWire", "SecretMemory",
                "Security", "UnixSocket", "WireTranscripts", crypto,
            ],
            swiftSettings: adapter),
        .testTarget(
            name: "AuthenticationServicesTests",
            dependencies: [
                "AuthenticationServices", "Cancellations", "DetachedThreads", "IndependentTools", "LoopbackCallback",
                "OstiaryClient",
                "OstiaryWire",
                "SecretMemory", crypto,
            ],
            swiftSettings: adapter),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "ostiary", "OstiaryTesting", "OstiaryClient", "AccessControl", "CLinuxShims", "CommandFailures",
                "DoorSupport", "IndependentTools", "KeyAlgorithms",
                "OstiaryWire",
                "SecretMemory", "UnixSocket", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: adapter),
        .testTarget(
            name: "SSHFormatsTests",
            dependencies: ["IndependentTools", "SSHFormats", "SeededRandomness", crypto], exclude: ["Vectors"],
            swiftSettings: adapter),
        .testTarget(
            name: "SSHKeyFilesTests",
            dependencies: [
                "DetachedThreads", "IndependentTools", "SSHFormats", "SSHKeyFiles", "SecretMemory", "SeededRandomness",
                "UnixSocket", crypto,
            ],
            swiftSettings: adapter),
        .testTarget(
            name: "DoorSupportTests",
            dependencies: [
                "CLinuxShims", "Cancellations", "CommandFailures", "DetachedThreads", "DoorSupport", "IndependentTools",
                "OstiaryClient",
                "OstiaryWire", "SecretMemory", "SocketTestSupport",
                "UnixSocket",
            ],
            swiftSettings: adapter),
        .testTarget(
            name: "SSHAgentTests",
            dependencies: [
                "AccessControl", "Cancellations", "IndependentTools", "OstiaryClient", "SSHAgent", "SSHFormats",
                "SSHKeyFiles", "SecretMemory", "SeededRandomness", "UnixSocket", crypto,
            ],
            swiftSettings: adapter),
        .testTarget(
            name: "CredentialHelpersTests",
            dependencies: [
                "AccessControl", "CommandFailures", "CredentialHelpers", "DoorSupport", "OstiaryClient", "OstiaryWire",
                "SecretMemory", "SeededRandomness",
            ],
            swiftSettings: adapter),
        .testTarget(
            name: "AgePluginTests",
            dependencies: [
                "AccessControl", "AgePlugin", "CommandFailures", "DoorSupport", "IndependentTools", "SecretMemory",
                "SeededRandomness", "UnixSocket", crypto,
            ],
            swiftSettings: adapter),
        .testTarget(
            name: "UnitCredentialsTests",
            dependencies: [
                "CommandFailures", "DetachedThreads", "DoorSupport", "OstiaryClient", "OstiaryMessages", "OstiaryWire",
                "SecretMemory", "SocketTestSupport", "UnitCredentials", "UnixSocket",
            ],
            swiftSettings: adapter),
        .testTarget(
            name: "PKCS11DoorTests",
            dependencies: [
                "AccessControl", "Cancellations", "CommandFailures", "DetachedThreads", "DoorSupport",
                "IndependentTools",
                "KeyAlgorithms", "OstiaryClient", "OstiaryMessages", "PKCS11Door", "RSAKeys", "SSHAgent", "SSHFormats",
                "SSHKeyFiles",
                "SecretMemory", "SeededRandomness", crypto,
            ],
            swiftSettings: adapter),
        .testTarget(
            name: "SecretItemsTests",
            dependencies: ["AccessControl", "OstiaryClient", "OstiaryMessages", "SecretItems", "SecretMemory"],
            swiftSettings: adapter),
        .target(name: "IndependentTools", path: "Tests/IndependentTools", swiftSettings: adapter),
        // Sockets as only hostile peers use them.
        .target(
            name: "SocketTestSupport", dependencies: ["UnixSocket"], path: "Tests/SocketTestSupport",
            swiftSettings: adapter),
        .target(
            name: "WireTranscripts", dependencies: ["UnixSocket"], path: "Tests/WireTranscripts",
            exclude: ["messages.txt", "protocol-7.txt", "protocol-8.txt", "protocol-9.txt"], swiftSettings: adapter),
        .target(
            name: "DaemonTestSupport", dependencies: ["CryptoKit", "IndependentTools", "Security", "UnixSocket"],
            path: "Tests/DaemonTestSupport", swiftSettings: adapter),
        .executableTarget(
            name: "right-scenarios", dependencies: ["LocalAuthentication", "Security"],
            path: "Tests/Programs/right-scenarios", swiftSettings: adapter),
        .executableTarget(
            name: "hid-on-descriptor", dependencies: ["OstiaryClient", "PasskeyDevice", "UnixSocket"],
            path: "Tests/Programs/hid-on-descriptor", swiftSettings: adapter),
        .testTarget(
            name: "PasskeyDeviceTests", dependencies: ["CTAPHID", "PasskeyDevice", "SeededRandomness", "UnixSocket"],
            swiftSettings: adapter),
        .executableTarget(
            name: "keychain-calls", dependencies: ["LocalAuthentication", "Security"],
            path: "Tests/Programs/keychain-calls", swiftSettings: adapter),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "AgePlugin", "CryptoKit", "DaemonTestSupport", "IndependentTools", "LocalAuthentication",
                "LocalAuthenticationTesting", "OstiaryClient",
                "OstiaryTesting", "SSHFormats", "Security", "SeededRandomness", "SimulatorMessages",
                "SocketTestSupport", "UnitCredentials", "UnixSocket", "age-plugin-ostiary",
                "hid-on-descriptor", "keychain-calls", "ostiary",
                "ostiary-credential-helper", "ostiary-credentials", "ostiary-doors", "ostiary-hid", "ostiary-pkcs11d",
                "ostiary-ssh-agent",
                "right-scenarios",
            ],
            exclude: ["Browsers/Clients", "Doors/Clients"],
            swiftSettings: adapter),
    ]
)
