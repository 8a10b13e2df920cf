// swift-tools-version:6.2
// Optional modules that take a name of Apple's which other packages look for with `canImport`. They live in a package of their
// own, so that only a program that wants them has them in its build.
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .strictMemorySafety(),
]

let openCombine: Target.Dependency = .product(name: "OpenCombine", package: "OpenCombine")
let localAuthentication: Target.Dependency = .product(name: "LocalAuthentication", package: "Ostiary")

let package = Package(
    name: "OstiaryCompatibility",
    products: [
        .library(name: "Combine", targets: ["Combine"]),
        .library(name: "LocalAuthenticationCombine", targets: ["LocalAuthenticationCombine"]),
    ],
    dependencies: [
        .package(name: "Ostiary", path: ".."),
        .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
    ],
    targets: [
        .target(
            name: "Combine",
            dependencies: [
                openCombine,
                .product(name: "OpenCombineDispatch", package: "OpenCombine"),
                .product(name: "OpenCombineFoundation", package: "OpenCombine"),
            ],
            swiftSettings: strict),
        .target(
            name: "LocalAuthenticationCombine", dependencies: [localAuthentication, openCombine],
            swiftSettings: strict),
        .testTarget(
            name: "LocalAuthenticationCombineTests",
            dependencies: [
                "Combine", "LocalAuthenticationCombine", localAuthentication,
                .product(name: "OstiaryTesting", package: "Ostiary"),
            ],
            swiftSettings: strict),
    ]
)
