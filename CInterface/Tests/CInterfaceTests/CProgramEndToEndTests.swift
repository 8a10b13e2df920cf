import CryptoKit
import DaemonTestSupport
import Foundation
import Glibc
import OstiaryTesting
import Security
import Testing

/// A program in C, compiled against the header and linked with the library as its author would, on a real daemon.
@Suite("The C interface, end to end", .serialized)
struct CProgramEndToEndTests {
    private static let passcode = PrivateDaemon.passcode
    private let daemon: PrivateDaemon
    private let program: URL

    init() throws {
        program = try Self.compiled.get()
        daemon = try PrivateDaemon(.withPasscode)
    }

    /// The program, compiled once for all tests.
    private static let compiled = Result { try compile() }

    /// Compiles the program, and lays the library and the Swift runtime out beside it as `script/install` does.
    private static func compile() throws -> URL {
        let folder = BuiltProgram.folder.appendingPathComponent("keychain-in-c")
        if FileManager.default.fileExists(atPath: folder.path) { try FileManager.default.removeItem(at: folder) }
        let libraries = folder.appendingPathComponent("lib")
        try FileManager.default.createDirectory(at: libraries, withIntermediateDirectories: true)
        let library = BuiltProgram.named("libostiary-security.so")
        let places = try [
            "libostiary-security.so": library, "libostiary-security.so.0": library, "ostiary": swiftRuntime(),
        ]
        for (name, destination) in places {
            try FileManager.default.createSymbolicLink(
                at: libraries.appendingPathComponent(name), withDestinationURL: destination)
        }
        let program = folder.appendingPathComponent("keychain-in-c")
        let sources = package.appendingPathComponent("Tests/Programs/keychain-in-c")
        let files = try FileManager.default.contentsOfDirectory(at: sources, includingPropertiesForKeys: nil)
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compiler.arguments =
            [
                "clang", "-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror",
                "-I", package.path + "/Sources/COstiarySecurity/include",
            ] + files.filter { $0.pathExtension == "c" }.map(\.path).sorted() + [
                "-L", libraries.path, "-lostiary-security", "-Wl,-rpath," + libraries.path, "-o", program.path,
            ]
        try compiler.run()
        compiler.waitUntilExit()
        try #require(compiler.terminationStatus == 0)
        return program
    }

    /// The folder of this package.
    private static let package = URL(fileURLWithPath: #filePath).appendingPathComponent("../../..").standardizedFileURL

    /// The folder of the Swift runtime that this process runs with.
    private static func swiftRuntime() throws -> URL {
        // Not `String(contentsOfFile:)`, which stops at the first short read.
        let maps = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/maps"))
        let files = String(decoding: try maps.readToEnd() ?? Data(), as: UTF8.self).split(separator: "\n")
        let core = try #require(files.first { $0.hasSuffix("/libswiftCore.so") })
        let path = core[try #require(core.firstIndex(of: "/"))...]
        return URL(fileURLWithPath: String(path)).deletingLastPathComponent()
    }

    /// The scenario's lines of the form `name: outcome`, without what the prompts drew.
    private func run(_ scenario: String, _ arguments: String..., answers: [String] = []) throws -> [String] {
        let run = try PlayedTerminal(program, [scenario] + arguments, answers: answers, in: daemon)
        #expect(run.status == 0, "\(run.screen)")
        return run.screen.split(whereSeparator: \.isNewline).map(String.init).filter {
            $0.range(of: #"^[a-z][a-z ]*: "#, options: .regularExpression) != nil
        }
    }

    @Test func `a protected item is stored, read by its owner, refused to others, changed and deleted`() throws {
        try daemon.unlock()
        #expect(try run("store") == ["add: 0", "add again: -25299"])
        #expect(try run("read", answers: [Self.passcode]) == ["read: 0", "secret: a secret from C"])
        #expect(try run("read", answers: ["wrong 1", "wrong 2", "wrong 3"]) == ["read: -25293", "result: nothing"])
        #expect(
            try run("change", answers: [Self.passcode]) == [
                "update: 0", "delete: 0", "delete again: -25300", "find deleted: -25300",
            ])
    }

    @Test func `what a call returns is lent by its container`() throws {
        try daemon.unlock()
        #expect(try run("store") == ["add: 0", "add again: -25299"])
        #expect(
            try run("list", answers: [Self.passcode]) == [
                "add other: 0", "list: 0", "account: owner", "date: ok", "account: other", "type: 7", "date: ok",
            ])
    }

    @Test(.enabled(if: getuid() == 0, "only root can mount without namespaces of its own"))
    func `in system mode the library asks the system's daemon alone`() throws {
        try daemon.unlock()
        func store(systemDaemonIn folder: String?) throws -> UnattendedRun {
            let machine = try ConfiguredMachine(
                clientConfiguration: "mode = system\n", systemDaemonIn: folder, beside: daemon)
            return try machine.run(program, ["store"])
        }
        // The environment leads to a daemon that runs and is open.
        let refused = try store(systemDaemonIn: nil)
        #expect(refused.output == "add: \(errSecNotAvailable)\nadd again: \(errSecNotAvailable)\n")
        let served = try store(systemDaemonIn: daemon.runtimeDirectory)
        #expect(served.output == "add: 0\nadd again: -25299\n")
    }

    @Test func `a forked child has a connection of its own`() throws {
        try daemon.unlock()
        #expect(
            try run("forked") == ["child adds: 0", "child ended well: yes", "parent finds: 0", "parent signs: yes"])
    }

    @Test func `keys are made, sign and verify`() throws {
        #expect(
            try run("keys") == [
                "public key: 65", "verify: 1", "verify other: 0", "error: NSOSStatusErrorDomain -67808",
                "sign with public key: NSOSStatusErrorDomain -50",
            ])
    }

    @Test func `attributes say what a key is, and a key is equal to what is read from its bytes`() throws {
        #expect(
            try run("attributes") == [
                "size: 384", "class: 1", "class of the public half: 0", "signs: yes", "public half signs: no",
                "one label: yes", "block size: 48", "read back: yes", "equals its public half: no",
            ])
    }

    /// The digits are: signs, verifies, encrypts, decrypts, exchanges.
    @Test func `a key says what it supports`() throws {
        #expect(
            try run("support") == [
                "signatures: 10000", "signatures of the public half: 01000", "encryption: 00010",
                "encryption of the public half: 00100", "exchange: 00001", "exchange of the public half: 00000",
                "algorithm of another type: 00000", "unknown algorithm: 00000", "no algorithm: 00000", "no key: 00000",
                "no key but text: 00000", "other operations: no",
            ])
    }

    private static let encryption =
        ["decrypted: known to two"]
        + refusals(
            "tampered", "empty", "for another key", "under another algorithm", "decrypt with the public half",
            "encrypt with the private half", "unknown algorithm")

    private static let exchange =
        [
            "raw: 32", "raw is one: yes", "derived: 40", "derived is one: yes", "with another shared info: no",
        ]
        + refusals(
            "without a size", "size of no bytes", "negative size", "size in words", "fraction", "too large a size",
            "no number", "info in words", "peer of another type", "peer of another curve", "with the public half",
            "algorithm of signatures")

    private static func refusals(_ names: String...) -> [String] { names.map { $0 + ": NSOSStatusErrorDomain -50" } }

    @Test func `keys on a curve and RSA keys encrypt and decrypt, and nothing else is decrypted`() throws {
        #expect(try run("encryption") == Self.encryption + Self.encryption)
    }

    @Test func `both sides of a key exchange have one result`() throws {
        #expect(try run("exchange") == Self.exchange)
    }

    @Test func `an enclave key decrypts and exchanges keys as one in the process does`() throws {
        try daemon.unlock()
        #expect(
            try run("enclave") == [
                "in the enclave: yes", "protected: yes", "leaves: no", "block size: 32",
                "export: NSOSStatusErrorDomain -4", "signatures: 10000", "encryption: 00010",
                "encryption with another type: 00000", "exchange: 00001",
            ] + Self.encryption + Self.exchange + [
                "delete: 0", "sign with what is deleted: NSOSStatusErrorDomain -25300",
            ])
    }

    @Test func `an enclave key under the passcode decrypts for its owner alone`() throws {
        #expect(try run("protected key", answers: [Self.passcode]) == ["decrypted: known to two"])
        #expect(
            try run("protected key", answers: ["wrong 1", "wrong 2", "wrong 3"]) == [
                "decrypt: com.apple.LocalAuthentication -1"
            ])
    }

    /// The program in C is another one, with an access group of its own, and has the handle.
    @Test func `another program can neither open nor delete a key whose handle it has`() throws {
        try daemon.unlock()
        OstiaryTesting.useDaemon(runtimeDirectory: daemon.runtimeDirectory, stateDirectory: daemon.stateDirectory)
        defer { OstiaryTesting.useOwnDaemon() }
        let key = try SecureEnclave.P256.Signing.PrivateKey()
        #expect(
            try run("foreign key", hexadecimal(key.dataRepresentation)) == [
                "open: NSOSStatusErrorDomain -25300", "delete: -25300",
            ])
        _ = try key.signature(for: Data("message".utf8))
    }

    @Test func `the older calls sign and encrypt, and refuse lengths that no buffer has`() throws {
        func outcomes(encrypt: Int, same: String) -> [String] {
            [
                "generate: 0", "too little room: -25301", "sign: 0", "fits: yes", "verify: 0", "tampered: -67808",
                "short digest: -50", "unknown padding: -50", "encrypt: \(encrypt)", "decrypt: \(encrypt)",
                "same: \(same)",
            ]
                + [
                    "endless input", "endless signature", "endless plaintext", "endless ciphertext", "sign nothing",
                    "sign nowhere", "sign without room", "sign with text", "verify nothing", "verify with nothing",
                    "encrypt with nothing", "decrypt with nothing",
                ].map { $0 + ": -50" }
        }
        #expect(
            try run("older calls")
                == outcomes(encrypt: 0, same: "yes") + outcomes(encrypt: -50, same: "no") + [
                    "generate of nothing: -50", "something was made: no", "generate of text: -50",
                ])
    }

    @Test func `the calls of keys refuse NULL and handles of a wrong kind in the place of each argument`() throws {
        #expect(
            try run("key refusals") == Self.refusals(
                "encrypt with nothing", "encrypt with text", "encrypt by nothing", "encrypt by a dictionary",
                "encrypt nothing", "encrypt text", "decrypt with nothing", "decrypt with text", "decrypt by nothing",
                "decrypt nothing", "decrypt text", "exchange with nothing", "exchange with text", "exchange by nothing",
                "exchange for nothing", "exchange for text", "without parameters", "text as parameters",
                "parameters without end") + ["without an error: no", "of nothing: no"])
    }

    @Test func `what the calls of keys make is freed`() throws {
        try daemon.unlock()
        #expect(try run("leaks") == ["leaks: none", "leaks with the enclave: none"])
    }

    @Test func `an error lends its domain and tells what happened`() throws {
        #expect(
            try run("errors") == [
                "is an error: yes", "domain is lent: yes", "description is told: yes", "and for developers: yes",
                "reason: no", "description: An argument is NULL or an object of a wrong kind.",
                "own domain: NSPOSIXErrorDomain", "own code: 2", "own description: It did not work.",
                "own reason: It was off.", "own advice: Turn it on.", "cause: yes", "own: NSPOSIXErrorDomain 2",
                "description of a number: yes", "reason of a number: no", "advice of a number: no",
                "odd: NSCocoaErrorDomain 7", "odder: NSCocoaErrorDomain 8", "refused: yes",
                "error: NSOSStatusErrorDomain -50",
            ])
    }

    @Test func `objects are compared by content, and loops of them have an end`() throws {
        #expect(
            try run("objects") == [
                "date: 86400.5", "order of dates: -1 1 0 -1", "between them: 99.5 0.0", "array: 3",
                "date in it: yes", "null in it: yes", "texts are equal: yes",
                "arrays are equal: yes", "text equals array: no", "text equals another: no",
                "unlike dictionaries are equal: no", "dictionaries are equal: yes", "loops are equal: no",
                "a loop equals itself: yes", "a loop is described: no", "description: text", "kind: CFString",
                "no kind: no", "order: 0 1 -1 0 0", "copied: yes", "copied from nowhere: no", "refused: yes",
            ])
    }

    @Test func `containers are made of arrays or filled, and a literal is one object`() throws {
        #expect(
            try run("containers") == [
                "one object for a literal: yes", "a literal is its text: yes", "each spelling is its own: yes",
                "no text: no", "entries: 2", "first of equal keys: value", "stays: yes", "empty: 0",
                "the first value stays: yes", "arrays are equal: yes", "lends: yes",
                "a loop of arrays is described: no", "refused: yes", "harmless: 1 3",
            ])
    }

    @Test func `a helper for logins, written for macOS, stores, overwrites and erases`() throws {
        try daemon.unlock()
        #expect(
            try run("logins") == [
                "get: -25300", "store: 0", "get: 0", "account: me", "password: first", "store: 0", "get: 0",
                "account: me", "password: second", "erase another: 0", "get: 0", "account: me", "password: second",
                "erase: 0", "get: -25300",
            ])
    }

    @Test func `copies can be changed, and the dictionary hands out all it has`() throws {
        #expect(
            try run("copies") == [
                "filled: yes", "cut: yes", "of its own: yes", "entries: 2", "each once: yes", "present: yes",
                "absent: no", "no pointer: yes", "refused: yes", "now: yes",
            ])
    }

    @Test func `a certificate is trusted below the anchor that names it, and by nobody else`() throws {
        let parameters: [CFString: Any] = [
            kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
        ]
        let key = try #require(SecKeyCreateRandomKey(parameters as CFDictionary, nil))
        let certificate = try CertificateMaker(in: daemon.folder).certificate("of C", for: key, serial: 67)
        #expect(
            try run("trust", hexadecimal(SecCertificateCopyData(certificate) as Data)) == [
                "make: 0", "trusted: no", "why: NSOSStatusErrorDomain -67843", "result: 5", "anchor: 0", "result: 0",
                "trusted: yes", "result: 4", "chain: 1", "lends: yes", "key: yes", "policy: 0", "trusted: no",
                "why: NSOSStatusErrorDomain -67602", "properties: door.example.org", "nothing: -50",
                "of text: NSOSStatusErrorDomain -50", "refused: yes",
            ])
    }

    @Test func `a certificate and its key are read, joined, stored and found`() throws {
        try daemon.unlock()
        let parameters: [CFString: Any] = [
            kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
        ]
        let key = try #require(SecKeyCreateRandomKey(parameters as CFDictionary, nil))
        let certificate = try CertificateMaker(in: daemon.folder).certificate(
            "of C/emailAddress=c@example.org", for: key, serial: 66)
        let bytes = try #require(SecKeyCopyExternalRepresentation(key, nil)) as Data
        #expect(
            try run("certificates", hexadecimal(SecCertificateCopyData(certificate) as Data), hexadecimal(bytes)) == [
                "is a certificate: yes", "same bytes: yes", "summary: of C", "name: 0", "common name: of C",
                "serial number: 42", "addresses: 0", "addresses in it: 1", "first address: c@example.org",
                "issuer is subject: yes", "certified key: yes", "is an identity: yes", "certificate: 0", "key: 0",
                "same parts: yes", "add: 0", "find: 0", "found it: yes", "name of nothing: -50", "name: no",
                "name nowhere: -50", "addresses of nothing: -50", "addresses nowhere: -50",
                "certificate of a key: -50", "key of a certificate: -50", "key nowhere: -50",
                "parts: no", "serial number of a key: NSOSStatusErrorDomain -50", "made of anything: no",
            ])
    }

    private func hexadecimal(_ bytes: Data) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    @Test func `a task has neither entitlements nor a signature`() throws {
        #expect(
            try run("task") == [
                "is a task: yes", "entitlement: nothing", "entitlements: no", "identifier: nothing", "signed: 0",
            ]
                + Self.refusals(
                    "entitlements of truth", "entitlements of nothing", "entitlement of nothing",
                    "entitlement of no task",
                    "identifier of no task") + ["signed of no task: 0"])
    }

    @Test func `NULL and handles of a wrong kind are refused and trap nowhere`() throws {
        #expect(
            try run("refusals") == [
                "add nothing: -50", "result: nothing", "find nothing: -50", "update nothing: -50",
                "delete nothing: -50",
                "find by text: -50", "delete by text: -50", "find what is not there: -25300",
                "update without changes: -50", "find a loop: -50", "make a key of nothing: NSOSStatusErrorDomain -50",
                "sign with text: NSOSStatusErrorDomain -50", "verify with text: 0", "error: NSOSStatusErrorDomain -50",
                "export nothing: NSOSStatusErrorDomain -50", "protect with nothing: NSOSStatusErrorDomain -50",
                "protect with text: NSOSStatusErrorDomain -50", "random nowhere: -50", "harmless: 1", "count: 3",
            ])
    }

    @Test func `an item under the passcode is stored and read as in Objective-C`() throws {
        try daemon.unlock()
        #expect(
            try run("objective", answers: [Self.passcode]) == [
                "add: 0", "find under another account: -25300", "find: 0", "password: test password",
            ])
        #expect(
            try run("objective", answers: ["wrong 1", "wrong 2", "wrong 3"]) == [
                "add: -25299", "find under another account: -25300", "find: -25293",
            ])
    }

    @Test func `case 110: a status has words, and randomness is random whatever generator is named`() throws {
        #expect(
            try run("words") == [
                "message: ok", "random: 0", "filled: 1", "random of a bogus generator: 0", "filled by it: 1",
            ])
    }

    /// The header repeats names, texts and numbers of the module, which C cannot read.
    @Test(arguments: [
        (
            "Constants", #"public var (kSec\w+): CFString \{ "(.*)" \}"#, "constants",
            #"X\((kSec(?!KeyAlgorithm|KeyKeyExchange)\w+), "(.*)"\)"#
        ),
        ("SecBase.swift", #"public let (errSec\w+): OSStatus = (-?\d+)"#, "status", #"(errSec\w+) = (-?\d+),"#),
        (
            "Keys/SecKeyAlgorithm.swift", #"()SecKeyAlgorithm\("(.*)"\)"#, "constants",
            #"X\((?:kSecKeyAlgorithm\w+)(), "(.*)"\)"#
        ),
    ])
    func `the header has every constant of the module`(
        source: String, declaration: String, header: String, entry: String
    ) throws {
        let module = security.appendingPathComponent(source)
        var files = [module]
        if module.pathExtension.isEmpty {
            files = try FileManager.default.contentsOfDirectory(at: module, includingPropertiesForKeys: nil)
        }
        let declared = try files.flatMap { try matches(in: $0, declaration) }
        let listed = try matches(
            in: sources.appendingPathComponent("COstiarySecurity/include/ostiary-security-\(header).h"), entry)
        #expect(declared.count > 80)
        #expect(Set(declared) == Set(listed))
    }

    /// Objects that C has no use for, calls that take a queue and a block, which C has not, and texts that grow.
    private static let withoutC: Set = [
        "CFAllocatorGetTypeID", "CFSetGetTypeID", "CFURLGetTypeID", "SecTrustEvaluateAsync",
        "SecTrustEvaluateAsyncWithError", "CFStringCreateMutableCopy",
    ]

    @Test func `the header declares every function of the module, and the library has it`() throws {
        let module = try declarations(below: security, #"public func ((?:Sec|CF)\w+)\("#)
        let library = try declarations(
            below: sources.appendingPathComponent("OstiarySecurityC"), #"@c\((?:ostiary_)?((?:Sec|CF)\w+)\)"#)
        let header = try declarations(
            below: sources.appendingPathComponent("COstiarySecurity/include"),
            #"\b((?:Sec|CF)\w+)\([^()]*\)(?:;|\s+OSTIARY_SYMBOL)"#)
        #expect(module.count > 60)
        #expect(module.subtracting(Self.withoutC).subtracting(header).isEmpty)
        #expect(header == library)
    }

    private func declarations(below folder: URL, _ pattern: String) throws -> Set<String> {
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        return Set(
            try files.compactMap { $0 as? URL }.filter { ["swift", "h"].contains($0.pathExtension) }.flatMap {
                try matches(in: $0, pattern, groups: 1).map { $0[0] }
            })
    }

    private let sources = package.appendingPathComponent("Sources")
    /// The sources of the module.
    private let security = package.appendingPathComponent("../Sources/Frameworks/Security").standardizedFileURL

    /// What the groups of the pattern hold, for each place where it matches.
    private func matches(in file: URL, _ pattern: String, groups: Int = 2) throws -> [[String]] {
        let text = try String(contentsOf: file, encoding: .utf8)
        return try NSRegularExpression(pattern: pattern).matches(in: text, range: NSRange(text.startIndex..., in: text))
            .map {
                match in (1...groups).map { String(text[Range(match.range(at: $0), in: text)!]) }
            }
    }
}
