/// The files of a new package.
struct PackageTemplate {
    /// Where Ostiary's sources are.
    enum Source: Equatable {
        /// An absolute path, or one from the package's folder.
        case folder(String)
        /// An address that git takes.
        case repository(String)
    }

    let name: String
    let source: Source

    /// What no setting can do.
    static let remainingEdits = [
        "`import os.log` becomes `import os`; the stand-in has `Logger` and `OSAllocatedUnfairLock`, not `os_log`.",
        "`NSError()` becomes `NSError(domain:code:)`.",
        "`kCFBooleanTrue` becomes `true` where a `CFBoolean` is expected, and `kCFBooleanFalse` becomes `false`.",
        "`@objc`, `#selector`, `#keyPath` and `dynamic` go, or under `#if canImport(ObjectiveC)`.",
        "A plain Swift error is not caught with `as NSError`; catch its own type.",
        "`import SwiftUI`, `UIKit` and `AppKit` go under `#if canImport(…)`; a stand-in `ObservableObject` tells nobody.",
    ]

    /// Names that the package cannot have, in small letters: modules that it imports or contains, those of Ostiary and of its
    /// dependencies, and Swift's own.
    private static let takenNames: Set<String> = {
        let imported = [
            "Security", "LocalAuthentication", "LocalAuthenticationEmbeddedUI", "AuthenticationServices", "CryptoKit",
            "Foundation", "FoundationEssentials", "Dispatch", "Synchronization", "Glibc", "Swift", "Combine", "os",
            "OSStandIn", "CombineStandIn", "Observation", "RegexBuilder", "Distributed", "Testing", "XCTest",
            "PackageDescription",
        ]
        let ostiarys = [
            "AccessControl", "AgePlugin", "AgePluginProgram", "Cancellations", "CanonicalCBOR", "CanonicalEncoding",
            "CertificateChains", "CertificateReading", "CommandFailures", "CredentialHelpers", "CTAPHID",
            "DetachedThreads", "DirectionalText", "DoorSupport", "KeyAlgorithms", "LocalAuthenticationTesting",
            "LoopbackCallback", "Ostiary", "OstiaryClient", "OstiaryMessages", "OstiaryTesting", "OstiaryWire",
            "PasskeyDevice", "PasskeyDeviceProgram", "PKCS11Door", "PKCS11DoorProgram", "PKCS12", "RSAKeys",
            "SecretBuffers", "SecretItems", "SecretMemory", "SeededRandomness", "SimulatorMessages",
            "SocketTestSupport", "SSHAgent", "SSHAgentProgram", "SSHFormats", "SSHKeyFiles", "UnitCredentials",
            "UnitCredentialsProgram", "UnixSocket", "WireTranscripts",
            "CCommandLaunch", "CLinuxShims", "CLocalAuthentication", "CAuthenticationServices", "CUHID",
        ]
        let others = [
            "Crypto", "CryptoExtras", "CryptoBoringWrapper", "CCryptoBoringSSL", "SwiftASN1", "ArgumentParser",
        ]
        return Set((imported + ostiarys + others).map { $0.lowercased() })
    }()

    /// Whether the name is a module's already that the package needs. Capital letters are no difference, since some file systems know
    /// none.
    static func isTaken(_ name: String) -> Bool { takenNames.contains(name.lowercased()) }

    /// Whether SwiftPM takes it as the name of a module.
    static func isName(_ name: String) -> Bool {
        let letters = name.unicodeScalars
        guard let first = letters.first, letters.count <= 64 else { return false }
        func isLetter(_ scalar: Unicode.Scalar) -> Bool { ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) }
        return isLetter(first) && letters.allSatisfy { isLetter($0) || ("0"..."9").contains($0) || $0 == "_" }
    }

    /// Whether it can stand between quotation marks as it is.
    static func isLiteral(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f && $0 != "\"" && $0 != "\\" }
    }

    var files: [(path: String, text: String)] {
        [
            ("Package.swift", manifest), ("Sources/\(name)/main.swift", Self.program),
            ("Sources/OSStandIn/Logger.swift", Self.logger), ("Sources/OSStandIn/Lock.swift", Self.unfairLock),
            ("Sources/CombineStandIn/ObservableObject.swift", Self.observableObject),
        ]
    }

    // MARK: Package.swift

    private var dependency: (declaration: String, package: String) {
        switch source {
        case .folder(let path): return (".package(name: \"Ostiary\", path: \"\(path)\")", "Ostiary")
        case .repository(let address):
            let last = address.split { $0 == "/" || $0 == ":" }.last.map(String.init) ?? address
            let package = last.hasSuffix(".git") ? String(last.dropLast(4)) : last
            return (".package(url: \"\(address)\", branch: \"main\")", package)
        }
    }

    private var manifest: String {
        let (declaration, package) = dependency
        let edits = Self.remainingEdits.map { "// - " + $0 }.joined(separator: "\n")
        return """
            // swift-tools-version:6.2
            // Made by `ostiary init-package`. These settings cannot make every program for macOS compile; what remains to be edited:
            \(edits)
            import PackageDescription

            /// Only on Linux. `Security` is imported into every file, as Foundation does on Apple's systems. In the files of a target
            /// with these settings, `os` and `Combine` stand for the modules beside the program; no other package sees them.
            let linux: [SwiftSetting] = [
                .unsafeFlags(
                    [
                        "-Xfrontend", "-import-module", "-Xfrontend", "Security", "-module-alias", "os=OSStandIn",
                        "-module-alias", "Combine=CombineStandIn",
                    ], .when(platforms: [.linux]))
            ]

            /// Remove what the program does not import.
            let modules = ["Security", "LocalAuthentication", "AuthenticationServices", "CryptoKit"]

            let package = Package(
                name: "\(name)",
                dependencies: [\(declaration)],
                targets: [
                    .target(name: "OSStandIn"),
                    .target(name: "CombineStandIn"),
                    .executableTarget(
                        name: "\(name)",
                        dependencies: modules.map {
                            .product(name: $0, package: "\(package)", condition: .when(platforms: [.linux]))
                        } + [
                            .target(name: "OSStandIn", condition: .when(platforms: [.linux])),
                            .target(name: "CombineStandIn", condition: .when(platforms: [.linux])),
                        ],
                        swiftSettings: linux),
                ],
                swiftLanguageModes: [.v5]
            )

            """
    }
}
