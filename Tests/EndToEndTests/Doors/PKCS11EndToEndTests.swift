import DaemonTestSupport
import Foundation
import Glibc
import IndependentTools
import Testing
import UnixSocket

/// A daemon, the registered doors, and the module as a package would build it: it starts the door itself.
private final class TokenStage {
    static let passcode = PrivateDaemon.passcode
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../Native/ostiary-pkcs11")
    private static let headers = "/usr/include/p11-kit-1/p11-kit/pkcs11.h"

    /// Whether the module can be built and used here.
    static let isPossible = ["/usr/bin/cc", headers, "/usr/bin/pkcs11-tool", "/usr/bin/openssl", "/usr/bin/ssh-keygen"]
        .allSatisfy { FileManager.default.fileExists(atPath: $0) }

    let daemon: PrivateDaemon
    var module: String { daemon.path("libostiary-pkcs11.so") }
    var socket: String { daemon.runtimeDirectory + "/pkcs11.sock" }

    init() throws {
        daemon = try PrivateDaemon(.withPasscode)
        let built = try UnattendedRun(
            URL(fileURLWithPath: "/bin/bash"),
            [
                Self.folder.appendingPathComponent("build").path, daemon.folder.path,
                "-DOSTIARY_PKCS11D=\"\(BuiltProgram.named("ostiary-pkcs11d").path)\"",
                "-DOSTIARY_USER_UNIT=\"/nonexistent\"",
            ], in: daemon)
        guard built.status == 0 else { throw TestSupportError("Native/ostiary-pkcs11/build: \(built.output)") }
        let registered = try ostiary("doors", "register", answers: [Self.passcode])
        guard registered.status == 0 else { throw TestSupportError("doors register: \(registered.screen)") }
    }

    deinit { endDoor() }

    /// The process of the door, which its socket names; nil where none serves.
    var door: pid_t? { (try? UnixSocket.connect(to: socket).peerCredentials())?.processID }

    func endDoor() {
        guard let door else { return }
        kill(door, SIGKILL)
        for _ in 0..<1_000 where kill(door, 0) == 0 { usleep(5_000) }
    }

    func ostiary(_ arguments: String..., answers: [String] = []) throws -> PlayedTerminal {
        try play([BuiltProgram.named("ostiary").path] + arguments, answers: answers)
    }

    /// Runs a program on a terminal, where the question comes.
    func play(_ command: [String], answers: [String] = []) throws -> PlayedTerminal {
        try PlayedTerminal(
            URL(fileURLWithPath: "/usr/bin/env"), ["LC_ALL=C.UTF-8", "HOME=\(daemon.folder.path)"] + command,
            answers: answers, in: daemon, timeout: 120)
    }

    /// Runs a program where nobody can be asked.
    func runAlone(_ command: [String]) throws -> UnattendedRun {
        try UnattendedRun(
            URL(fileURLWithPath: "/usr/bin/env"), ["LC_ALL=C.UTF-8", "HOME=\(daemon.folder.path)"] + command, in: daemon
        )
    }

    func tool(_ arguments: String..., answers: [String] = []) throws -> PlayedTerminal {
        try play(["/usr/bin/pkcs11-tool", "--module", module] + arguments, answers: answers)
    }

    /// What the token has, for a program that nobody watches.
    func objects(_ type: String) throws -> String {
        let listed = try runAlone(["/usr/bin/pkcs11-tool", "--module", module, "--list-objects", "--type", type])
        guard listed.status == 0 else { throw TestSupportError("pkcs11-tool: \(listed.output)") }
        return listed.output
    }

    /// CKA_ID of the object with this label.
    func id(of label: String, _ type: String = "privkey") throws -> String {
        let parts = try objects(type).components(separatedBy: "Object;").dropFirst()
        let part = parts.first { $0.contains("label:      \(label)\n") } ?? ""
        let line = part.split(separator: "\n").first { $0.contains("ID:") } ?? ""
        return String(line.drop { $0 != ":" }.dropFirst()).trimmingCharacters(in: .whitespaces)
    }

    /// Writes a key's public half as the module shows it, for openssl.
    func writePublicKey(_ id: String, _ file: String) throws {
        let read = try runAlone([
            "/usr/bin/pkcs11-tool", "--module", module, "--read-object", "--type", "pubkey", "--id", id,
            "--output-file",
            daemon.path("key.der"),
        ])
        guard read.status == 0 else { throw TestSupportError("pkcs11-tool: \(read.output)") }
        _ = try openssl("pkey", "-pubin", "-inform", "DER", "-in", "key.der", "-out", file)
    }

    @discardableResult
    func openssl(_ arguments: String...) throws -> String {
        let run = try runAlone(["/usr/bin/openssl"] + arguments)
        guard run.status == 0 else { throw TestSupportError("openssl \(arguments): \(run.output)") }
        return run.output
    }

    func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: daemon.path(name)))
    }
}

/// A program with many connections of the module that need nothing: the door has greeted them, and nothing more.
private final class IdleProgram {
    /// How many were greeted.
    let greetedCount: Int
    private let process = Process()

    /// Its arguments: socket, number of connections, file for the answer.
    private static let script = """
        import os, socket, sys, time
        def greet():
            made = socket.socket(socket.AF_UNIX)
            made.settimeout(60)
            made.connect(sys.argv[1])
            made.sendall(bytes.fromhex("0000000A01000000004F50313101"))
            return made, made.recv(10, socket.MSG_WAITALL)
        held = [greet() for _ in range(int(sys.argv[2]))]
        with open(sys.argv[3] + ".new", "w") as file:
            file.write(str(sum(answer == bytes.fromhex("00000006810000000001") for _, answer in held)))
        os.rename(sys.argv[3] + ".new", sys.argv[3])
        time.sleep(600)
        """

    init(_ python: String, _ socket: String, count: Int, in daemon: PrivateDaemon) throws {
        let file = daemon.path("greeted-\(UUID().uuidString)")
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        // A copy at another path looks for its modules where they are.
        process.arguments = ["PYTHONHOME=/usr", python, "-c", Self.script, socket, "\(count)", file]
        process.standardInput = FileHandle.nullDevice
        try process.run()
        while !FileManager.default.fileExists(atPath: file), process.isRunning { usleep(10_000) }
        greetedCount = Int(try String(contentsOfFile: file, encoding: .utf8)) ?? -1
    }

    deinit {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}

/// Programs of others that load the module, against the real door and daemon.
@Suite(
    "Programs with PKCS #11, end to end", .serialized, .timeLimit(.minutes(15)),
    .enabled(if: TokenStage.isPossible, "needs libp11-kit-dev, a C compiler, opensc and openssl"))
struct PKCS11EndToEndTests {
    private static let passcode = PrivateDaemon.passcode
    private let stage: TokenStage

    init() throws { stage = try TokenStage() }

    private func makeKey(_ kind: String, _ name: String, _ options: String...) throws {
        let made = try stage.play(
            [
                BuiltProgram.named("ostiary").path, kind, "create", name, "--group", "ostiary.doors", "--require",
                "passcode",
            ]
                + options)
        #expect(made.status == 0, "\(made.screen)")
    }

    private func questionCount(_ run: PlayedTerminal) -> Int {
        run.screen.components(separatedBy: "asscode: ").count - 1
    }

    /// Signs a message, and has OpenSSL verify it.
    private func signAndVerify(_ label: String, answers: [String] = [passcode]) throws -> PlayedTerminal {
        let id = try stage.id(of: label)
        try stage.write("message", "a message for \(label)\n")
        let run = try stage.tool(
            "--sign", "--mechanism", "ECDSA-SHA256", "--id", id, "--input-file", "message", "--output-file",
            "signature",
            "--signature-format", "openssl", answers: answers)
        guard run.status == 0 else { return run }
        try stage.writePublicKey(id, "public.pem")
        #expect(
            try stage.openssl("dgst", "-sha256", "-verify", "public.pem", "-signature", "signature", "message")
                .contains("Verified OK"))
        return run
    }

    @Test(arguments: ["right", "key"])
    func `a key of the group signs after a question that names the program and shows the message`(kind: String) throws {
        try makeKey(kind, "tls", "--confirm-each")
        let run = try signAndVerify("tls")
        #expect(run.status == 0 && questionCount(run) == 1, "\(run.screen)")
        for text in ["/usr/bin/pkcs11-tool", "ostiary-pkcs11d", "tls", "a message for tls"] {
            #expect(run.shows(text), "\(text): \(run.screen)")
        }
        // Another process is another question, and so is each signature.
        #expect(try questionCount(signAndVerify("tls")) == 1)
    }

    @Test func `a key without confirmation asks once, and agrees on secrets`() throws {
        try makeKey("right", "work")
        let run = try signAndVerify("work")
        #expect(run.status == 0 && questionCount(run) == 1, "\(run.screen)")
        let id = try stage.id(of: "work")
        try stage.openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "other.pem")
        try stage.openssl("pkey", "-in", "other.pem", "-pubout", "-outform", "DER", "-out", "other.der")
        let derived = try stage.tool(
            "--derive", "--mechanism", "ECDH1-DERIVE", "--id", id, "--input-file", "other.der", "--output-file",
            "shared",
            answers: [Self.passcode])
        #expect(derived.status == 0, "\(derived.screen)")
        try stage.writePublicKey(id, "public.pem")
        try stage.openssl("pkeyutl", "-derive", "-inkey", "other.pem", "-peerkey", "public.pem", "-out", "expected")
        let secrets = try ["shared", "expected"].map {
            try Data(contentsOf: URL(fileURLWithPath: stage.daemon.path($0)))
        }
        #expect(secrets[0] == secrets[1] && secrets[0].count == 32)
    }

    @Test func `a cancelled question is one question, and signs nothing`() throws {
        try makeKey("right", "tls", "--confirm-each")
        // pkcs11-tool begins a second operation of its own after any failure of C_Sign.
        let run = try signAndVerify("tls", answers: ["\u{3}"])
        #expect(run.status != 0 && questionCount(run) == 1, "\(run.screen)")
        #expect(run.shows("C_SignFinal failed") && run.shows("0x200"), "\(run.screen)")
        // Whoever runs the program again is asked again.
        let again = try signAndVerify("tls")
        #expect(again.status == 0 && questionCount(again) == 1, "\(again.screen)")
        // Without a terminal nobody can be asked.
        let id = try stage.id(of: "tls")
        let alone = try stage.runAlone([
            "/usr/bin/pkcs11-tool", "--module", stage.module, "--sign", "--mechanism", "ECDSA-SHA256", "--id", id,
            "--input-file", "message", "--output-file", "signature",
        ])
        #expect(alone.status != 0 && alone.output.contains("0x200"), "\(alone.output)")
    }

    @Test func `a key for SSH alone is not there, and ssh-keygen lists the others without a question`() throws {
        let made = try stage.ostiary("ssh", "create", "login", "--require", "passcode")
        #expect(made.status == 0, "\(made.screen)")
        try makeKey("right", "tls")
        #expect(!(try stage.objects("privkey")).contains("login"))
        let listed = try stage.runAlone(["/usr/bin/ssh-keygen", "-D", stage.module])
        let keys = listed.output.split(separator: "\n").filter { $0.hasPrefix("ecdsa-sha2-nistp256 ") }
        #expect(listed.status == 0 && keys.count == 1, "\(listed.output)")
    }

    @Test func `ssh-keygen certifies with a key behind the module`() throws {
        try makeKey("right", "authority")
        let listed = try stage.runAlone(["/usr/bin/ssh-keygen", "-D", stage.module])
        let key = try #require(listed.output.split(separator: "\n").first { $0.hasPrefix("ecdsa-sha2-nistp256 ") })
        try stage.write("authority.pub", key + "\n")
        let user = try stage.runAlone([
            "/usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", stage.daemon.path("user"),
        ])
        #expect(user.status == 0, "\(user.output)")
        let signed = try stage.play(
            ["/usr/bin/ssh-keygen", "-D", stage.module, "-s", "authority.pub", "-I", "me", "user.pub"],
            answers: [Self.passcode])
        #expect(signed.status == 0 && signed.shows("/usr/bin/ssh-keygen"), "\(signed.screen)")
        #expect(try stage.runAlone(["/usr/bin/ssh-keygen", "-L", "-f", "user-cert.pub"]).output.contains("Signing CA"))
    }

    @Test func `an imported RSA key signs and decrypts, and only if it was imported without limits`() throws {
        for name in ["free", "limited"] {
            let made = try stage.runAlone([
                "/usr/bin/ssh-keygen", "-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", stage.daemon.path(name),
            ])
            #expect(made.status == 0, "\(made.output)")
            let imported = try stage.play(
                [
                    BuiltProgram.named("ostiary").path, "ssh", "import", stage.daemon.path(name), "--name", name,
                    "--require", "passcode",
                ] + (name == "free" ? ["--permit-unknown"] : []), answers: [Self.passcode])
            #expect(imported.status == 0, "\(imported.screen)")
        }
        let listed = try stage.objects("privkey")
        #expect(listed.contains("free") && !listed.contains("limited"), "\(listed)")
        let id = try stage.id(of: "free")
        try stage.write("message", "a message\n")
        let run = try stage.tool(
            "--sign", "--mechanism", "SHA256-RSA-PKCS", "--id", id, "--input-file", "message", "--output-file",
            "signature",
            answers: [Self.passcode])
        #expect(run.status == 0 && run.shows("with the imported key SHA256:"), "\(run.screen)")
        try stage.writePublicKey(id, "public.pem")
        try stage.openssl("dgst", "-sha256", "-verify", "public.pem", "-signature", "signature", "message")
        try stage.openssl("pkeyutl", "-encrypt", "-pubin", "-inkey", "public.pem", "-in", "message", "-out", "sealed")
        let opened = try stage.tool(
            "--decrypt", "--mechanism", "RSA-PKCS", "--id", id, "--input-file", "sealed", "--output-file", "opened",
            answers: [Self.passcode])
        #expect(opened.status == 0, "\(opened.screen)")
        #expect(try String(contentsOfFile: stage.daemon.path("opened"), encoding: .utf8) == "a message\n")
    }

    private func addCertificate(_ label: String, _ file: String) throws -> PlayedTerminal {
        try stage.ostiary(
            "item", "add", "--class", "certificate", "--label", label, "--group", "ostiary.doors", "--unguarded",
            "--available", "always", "--secret", stage.daemon.path(file), answers: [Self.passcode])
    }

    @Test func `certificates of the group are there, with the id of their key`() throws {
        try makeKey("right", "tls")
        let id = try stage.id(of: "tls")
        try stage.writePublicKey(id, "public.pem")
        try stage.openssl(
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca")
        // Of one authority: issuer and serial number tell them apart.
        for (name, serial) in [("mine", "2"), ("other", "3")] {
            try stage.openssl(
                "x509", "-new", "-subj", "/CN=\(name)", "-force_pubkey", "public.pem", "-CA", "ca.pem", "-CAkey",
                "ca.key",
                "-set_serial", serial, "-outform", "DER", "-out", "\(name).der")
            let added = try addCertificate(name, "\(name).der")
            #expect(added.status == 0, "\(added.screen)")
        }
        let again = try addCertificate("again", "mine.der")
        #expect(again.status != 0 && again.shows("exists already"), "\(again.screen)")
        let pem = try addCertificate("pem", "ca.pem")
        #expect(pem.status != 0 && pem.shows("no certificate in DER"), "\(pem.screen)")
        #expect(try ["mine", "other"].map { try stage.id(of: $0, "cert") } == [id, id])
        let read = try stage.runAlone([
            "/usr/bin/pkcs11-tool", "--module", stage.module, "--read-object", "--type", "cert", "--label", "mine",
            "--output-file",
            stage.daemon.path("read.der"),
        ])
        #expect(read.status == 0, "\(read.output)")
        let both = try ["mine.der", "read.der"].map {
            try Data(contentsOf: URL(fileURLWithPath: stage.daemon.path($0)))
        }
        #expect(both[0] == both[1])
    }

    @Test func `connections that need nothing keep no program out, however many of two programs there are`() throws {
        try makeKey("right", "tls")
        #expect(try stage.objects("privkey").contains("tls"))
        let python = URL(fileURLWithPath: "/usr/bin/python3").resolvingSymlinksInPath().path
        let copy = stage.daemon.path("another-program")
        try FileManager.default.copyItem(atPath: python, toPath: copy)
        // The daemon has places for 32 clients of one program, and for 64 of one door.
        let idle = try [python, copy].map { try IdleProgram($0, stage.socket, count: 40, in: stage.daemon) }
        #expect(idle.map(\.greetedCount) == [40, 40])
        let run = try signAndVerify("tls")
        #expect(run.status == 0 && questionCount(run) == 1, "\(run.screen)")
        withExtendedLifetime(idle) {}
    }

    @Test func `a killed door is started again by the next program`() throws {
        try makeKey("right", "tls")
        #expect(try stage.objects("privkey").contains("tls"))
        let first = try #require(stage.door)
        stage.endDoor()
        #expect(try stage.objects("privkey").contains("tls"))
        let second = try #require(stage.door)
        #expect(first != second)
    }

    @Test func `a door that nobody registered shows nothing and asks nobody`() throws {
        try makeKey("right", "tls")
        let removed = try stage.ostiary(
            "app", "remove", "org.ostiary.pkcs11", answers: [Self.passcode])
        #expect(removed.status == 0, "\(removed.screen)")
        let listed = try stage.runAlone([
            "/usr/bin/pkcs11-tool", "--module", stage.module, "--list-objects", "--type", "privkey",
        ])
        #expect(!listed.output.contains("tls") && listed.output.contains("CKR_DEVICE_ERROR"), "\(listed.output)")
    }
}
