// swift-tools-version:6.2
// The module `CoreFoundation`, for programs that import Core Foundation and mean the names that the keychain needs. In a package
// of its own because, once built, it hides the toolchain's C module of that name from every other package of the build, also
// from OpenCombine beside this folder, which uses Core Foundation's run loops.
import PackageDescription

let package = Package(
    name: "OstiaryCoreFoundation",
    products: [.library(name: "CoreFoundation", targets: ["CoreFoundation"])],
    dependencies: [.package(name: "Ostiary", path: "../..")],
    targets: [
        .target(
            name: "CoreFoundation", dependencies: [.product(name: "Security", package: "Ostiary")],
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .treatAllWarnings(as: .error),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .strictMemorySafety(),
            ]),
        .testTarget(
            name: "CoreFoundationTests", dependencies: ["CoreFoundation"], swiftSettings: [.swiftLanguageMode(.v6)]),
    ]
)
