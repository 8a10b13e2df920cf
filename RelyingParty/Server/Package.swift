// swift-tools-version:6.2
// What RelyingParty/ has for the server Hummingbird, and an example: a site where a browser registers and signs in. A package of
// its own, so that users of the other libraries need not fetch and build a server.
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

let package = Package(
    name: "OstiaryRelyingPartyServer",
    products: [
        .library(name: "RelyingPartyHummingbird", targets: ["RelyingPartyHummingbird"]),
        .executable(name: "relying-party-server", targets: ["relying-party-server"]),
    ],
    dependencies: [
        .package(name: "OstiaryRelyingParty", path: ".."),
        .package(name: "Ostiary", path: "../.."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0", traits: []),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1", traits: []),
    ],
    targets: [
        .target(
            name: "RelyingPartyHummingbird",
            dependencies: [
                .product(name: "RelyingParty", package: "OstiaryRelyingParty"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "relying-party-server",
            dependencies: [
                "RelyingPartyHummingbird",
                .product(name: "RelyingParty", package: "OstiaryRelyingParty"),
                .product(name: "RelyingPartySQLite", package: "OstiaryRelyingParty"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "RelyingPartyServerTests",
            dependencies: [
                "relying-party-server", "RelyingPartyHummingbird",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "IndependentTools", package: "Ostiary"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "RelyingParty", package: "OstiaryRelyingParty"),
            ],
            resources: [.copy("Witnesses")], swiftSettings: strict),
    ]
)
