// swift-tools-version:6.2
// Libraries for servers that let people sign in with passkeys and security keys. `script/relying-party-package` puts this file
// at the root of a repository of its own.
import PackageDescription

/// One strict list for every Swift target that reads input of strangers.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .strictMemorySafety(),
]

/// For targets that mostly talk to C.
let adapter = [SwiftSetting](strict.dropLast())

let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let asn1: Target.Dependency = .product(name: "SwiftASN1", package: "swift-asn1")
let x509: Target.Dependency = .product(name: "X509", package: "swift-certificates")

let package = Package(
    name: "OstiaryRelyingParty",
    products: [
        .library(name: "RelyingParty", targets: ["RelyingParty"]),
        .library(name: "RelyingPartySQLite", targets: ["RelyingPartySQLite"]),
        .library(name: "RelyingPartyPostgreSQL", targets: ["RelyingPartyPostgreSQL"]),
        .library(name: "RelyingPartyHummingbird", targets: ["RelyingPartyHummingbird"]),
        .library(name: "AttestationVerification", targets: ["AttestationVerification"]),
    ],
    // A program fetches only those that its products need.
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-asn1.git", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0", traits: []),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1", traits: []),
    ],
    targets: [
        .target(name: "AccessControl", swiftSettings: strict),
        .target(name: "CanonicalCBOR", swiftSettings: strict),
        .target(name: "MLDSA44", dependencies: [crypto], swiftSettings: adapter),
        .target(
            name: "RelyingParty", dependencies: ["CanonicalCBOR", "MLDSA44", crypto, cryptoExtras, asn1, x509],
            swiftSettings: strict),
        .target(
            name: "RelyingPartySQLite", dependencies: ["RelyingParty", .product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: strict),
        .systemLibrary(name: "CPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(name: "RelyingPartyPostgreSQL", dependencies: ["CPQ", "RelyingParty"], swiftSettings: adapter),
        .target(
            name: "RelyingPartyHummingbird",
            dependencies: [
                "RelyingParty", crypto,
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: strict),
        .target(name: "LabeledOAEP", dependencies: [crypto], swiftSettings: adapter),
        .target(
            name: "AttestationVerification",
            dependencies: [
                "AccessControl", "CanonicalCBOR", "LabeledOAEP", "RelyingParty", crypto, cryptoExtras, asn1, x509,
            ],
            swiftSettings: strict),
    ]
)
