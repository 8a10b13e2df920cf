// swift-tools-version:6.2
// A program of somebody else. script/test-relying-party-package puts the address into it.
import PackageDescription

let package = Package(
    name: "Program",
    dependencies: [.package(url: "REPOSITORY", from: "0.1.0")],
    targets: [
        .executableTarget(
            name: "program",
            dependencies: [
                .product(name: "RelyingParty", package: "relying-party"),
                .product(name: "RelyingPartySQLite", package: "relying-party"),
                .product(name: "RelyingPartyHummingbird", package: "relying-party"),
                .product(name: "AttestationVerification", package: "relying-party"),
            ])
    ]
)
