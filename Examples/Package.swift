// swift-tools-version:6.2
// Programs that show each flow with Apple's API. They build with nothing but the app side.
import PackageDescription

let frameworks: [Target.Dependency] = [
    .product(name: "LocalAuthentication", package: "Ostiary"),
    .product(name: "Security", package: "Ostiary"),
]

let package = Package(
    name: "Examples",
    dependencies: [.package(name: "Ostiary", path: "..")],
    targets: [
        .executableTarget(name: "sign-challenge", dependencies: frameworks),
        .executableTarget(name: "enclave-key", dependencies: frameworks),
        .executableTarget(name: "protected-password", dependencies: frameworks),
        // An app and its tests, which run against a simulated device: Documentation/testing.md
        .target(name: "Notes", dependencies: frameworks),
        .testTarget(
            name: "NotesTests",
            dependencies: ["Notes", .product(name: "LocalAuthenticationTesting", package: "Ostiary")]),
    ]
)
