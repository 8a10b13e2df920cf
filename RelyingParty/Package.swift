// swift-tools-version:6.2
// Libraries for servers that let people sign in. They need no daemon. Of the other packages they use only the reader of CBOR
// and the rules of access control, and randomness and tools for their tests.
import PackageDescription

/// One strict list for every Swift target that reads input of strangers. It stands in the other manifests too: a manifest
/// cannot import another.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .strictMemorySafety(),
]

/// For targets that mostly talk to C: `.strictMemorySafety` would mark nearly every line of it.
let adapter = [SwiftSetting](strict.dropLast())

/// Also for the file that reaches a C module of swift-crypto.
let adapterOfBoringSSL = adapter + [.treatWarning("ImplementationOnlyDeprecated", as: .warning)]

let accessControl: Target.Dependency = .product(name: "AccessControl", package: "Ostiary")
let cbor: Target.Dependency = .product(name: "CanonicalCBOR", package: "Ostiary")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let asn1: Target.Dependency = .product(name: "SwiftASN1", package: "swift-asn1")
let x509: Target.Dependency = .product(name: "X509", package: "swift-certificates")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")

let package = Package(
    name: "OstiaryRelyingParty",
    products: [
        .library(name: "RelyingParty", targets: ["RelyingParty"]),
        .library(name: "AttestationVerification", targets: ["AttestationVerification"]),
        .executable(name: "ostiary-verify-attestation", targets: ["ostiary-verify-attestation"]),
        .library(name: "RelyingPartySQLite", targets: ["RelyingPartySQLite"]),
        .library(name: "RelyingPartyPostgreSQL", targets: ["RelyingPartyPostgreSQL"]),
    ],
    dependencies: [
        .package(name: "Ostiary", path: ".."),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1.git", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        .target(name: "MLDSA44", dependencies: [crypto], swiftSettings: adapterOfBoringSSL),
        .target(
            name: "RelyingParty", dependencies: ["MLDSA44", cbor, crypto, cryptoExtras, asn1, x509],
            swiftSettings: strict),
        .target(name: "LabeledOAEP", dependencies: [crypto], swiftSettings: adapterOfBoringSSL),
        .target(
            name: "AttestationVerification",
            dependencies: ["RelyingParty", "LabeledOAEP", accessControl, cbor, crypto, cryptoExtras, asn1, x509],
            swiftSettings: strict),
        .executableTarget(
            name: "ostiary-verify-attestation",
            dependencies: [
                "AttestationVerification", accessControl, asn1,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict),
        .target(name: "RelyingPartySQLite", dependencies: ["RelyingParty", grdb], swiftSettings: strict),
        .systemLibrary(name: "CPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(name: "RelyingPartyPostgreSQL", dependencies: ["CPQ", "RelyingParty"], swiftSettings: adapter),
        .testTarget(
            name: "RelyingPartyStoreTests",
            dependencies: [
                "RelyingParty", "RelyingPartySQLite", "RelyingPartyPostgreSQL", "store-process", crypto, grdb,
                .product(name: "SeededRandomness", package: "Ostiary"),
            ],
            resources: [.copy("Server")], swiftSettings: strict),
        // A second server, for the tests of stores that several servers share.
        .executableTarget(
            name: "store-process", dependencies: ["RelyingParty", "RelyingPartyPostgreSQL"],
            path: "Tests/store-process",
            swiftSettings: strict),
        // swift-crypto has no ML-DSA-44, and the libraries only verify it.
        .target(
            name: "MLDSA44Signing", dependencies: [crypto], path: "Tests/MLDSA44Signing",
            swiftSettings: adapterOfBoringSSL),
        .testTarget(
            name: "RelyingPartyTests",
            dependencies: [
                "MLDSA44Signing", "RelyingParty", "RelyingPartySQLite", "AttestationVerification", accessControl, cbor,
                crypto,
                cryptoExtras, asn1, x509,
                .product(name: "IndependentTools", package: "Ostiary"),
                .product(name: "SeededRandomness", package: "Ostiary"),
            ],
            resources: [.copy("Vectors"), .copy("Witnesses"), .copy("Recordings")], swiftSettings: strict),
    ]
)
