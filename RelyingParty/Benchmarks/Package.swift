// swift-tools-version:6.2
// The program of `script/benchmark relying-party`. A package of its own, so that no build of the libraries pays for it.
import PackageDescription

let package = Package(
    name: "OstiaryRelyingPartyBenchmarks",
    dependencies: [
        .package(name: "OstiaryRelyingParty", path: ".."),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        .executableTarget(
            name: "relying-party-benchmark",
            dependencies: [
                .product(name: "RelyingParty", package: "OstiaryRelyingParty"),
                .product(name: "RelyingPartySQLite", package: "OstiaryRelyingParty"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .treatAllWarnings(as: .error),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
            ])
    ]
)
