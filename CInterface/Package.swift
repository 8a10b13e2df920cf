// swift-tools-version:6.2
// The keychain for programs in C: libostiary-security.so and its header, made of the product `Security`. A package of its own
// because it needs linker flags that SwiftPM calls unsafe, and a package with such a target cannot be used by version.
import PackageDescription

/// The settings of the other packages' adapters: every line here touches C.
let adapter: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// What the dynamic linker reads in libostiary-security.so: its name, whose number counts up when something is taken from
/// the library or changed, and no folder of the machine that built it. In release mode the library holds the Swift runtime
/// that it needs, and hides it from the program; in debug mode it looks for the runtime beside itself, where the tests put
/// it. SwiftPM has no other settings for these.
let forTheDynamicLinker: [LinkerSetting] = [
    .unsafeFlags(["-no-toolchain-stdlib-rpath", "-Xlinker", "-soname=libostiary-security.so.0"]),
    .unsafeFlags(["-Xlinker", "-rpath=$ORIGIN/ostiary"], .when(configuration: .debug)),
    .unsafeFlags(["-static-stdlib"], .when(configuration: .release)),
]

let security: Target.Dependency = .product(name: "Security", package: "Ostiary")

let package = Package(
    name: "OstiaryCInterface",
    products: [
        .library(name: "ostiary-security", type: .dynamic, targets: ["OstiarySecurityC", "COstiarySecurity"])
    ],
    dependencies: [.package(name: "Ostiary", path: "..")],
    targets: [
        .target(
            name: "OstiarySecurityC", dependencies: ["COstiarySecurity", security], swiftSettings: adapter,
            linkerSettings: forTheDynamicLinker),
        // The header, and the constants, which Swift cannot export.
        .target(name: "COstiarySecurity"),
        // The program in C that they run is not built by SwiftPM: they compile and link it as its author would.
        .testTarget(
            name: "CInterfaceTests",
            dependencies: [
                security, .product(name: "CryptoKit", package: "Ostiary"),
                .product(name: "DaemonTestSupport", package: "Ostiary"),
                .product(name: "OstiaryTesting", package: "Ostiary"), .product(name: "ostiary", package: "Ostiary"),
            ],
            swiftSettings: adapter),
    ]
)
