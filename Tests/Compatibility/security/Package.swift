// swift-tools-version:6.2
// Packages that ask whether Apple's frameworks are there, in one build with ours. `script/test-compatibility` copies
// this folder elsewhere and sets the path.
import PackageDescription

let package = Package(
    name: "BesideSecurity",
    dependencies: [
        .package(name: "Ostiary", path: "@OSTIARY@"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1"),
    ],
    targets: [
        .target(
            name: "Names",
            dependencies: [
                .product(name: "CryptoKit", package: "Ostiary"),
                .product(name: "LocalAuthentication", package: "Ostiary"),
                .product(name: "Security", package: "Ostiary"),
            ]),
        .executableTarget(
            name: "Program",
            dependencies: [
                "Names",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "FlyingFox", package: "FlyingFox"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "Yams", package: "Yams"),
            ]),
    ]
)
