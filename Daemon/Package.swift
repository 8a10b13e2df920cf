// swift-tools-version:6.2
// The trusted side. Of the app side's package it uses only the modules that both sides speak, for the
// simulator its messages, and for its tests the support of the app side's tests.
import PackageDescription

/// One strict list for every Swift target that holds rules, messages or secrets. It stands in the other manifests too: a
/// manifest cannot import another.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .strictMemorySafety(),
]

/// The same list for adapters whose every line touches C; there `unsafe` on each line would hide more than it shows.
let adapter: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// For modules that wait for people, devices and starts: they are built to be small, not fast.
let small: [SwiftSetting] = [.unsafeFlags(["-Osize"], .when(configuration: .release))]

/// The options that name other services than the machine's own: for tests, and for measurements of a release build. Installed
/// programs are built without them.
let testOptions: [SwiftSetting] =
    Context.environment["OSTIARY_TEST_OPTIONS"] == nil
    ? [.define("OSTIARY_TEST_OPTIONS", .when(configuration: .debug))] : [.define("OSTIARY_TEST_OPTIONS")]

let shared: Target.Dependency = .product(name: "OstiaryShared", package: "Ostiary")
/// The part of it without cryptography.
let processes: Target.Dependency = .product(name: "OstiaryProcesses", package: "Ostiary")
/// Keys of secrets, for helpers that need no other cryptography of it.
let secretMemory: Target.Dependency = .product(name: "SecretMemory", package: "Ostiary")
let messageBus: Target.Dependency = .product(name: "MessageBus", package: "MessageBus")
let systemd: Target.Dependency = .product(name: "CSystemd", package: "MessageBus")
let simulatorMessages: Target.Dependency = .product(name: "SimulatorMessages", package: "Ostiary")
let socketTestSupport: Target.Dependency = .product(name: "SocketTestSupport", package: "Ostiary")
let seeded: Target.Dependency = .product(name: "SeededRandomness", package: "Ostiary")
let cbor: Target.Dependency = .product(name: "CanonicalCBOR", package: "Ostiary")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")

/// The modules that tests over a whole broker use.
let wholeBroker: [Target.Dependency] = [
    "Passkeys", "CTAP", "SecurityKeys", "AuthenticatorRequests", cbor,
    .product(name: "IndependentTools", package: "Ostiary"), .product(name: "WireTranscripts", package: "Ostiary"),
    "Broker", "Diagnosis", "Opening", "Owners", "Sessions", "ProtectedObjects", "Authenticators", "Auditing",
    "OwnerKeys", "Callers", "Refusals", "AssociationFiles", "ExactNames", "HelperProcesses", "Prompting", "Settings",
    "Simulation", "AuditLog", "Passcodes", "Enclave", "StoreKeys", "KeySlots", "Vault", "BrokerTestSupport",
    "ProcessFacts", "PasscodeKeeperContract", "PromptProtocol", "StoreTestSupport", "FingerprintReader",
    "FingerprintTestSupport", "SystemBusTestSupport", "PAMTestSupport", "TerminalTestSupport", "ostiaryd",
    "ostiary-templates", "ostiary-pam", shared, crypto, grdb, seeded, "SessionLocks", "Threading", "TPMEnclave",
    "TPMTestSupport",
]

let package = Package(
    name: "OstiaryDaemon",
    products: [
        .executable(name: "ostiaryd", targets: ["ostiaryd"]),
        .executable(name: "ostiary-prompt", targets: ["ostiary-prompt"]),
        .executable(name: "ostiary-templates", targets: ["ostiary-templates"]),
        .executable(name: "ostiary-pam", targets: ["ostiary-pam"]),
        .executable(name: "ostiary-association", targets: ["ostiary-association"]),
        .executable(name: "ostiary-fido", targets: ["ostiary-fido"]),
        .executable(name: "ostiary-sheet", targets: ["ostiary-sheet"]),
        .executable(name: "ostiary-fingerprint", targets: ["ostiary-fingerprint"]),
        // For the tests of programs that use Ostiary; it is not installed.
        .executable(name: "ostiary-simulator", targets: ["ostiary-simulator"]),
        // What `script/benchmark chip` and `script/benchmark security-key` run; it is not installed.
        .executable(name: "device-benchmark", targets: ["device-benchmark"]),
    ],
    dependencies: [
        .package(name: "Ostiary", path: ".."),
        .package(path: "../MessageBus"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        .systemLibrary(name: "CArgon2", pkgConfig: "libargon2", providers: [.apt(["libargon2-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CGTK4", pkgConfig: "gtk4", providers: [.apt(["libgtk-4-dev"])]),
        .systemLibrary(name: "CPAM", pkgConfig: "pam", providers: [.apt(["libpam0g-dev"])]),
        .systemLibrary(name: "CTSS2", pkgConfig: "tss2-esys", providers: [.apt(["libtss2-dev"])]),
        .systemLibrary(name: "CFIDO2", pkgConfig: "libfido2", providers: [.apt(["libfido2-dev"])]),
        .systemLibrary(name: "CPCSC", pkgConfig: "libpcsclite", providers: [.apt(["libpcsclite-dev"])]),
        .systemLibrary(name: "CSeccomp", pkgConfig: "libseccomp", providers: [.apt(["libseccomp-dev"])]),
        .systemLibrary(name: "CEpoll"),
        .systemLibrary(name: "CExtendedAttributes"),
        .systemLibrary(name: "CInotify"),
        // Names that decide who may do what.
        .target(name: "ExactNames", swiftSettings: strict),
        // What relying parties ask authenticators, as plain values.
        .target(name: "AuthenticatorRequests", dependencies: [shared, "ExactNames"], swiftSettings: strict),
        // An authenticator of CTAP 2.1. It knows neither the store nor prompts.
        .target(
            name: "CTAP",
            dependencies: ["AuthenticatorRequests", "ExactNames", "Threading", cbor, crypto, cryptoExtras, shared],
            swiftSettings: strict + small),
        // Threads of the daemon, which blocks by design.
        .target(name: "Threading", dependencies: [processes, "CEpoll"], swiftSettings: strict),
        .target(name: "Enclave", dependencies: [shared, crypto], swiftSettings: strict),
        .target(
            name: "TPMEnclave", dependencies: [shared, crypto, "CTSS2", "Enclave", "Threading"],
            swiftSettings: adapter),
        .target(name: "StoreKeys", dependencies: [shared, crypto, "Enclave"], swiftSettings: strict),
        .target(name: "KeySlots", dependencies: [shared, crypto], swiftSettings: strict),
        .target(name: "Vault", dependencies: [shared, grdb, "ExactNames"], swiftSettings: strict),
        .target(
            name: "AuditLog", dependencies: [shared, crypto, "ExactNames", "Threading"], swiftSettings: strict),
        .target(name: "Passcodes", dependencies: [shared, crypto, "CArgon2"], swiftSettings: strict),
        // Both sides of the way to a helper.
        .target(name: "HelperProcesses", dependencies: [processes, "Threading"], swiftSettings: strict),
        .target(name: "PromptProtocol", dependencies: [processes], swiftSettings: strict),
        // The daemon's configuration.
        .target(
            name: "Settings", dependencies: [shared, "PAMProtocol", "PromptProtocol"], swiftSettings: strict + small),
        // Facts of this machine about callers.
        .target(name: "ProcessFacts", dependencies: [shared, messageBus], swiftSettings: strict),
        // The same through a helper.
        .target(
            name: "IdentityFacts", dependencies: [shared, "HelperProcesses", "ProcessFacts", "Threading"],
            swiftSettings: strict),
        .target(
            name: "Prompting",
            dependencies: [
                shared, messageBus, "ExactNames", "HelperProcesses", "PromptProtocol", "Settings", "ProcessFacts",
            ],
            swiftSettings: strict + small),
        // What the programs that ask people have in common.
        .target(
            name: "PromptProgram", dependencies: [processes, "HelperProcesses", "PromptProtocol"],
            swiftSettings: strict + small),
        // Tells when USB devices are plugged in or out.
        .target(name: "DeviceEvents", dependencies: [systemd, "Threading"], swiftSettings: adapter),
        .target(name: "FingerprintReader", dependencies: [processes, messageBus], swiftSettings: strict + small),
        // Both sides of the helper that talks to PAM.
        .target(name: "PAMProtocol", dependencies: [processes, "PromptProtocol"], swiftSettings: strict),
        .target(
            name: "PAMBiometry", dependencies: [shared, "HelperProcesses", "PromptProtocol", "PAMProtocol"],
            swiftSettings: strict + small),
        // Both sides of the helper that digests fingerprint templates.
        .target(name: "TemplateAnswers", swiftSettings: strict),
        .target(
            name: "EnrolledTemplates", dependencies: [shared, "HelperProcesses", "TemplateAnswers"],
            swiftSettings: strict + small),
        .target(name: "SessionLocks", dependencies: [shared, messageBus, "Threading"], swiftSettings: strict),
        // Both sides of the helper that fetches association files of domains.
        .target(name: "AssociationFiles", dependencies: [processes, "ExactNames"], swiftSettings: strict + small),
        // What joins the modules above, from the bottom up; the last answers requests.
        .target(
            name: "Refusals", dependencies: [shared, "Passcodes", "PromptProtocol", "Prompting"],
            swiftSettings: strict + small),
        .target(
            name: "Callers",
            dependencies: [
                shared, crypto, logging, "AssociationFiles", "ExactNames", "HelperProcesses", "Vault", "Prompting",
                "PromptProtocol", "Refusals", "Settings", "Threading", "ProcessFacts",
            ],
            swiftSettings: strict),
        .target(
            name: "OwnerKeys",
            dependencies: [
                shared, crypto, logging, "Enclave", "ExactNames", "KeySlots", "StoreKeys", "Vault", "Passcodes",
                "Refusals", "Threading",
            ],
            swiftSettings: strict + small),
        .target(
            name: "Auditing",
            dependencies: [
                shared, logging, "ExactNames", "StoreKeys", "KeySlots", "Vault", "AuditLog", "Refusals", "Callers",
                "OwnerKeys", "Threading",
            ],
            swiftSettings: strict),
        .target(
            name: "Authenticators",
            dependencies: [
                shared, "Enclave", "ExactNames", "HelperProcesses", "KeySlots", "PromptProtocol", "Prompting",
                "FingerprintReader", "EnrolledTemplates", "PAMProtocol", "PAMBiometry", "SecurityKeys",
                "AuthenticatorRequests", "Refusals", "ProcessFacts",
                "Callers", "OwnerKeys", "Auditing",
                "Threading",
            ],
            swiftSettings: strict + small),
        .target(
            name: "ProtectedObjects",
            dependencies: [
                shared, crypto, cbor, "Enclave", "ExactNames", "StoreKeys", "KeySlots", "Vault", "Passcodes",
                "PromptProtocol", "Refusals", "OwnerKeys", "Auditing", "Authenticators", "Callers",
                "ProcessFacts", "Threading",
            ],
            swiftSettings: strict),
        // This machine as an authenticator of relying parties.
        .target(
            name: "Passkeys",
            dependencies: [
                shared, crypto, cbor, "AuthenticatorRequests", "CTAP", "Enclave", "ExactNames", "KeySlots", "Vault",
                "Refusals", "Callers", "OwnerKeys", "Owners", "Auditing", "Authenticators", "ProtectedObjects",
                "PromptProtocol", "Threading",
            ],
            swiftSettings: strict + small),
        // One user of the store: keys, rights, items, and how they are asked.
        .target(
            name: "Owners",
            dependencies: [
                shared, logging, "Enclave", "ExactNames", "HelperProcesses", "StoreKeys", "KeySlots", "Vault",
                "Passcodes", "PromptProtocol",
                "Prompting", "SecurityKeys", "SessionLocks", "FingerprintReader", "EnrolledTemplates",
                "PAMProtocol", "Refusals", "Callers", "OwnerKeys", "Auditing", "Authenticators",
                "ProtectedObjects", "Threading",
            ],
            swiftSettings: strict),
        // Opens a store and its log, and moves it into another enclave.
        .target(
            name: "Opening",
            dependencies: [
                shared, logging, "Enclave", "TPMEnclave", "ExactNames", "HelperProcesses", "StoreKeys", "KeySlots",
                "Vault", "AuditLog", "Passcodes", "PromptProtocol", "Prompting", "SecurityKeys", "Settings",
                "AssociationFiles", "Refusals", "Callers", "OwnerKeys", "Owners", "Auditing", "Authenticators",
                "ProtectedObjects", "ProcessFacts", crypto,
            ],
            swiftSettings: strict + small),
        // Connections of programs: callers, admitted requests, their threads, and limits on the resources that each caller takes.
        .target(
            name: "Sessions",
            dependencies: [
                shared, logging, "ExactNames", "KeySlots", "Vault", "Passcodes", "DeviceEvents", "FingerprintReader",
                "Refusals", "Callers", "OwnerKeys", "Auditing", "Authenticators", "ProtectedObjects", "Owners",
                "Passkeys", "ProcessFacts", "Threading",
            ],
            swiftSettings: strict),
        // Proves users for PAM.
        .target(
            name: "SignIns",
            dependencies: [
                shared, logging, "Auditing", "Authenticators", "Callers", "ExactNames", "HelperProcesses", "OwnerKeys",
                "Owners", "Passcodes", "ProcessFacts", "PromptProtocol", "Prompting", "Refusals", "Sessions",
                "Settings", "Threading", "Vault",
            ],
            swiftSettings: strict + small),
        // The doctor's findings.
        .target(
            name: "Diagnosis",
            dependencies: [
                shared, "Enclave", "TPMEnclave", "Vault", "AuditLog", "PromptProtocol", "Prompting", "SessionLocks",
                "Settings", "FingerprintReader", "HelperProcesses", "EnrolledTemplates", "PAMProtocol", "PAMBiometry",
                "ProcessFacts", "Refusals", "OwnerKeys", "Auditing", "Authenticators", "ProtectedObjects", "Owners",
                "Opening", logging,
            ],
            swiftSettings: strict + small),
        .target(
            name: "Broker",
            dependencies: [
                "Diagnosis", "Opening", "Owners", "Sessions", "SignIns", "Passkeys", shared, crypto, logging, "Enclave",
                "ExactNames", "HelperProcesses", "StoreKeys", "KeySlots", "Vault", "AuditLog", "Passcodes",
                "PromptProtocol", "Prompting", "SecurityKeys", "SessionLocks", "FingerprintReader", "Refusals",
                "Callers", "OwnerKeys", "Auditing", "Authenticators", "ProtectedObjects", "AssociationFiles",
                "AuthenticatorRequests", "Threading",
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "ostiaryd",
            dependencies: [
                "AssociationFiles", "Broker", "HelperProcesses", "IdentityFacts", "Opening", "Owners", "ProcessFacts",
                "Sessions", "Settings", "SignIns", "SystemCallFilter", "Threading", shared, logging, arguments, systemd,
            ],
            swiftSettings: strict + testOptions),
        .executableTarget(
            name: "ostiary-prompt", dependencies: [processes, "HelperProcesses", "PromptProgram", "PromptProtocol"],
            swiftSettings: strict + testOptions),
        .executableTarget(
            name: "ostiary-sheet", dependencies: [processes, "CGTK4", "PromptProgram", "PromptProtocol"],
            swiftSettings: adapter),
        .executableTarget(
            name: "ostiary-templates", dependencies: [processes, secretMemory, crypto, "CInotify", "TemplateAnswers"],
            swiftSettings: strict + small),
        .executableTarget(
            name: "ostiary-fingerprint", dependencies: [processes, "FingerprintReader", "PromptProtocol", arguments],
            swiftSettings: strict + small),
        .target(name: "SystemCallFilter", dependencies: ["CSeccomp"], swiftSettings: adapter),
        // Both sides of the helper that speaks to a security key.
        .target(name: "SecurityKeyProtocol", dependencies: [processes], swiftSettings: strict),
        // The devices of security keys: who may use one, and whether it is one.
        .target(
            name: "KeyDevices", dependencies: [processes, "CExtendedAttributes", "SecurityKeyProtocol"],
            swiftSettings: strict + small),
        // Cards at readers, through pcscd.
        .target(
            name: "CardReaders", dependencies: [shared, "CPCSC", "HelperProcesses", "Threading"],
            swiftSettings: adapter),
        .target(
            name: "SecurityKeys",
            dependencies: [
                shared, "AuthenticatorRequests", "CardReaders", "ExactNames", "FingerprintReader", "HelperProcesses",
                "KeyDevices", "PromptProtocol", "SecurityKeyProtocol",
            ],
            swiftSettings: strict + small),
        .executableTarget(
            name: "ostiary-fido",
            dependencies: [
                processes, "CFIDO2", "HelperProcesses", "KeyDevices", "SecurityKeyProtocol", "SystemCallFilter",
            ],
            swiftSettings: adapter + testOptions),
        .executableTarget(
            name: "ostiary-pam",
            dependencies: [processes, "CPAM", "HelperProcesses", "PAMProtocol", "PromptProtocol"],
            swiftSettings: adapter),
        .executableTarget(
            name: "ostiary-association",
            dependencies: [processes, "AssociationFiles", "CCurl", "ExactNames", "HelperProcesses"],
            swiftSettings: adapter),

        // A daemon with a scripted person, reader and clock, for the tests of programs. No other program links it.
        .target(
            name: "Simulation",
            dependencies: [
                shared, simulatorMessages, crypto, logging, "AssociationFiles", "AuthenticatorRequests",
                "Authenticators", "Broker", "EnrolledTemplates", "ExactNames", "Owners", "Sessions",
                "FingerprintReader", "HelperProcesses", "OwnerKeys", "Passcodes", "ProcessFacts", "PromptProtocol",
                "Prompting", "Settings",
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "ostiary-simulator",
            dependencies: [shared, simulatorMessages, logging, "ProcessFacts", "Simulation"],
            swiftSettings: strict),
        .executableTarget(
            name: "device-benchmark",
            dependencies: [
                "CTSS2", "Enclave", "ExactNames", "HelperProcesses", "TPMEnclave", "AuthenticatorRequests",
                "SecurityKeys", "SecurityKeyTestSupport",
                "StoreTestSupport", shared, arguments,
            ],
            swiftSettings: adapter),

        .testTarget(name: "ExactNamesTests", dependencies: ["ExactNames"], swiftSettings: adapter),
        // What every enclave must do, written against the protocol; each implementation's tests run it.
        .target(
            name: "EnclaveContract", dependencies: [shared, crypto, "Enclave"], path: "Tests/EnclaveContract",
            swiftSettings: adapter),
        .testTarget(
            name: "EnclaveTests", dependencies: [shared, crypto, "Enclave", "EnclaveContract"], swiftSettings: adapter),
        // A real TPM in software, swtpm.
        .testTarget(
            name: "TPMEnclaveTests",
            dependencies: [
                "TPMEnclave", "TPMTestSupport", "Enclave", "EnclaveContract", "TerminalTestSupport", "CTSS2",
                "Threading", "chip-signer", shared, crypto,
            ],
            swiftSettings: adapter),
        .executableTarget(
            name: "chip-signer", dependencies: ["Enclave", "TPMEnclave", shared, crypto],
            path: "Tests/Programs/chip-signer", swiftSettings: adapter),
        .target(
            name: "TPMTestSupport",
            dependencies: ["TPMEnclave", "EnclaveContract", "SystemBusTestSupport", "TerminalTestSupport", shared],
            path: "Tests/TPMTestSupport", swiftSettings: adapter),
        .testTarget(
            name: "StoreKeysTests", dependencies: [shared, crypto, "StoreKeys", "Enclave", "EnclaveContract"],
            swiftSettings: adapter),
        .testTarget(
            name: "KeySlotsTests", dependencies: [shared, crypto, "KeySlots", "Enclave"], swiftSettings: adapter),
        .testTarget(
            name: "VaultTests",
            dependencies: ["ExactNames", "Vault", "StoreTestSupport", "vault-writer", grdb, seeded],
            swiftSettings: adapter),
        .testTarget(
            name: "AuditLogTests", dependencies: ["AuditLog", "ExactNames", "StoreTestSupport", "log-writer", crypto],
            swiftSettings: adapter),
        // Doubles and the small programs that the crash tests kill.
        .target(
            name: "StoreTestSupport", dependencies: ["ExactNames", "Vault", "AuditLog", shared, crypto],
            path: "Tests/StoreTestSupport", swiftSettings: adapter),
        .executableTarget(
            name: "vault-writer", dependencies: ["Vault", "StoreTestSupport"], path: "Tests/Programs/vault-writer",
            swiftSettings: adapter),
        .executableTarget(
            name: "log-writer", dependencies: ["AuditLog", "StoreTestSupport"], path: "Tests/Programs/log-writer",
            swiftSettings: adapter),
        // A message bus of the test's own.
        .target(
            name: "SystemBusTestSupport", dependencies: ["StoreTestSupport", "TerminalTestSupport", shared],
            path: "Tests/SystemBusTestSupport", swiftSettings: adapter),
        .testTarget(
            name: "CTAPTests",
            dependencies: [
                "CTAP", "AuthenticatorRequests", "ExactNames", "TerminalTestSupport",
                "software-authenticator", cbor, crypto, seeded, shared,
            ],
            exclude: ["Clients"], swiftSettings: adapter),
        // A security key in software, over a socket.
        .executableTarget(
            name: "software-authenticator",
            dependencies: ["AuthenticatorRequests", "CTAP", "Threading", crypto, shared, arguments],
            path: "Tests/Programs/software-authenticator", swiftSettings: adapter),
        .testTarget(name: "ThreadingTests", dependencies: ["Threading", shared], swiftSettings: adapter),
        .testTarget(
            name: "MessageBusTests",
            dependencies: ["SystemBusTestSupport", "TerminalTestSupport", "Threading", messageBus, shared],
            swiftSettings: adapter),
        // udev in a network of a process's own, played by the test.
        .target(
            name: "DeviceTestSupport", dependencies: ["TerminalTestSupport"], path: "Tests/DeviceTestSupport",
            swiftSettings: adapter),
        .testTarget(
            name: "DeviceEventsTests",
            dependencies: [
                "DeviceTestSupport", "FingerprintTestSupport", "StoreTestSupport", "TerminalTestSupport",
                "plug-listener", shared,
            ],
            swiftSettings: adapter),
        .executableTarget(
            name: "plug-listener", dependencies: ["DeviceEvents"], path: "Tests/Programs/plug-listener",
            swiftSettings: adapter),
        // The real fprintd, with readers that libfprint plays.
        .target(
            name: "FingerprintTestSupport",
            dependencies: [
                "FingerprintReader", "EnrolledTemplates", "StoreTestSupport", "SystemBusTestSupport",
                "TerminalTestSupport", shared,
            ],
            path: "Tests/FingerprintTestSupport", swiftSettings: adapter),
        .testTarget(
            name: "FingerprintReaderTests",
            dependencies: [
                "FingerprintReader", "FingerprintTestSupport", "SystemBusTestSupport", "StoreTestSupport",
                "TerminalTestSupport", "fingerprint-asker", "ostiary-fingerprint", shared,
            ],
            swiftSettings: adapter),
        .executableTarget(
            name: "fingerprint-asker", dependencies: ["FingerprintReader", shared],
            path: "Tests/Programs/fingerprint-asker",
            swiftSettings: adapter),
        .testTarget(
            name: "EnrolledTemplatesTests",
            dependencies: [
                "EnrolledTemplates", "TemplateAnswers", "FingerprintReader", "FingerprintTestSupport",
                "StoreTestSupport", "TerminalTestSupport", "ostiary-templates", shared,
            ],
            swiftSettings: adapter),
        // Both ways to a helper, with the real programs behind them.
        .testTarget(
            name: "HelperProcessesTests",
            dependencies: [
                "HelperProcesses", "HelperTestSupport", "StoreTestSupport", "TerminalTestSupport", "test-helper",
                shared,
            ],
            swiftSettings: adapter),
        // The helpers in C, which the tests build (script/build-native), over their sockets.
        .testTarget(
            name: "NativeHelpersTests",
            dependencies: [
                "HelperProcesses", "HelperTestSupport", "ProcessFacts", "Prompting", "StoreTestSupport",
                "TerminalTestSupport", shared,
            ],
            exclude: ["Programs"], swiftSettings: adapter),
        // A socket behind which systemd's own program starts a helper for each connection.
        .target(
            name: "HelperTestSupport",
            dependencies: ["CThreadFreezer", "HelperProcesses", "StoreTestSupport", "TerminalTestSupport", shared],
            path: "Tests/HelperTestSupport", swiftSettings: adapter),
        .target(name: "CThreadFreezer", path: "Tests/CThreadFreezer"),
        // The daemon of the machine, whose service manager is the test.
        .target(
            name: "SystemDaemonTestSupport",
            dependencies: ["HelperProcesses", "HelperTestSupport", "StoreTestSupport", "TerminalTestSupport", shared],
            path: "Tests/SystemDaemonTestSupport", swiftSettings: adapter),
        // A helper with all faults.
        .executableTarget(
            name: "test-helper", dependencies: ["HelperProcesses", shared], path: "Tests/Programs/test-helper",
            swiftSettings: adapter),
        .testTarget(
            name: "PAMBiometryTests",
            dependencies: [
                "HelperProcesses", "HelperTestSupport", "PAMBiometry", "PAMProtocol", "PromptProtocol",
                "FingerprintReader", "FingerprintTestSupport",
                "SystemBusTestSupport", "PAMTestSupport", "StoreTestSupport", "TerminalTestSupport", "ostiary-pam",
                "pam-asker", shared,
            ],
            swiftSettings: adapter),
        // Security keys in software, with the real libfido2 in the real helper.
        .target(
            name: "SecurityKeyTestSupport",
            dependencies: [
                "AuthenticatorRequests", "CTAP", "StoreTestSupport", shared, cbor, crypto, cryptoExtras,
            ],
            path: "Tests/SecurityKeyTestSupport", swiftSettings: adapter),
        .testTarget(
            name: "SecurityKeysTests",
            dependencies: [
                "SecurityKeys", "SecurityKeyProtocol", "AuthenticatorRequests", "CExtendedAttributes", "CTAP",
                "CardReaders",
                "ExactNames",
                "HelperProcesses", "HelperTestSupport", "KeyDevices", "SecurityKeyTestSupport", "StoreTestSupport",
                "TerminalTestSupport", "ostiary-fido", "filter-breaker",
                shared, crypto,
            ],
            swiftSettings: adapter),
        // Security keys as factors, over a whole broker.
        .testTarget(
            name: "SecurityKeyFactorTests",
            dependencies: [
                "Broker", "Opening", "Owners", "Authenticators", "ExactNames", "HelperProcesses", "OwnerKeys",
                "ProtectedObjects", "Refusals",
                "KeySlots",
                "SecurityKeys", "AuthenticatorRequests", "Passkeys", "CTAP", "PromptProtocol", "Settings", "Vault",
                "BrokerTestSupport", "SecurityKeyTestSupport", "StoreTestSupport", "TerminalTestSupport",
                "TPMTestSupport", "ostiary-fido", "ostiary-prompt", "socket-key-daemon", shared, cbor, crypto, grdb,
            ],
            swiftSettings: adapter),
        .executableTarget(
            name: "socket-key-daemon",
            dependencies: [
                "Broker", "HelperProcesses", "OwnerKeys", "Owners", "Passcodes", "Prompting", "SecurityKeys",
                "Sessions", "Settings", logging, "ProcessFacts",
            ],
            path: "Tests/Programs/socket-key-daemon", swiftSettings: adapter),
        .executableTarget(
            name: "filter-breaker", dependencies: [shared, "SystemCallFilter"], path: "Tests/Programs/filter-breaker",
            swiftSettings: adapter),
        // PAM services of a test's own.
        .target(
            name: "PAMTestSupport", dependencies: ["StoreTestSupport", shared], path: "Tests/PAMTestSupport",
            exclude: ["Modules"], swiftSettings: adapter),
        .executableTarget(
            name: "pam-asker", dependencies: ["HelperProcesses", "PAMBiometry", shared],
            path: "Tests/Programs/pam-asker",
            swiftSettings: adapter),
        .testTarget(
            name: "PasscodesTests", dependencies: ["Passcodes", "lone-stretcher", shared], swiftSettings: adapter),
        .executableTarget(
            name: "lone-stretcher", dependencies: ["Passcodes", shared], path: "Tests/Programs/lone-stretcher",
            swiftSettings: adapter),
        .testTarget(
            name: "SettingsTests", dependencies: ["PromptProtocol", "Settings", shared], swiftSettings: adapter),
        .testTarget(
            name: "ProcessFactsTests",
            dependencies: ["ProcessFacts", "StoreTestSupport", "TerminalTestSupport", shared], swiftSettings: adapter),
        .testTarget(
            name: "IdentityFactsTests",
            dependencies: [
                "HelperProcesses", "HelperTestSupport", "IdentityFacts", "ProcessFacts", "StoreTestSupport",
                "TerminalTestSupport", "Threading", shared,
            ],
            exclude: ["Programs"], swiftSettings: adapter),
        .testTarget(
            name: "PromptingTests",
            dependencies: [
                "ExactNames", "HelperProcesses", "HelperTestSupport", "Prompting", "PromptProgram", "PromptProtocol",
                "Settings", "TerminalTestSupport", "ProcessFacts",
                "SystemBusTestSupport", "StoreTestSupport", "ostiary-prompt", "ostiary-sheet", "test-caller", shared,
                crypto,
            ],
            swiftSettings: adapter),
        // Pseudo-terminals, an X server, and the processes on them.
        .target(
            name: "TerminalTestSupport", dependencies: ["ProcessFacts", "PromptProtocol", shared],
            path: "Tests/TerminalTestSupport", swiftSettings: adapter),
        // A client of the raw protocol, a scripted person, and a broker in this process.
        .target(
            name: "BrokerTestSupport",
            dependencies: [
                "Broker", "Opening", "Owners", "Sessions", "Auditing", "Authenticators", "OwnerKeys", "Passcodes",
                "Enclave", "ProcessFacts", "PromptProtocol", "Prompting", "Settings", "Simulation", "Vault",
                "StoreTestSupport", "Callers", "Refusals", "FingerprintReader", "FingerprintTestSupport",
                "SystemBusTestSupport", "PAMTestSupport", "TPMTestSupport", "KeySlots", "TerminalTestSupport", shared,
                crypto, logging, grdb,
            ],
            path: "Tests/BrokerTestSupport", swiftSettings: adapter),
        // What every keeper of a passcode must do; each implementation's tests run it.
        .target(
            name: "PasscodeKeeperContract",
            dependencies: ["OwnerKeys", "Refusals", "Enclave", "KeySlots", "Vault", shared],
            path: "Tests/PasscodeKeeperContract", swiftSettings: adapter),
        .executableTarget(
            name: "broker-crasher", dependencies: ["Broker", "Vault", "BrokerTestSupport", "StoreTestSupport", shared],
            path: "Tests/Programs/broker-crasher", swiftSettings: adapter),
        // What one program's requests cost another one, by hand.
        .executableTarget(
            name: "load-measurement",
            dependencies: [
                "Broker", "Enclave", "ExactNames", "OwnerKeys", "Owners", "ProtectedObjects", "Vault",
                "BrokerTestSupport",
                "StoreTestSupport",
                shared,
            ],
            path: "Tests/Programs/load-measurement", swiftSettings: adapter),
        // Over a whole broker, each for the module that it is named after.
        .testTarget(name: "BrokerTests", dependencies: wholeBroker, swiftSettings: adapter),
        .testTarget(name: "OwnerKeysTests", dependencies: wholeBroker, swiftSettings: adapter),
        .testTarget(name: "AuditingTests", dependencies: wholeBroker, swiftSettings: adapter),
        .testTarget(name: "OpeningTests", dependencies: wholeBroker + ["broker-crasher"], swiftSettings: adapter),
        .testTarget(name: "OwnersTests", dependencies: wholeBroker, swiftSettings: adapter),
        .testTarget(name: "SessionsTests", dependencies: wholeBroker, swiftSettings: adapter),
        .testTarget(name: "SignInsTests", dependencies: wholeBroker + ["SignIns"], swiftSettings: adapter),
        .testTarget(name: "DiagnosisTests", dependencies: wholeBroker, swiftSettings: adapter),
        .testTarget(name: "PasskeysTests", dependencies: wholeBroker, swiftSettings: adapter),
        .testTarget(name: "BiometryTests", dependencies: wholeBroker, swiftSettings: adapter),
        // A server of HTTPS with an authority of its own, and the helper that asks it.
        .testTarget(
            name: "AssociationTests",
            dependencies: [
                "AssociationFiles", "Authenticators", "Broker", "BrokerTestSupport", "Callers", "ExactNames",
                "HelperProcesses", "HelperTestSupport", "Prompting", "Refusals", "StoreTestSupport",
                "TerminalTestSupport", "ostiary-association", shared,
            ],
            exclude: ["association-server.py"], swiftSettings: adapter),
        // The real programs, as processes, spoken to and attacked from outside.
        .testTarget(
            name: "DaemonTests",
            dependencies: [
                "ostiaryd", "ostiary-prompt", "ostiary-sheet", "ostiary-pam", "ostiary-simulator",
                "ostiary-fingerprint", "ostiary-templates", "test-caller", "ProcessFacts", "Prompting",
                "FingerprintReader",
                "StoreTestSupport", "FingerprintTestSupport", "SystemBusTestSupport", "DeviceTestSupport",
                "PAMTestSupport", "SystemDaemonTestSupport", "TerminalTestSupport", "TPMTestSupport", "Broker",
                "Opening", "Owners", "BrokerTestSupport",
                "OwnerKeys", "KeySlots", "Passcodes", "ExactNames", "Vault", "CImpostor", cbor, shared,
                simulatorMessages, socketTestSupport, grdb,
            ],
            swiftSettings: adapter),
        .executableTarget(
            name: "test-caller", dependencies: ["CImpostor", shared], path: "Tests/Programs/test-caller",
            swiftSettings: adapter),
        .target(name: "CImpostor", path: "Tests/CImpostor"),
    ]
)
