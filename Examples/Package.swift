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
        // Accounts with security keys and passkeys, and their tests with a relying party that did not come from here.
        .target(
            name: "Accounts", dependencies: [.product(name: "AuthenticationServices", package: "Ostiary")]),
        .executableTarget(
            name: "account",
            dependencies: ["Accounts", .product(name: "AuthenticationServices", package: "Ostiary")]),
        .testTarget(
            name: "AccountsTests",
            dependencies: [
                "Accounts", .product(name: "AuthenticationServices", package: "Ostiary"),
                .product(name: "LocalAuthenticationTesting", package: "Ostiary"),
            ],
            exclude: ["relying-party.py"]),
        // An app and its tests, which run against a simulated device: Documentation/testing.md
        .target(name: "Notes", dependencies: frameworks),
        .testTarget(
            name: "NotesTests",
            dependencies: ["Notes", .product(name: "LocalAuthenticationTesting", package: "Ostiary")]),
    ]
)
