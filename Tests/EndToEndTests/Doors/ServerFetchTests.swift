import Foundation
import Glibc
import IndependentTools
import Testing

/// `script/fetch-sshd`, which says why tests of logins are skipped. Debian's programs are played.
@Suite(
    "Getting an OpenSSH server", .timeLimit(.minutes(10)),
    .enabled(
        if: !FileManager.default.isExecutableFile(atPath: "/usr/sbin/sshd"),
        "This machine has a server of its own, which the script takes."))
final class ServerFetchTests {
    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../script/fetch-sshd")
    /// A checkout with nothing but the script, in a folder with a blank.
    private let root: URL

    init() throws {
        root = FileManager.default.temporaryDirectory.appendingPathComponent("ostiary fetch \(UUID().uuidString)")
        for name in ["script", "bin"] {
            try FileManager.default.createDirectory(
                at: root.appendingPathComponent(name), withIntermediateDirectories: true)
        }
        try FileManager.default.copyItem(at: Self.script, to: root.appendingPathComponent("script/fetch-sshd"))
    }

    deinit { try? FileManager.default.removeItem(at: root) }

    private func play(_ program: String, _ script: String) throws {
        let path = root.appendingPathComponent("bin/\(program)")
        try Data("#!/bin/sh\n\(script)\n".utf8).write(to: path)
        try #require(chmod(path.path, 0o755) == 0)
    }

    private func fetch() throws -> IndependentTool.Outcome {
        try IndependentTool.run(
            "env", ["PATH=\(root.path)/bin:/usr/bin:/bin", root.appendingPathComponent("script/fetch-sshd").path])
    }

    private func text(_ name: String) -> String? {
        try? String(contentsOf: root.appendingPathComponent(".build/doors/\(name)"), encoding: .utf8)
    }

    /// Has a package unpacked whose server needs these libraries.
    private func playPackage(libraries: String) throws {
        try play("apt-get", "touch openssh-server_1.deb")
        try play("dpkg", "mkdir -p usr/sbin; echo program > usr/sbin/sshd; chmod +x usr/sbin/sshd")
        try play("ldd", "printf '\(libraries)'")
    }

    @Test func `a package that cannot be had is the reason that tests show`() throws {
        try play("apt-get", "echo 'E: no such package' >&2; exit 100")
        let run = try fetch()
        #expect(run.status == 77 && run.output.isEmpty && run.diagnostics.contains("E: no such package"))
        #expect(text("sshd-missing") == "Debian's openssh-server cannot be had: E: no such package\n")
    }

    @Test func `a server that cannot run is none, the next time neither`() throws {
        try playPackage(libraries: #"\tlibwrap.so.0 => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x1)\n"#)
        for _ in 1...2 {
            let run = try fetch()
            #expect(run.status == 77 && run.output.isEmpty, "\(run.diagnostics)")
            #expect(text("sshd-missing")?.contains("libwrap.so.0") == true)
            #expect(text("sshd/usr/sbin/sshd") == nil)
        }
    }

    @Test func `a server that is had leaves no reason`() throws {
        try play("apt-get", "exit 100")
        #expect(try fetch().status == 77)
        try playPackage(libraries: #"\tlibc.so.6 => /lib/libc.so.6 (0x1)\n"#)
        for _ in 1...2 {
            let run = try fetch()
            #expect(run.status == 0, "\(run.diagnostics)")
            #expect(String(decoding: run.output, as: UTF8.self).hasSuffix("/.build/doors/sshd/usr/sbin/sshd\n"))
            #expect(text("sshd-missing") == nil)
        }
    }
}
