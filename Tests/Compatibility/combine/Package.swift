// swift-tools-version:6.2
// Packages that ask whether Combine is there, in one build with ours. `script/test-compatibility` copies this folder
// elsewhere and sets the path.
import PackageDescription

let package = Package(
    name: "BesideCombine",
    dependencies: [
        .package(name: "OstiaryCompatibility", path: "@OSTIARY@/Compatibility"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    ],
    targets: [
        .target(name: "Names", dependencies: [.product(name: "Combine", package: "OstiaryCompatibility")]),
        .executableTarget(
            name: "Program",
            dependencies: [
                "Names", .product(name: "GRDB", package: "GRDB.swift"), .product(name: "Yams", package: "Yams"),
            ]),
    ]
)
