import CommandFailures
import Foundation
import Glibc
import OstiaryClient
import SecretMemory
import Testing
import UnixSocket

@testable import ostiary

/// What `ostiary run` takes, asks and hands over, without a daemon.
@Suite("Secrets of a command", .timeLimit(.minutes(10)))
struct RunCommandTests {
    private static let id = "00112233445566778899aabbccddeeff"

    // MARK: names and items

    @Test func `a secret has a variable and an item`() throws {
        let secret = try #require(SecretAssignment(argument: "TOKEN_2=bot@ci"))
        #expect(secret.name == "TOKEN_2")
        #expect(secret.item.selection.attributes == ["svce": .text("ci"), "acct": .text("bot")])
        #expect(SecretAssignment(argument: "_=ci")?.item.selection.attributes == ["svce": .text("ci")])
    }

    @Test(
        arguments: [
            "", "TOKEN", "=ci", "TOKEN=", "2A=ci", "A-B=ci", "A B=ci", "Ä=ci", "A\u{301}=ci", "A\n=ci", "../A=ci",
            "A=x@", "A=@x",
            String(repeating: "A", count: 129) + "=ci", "A=" + String(repeating: "x", count: 1025),
        ]) func `what no shell could use or what names nothing is refused`(text: String)
    {
        #expect(SecretAssignment(argument: text) == nil)
    }

    @Test func `an item is an id, a service, an account of one, or attributes`() throws {
        let id = try #require(ItemReference(Self.id)).selection
        #expect(id.id == Data((0..<16).map { UInt8($0 * 0x11) }) && id.itemClass.isEmpty && id.attributes.isEmpty)
        #expect(
            ItemReference("me@example.com@mail")?.selection.attributes == [
                "svce": .text("mail"), "acct": .text("me@example.com"),
            ])
        #expect(ItemReference(Self.id.uppercased())?.selection.attributes == ["svce": .text(Self.id.uppercased())])
        let internet = try #require(ItemReference("server=example.com,account=me")).selection
        #expect(
            internet.itemClass == "inet" && internet.attributes == ["srvr": .text("example.com"), "acct": .text("me")])
        let grouped = try #require(ItemReference("service=a=b,group=ostiary.doors")).selection
        #expect(
            grouped.itemClass == "genp" && grouped.attributes == ["svce": .text("a=b"), "agrp": .text("ostiary.doors")])
    }

    @Test(
        arguments: [
            "service=", "=x", "service=a,", "service=a,,account=b", "service=a,service=b", "unknown=a", "group=g",
            "service=a,server=b", "Service=a", "service=a, account=b",
        ]) func `attributes that do not go together name no item`(text: String)
    {
        #expect(ItemReference(text) == nil)
    }

    // MARK: the command line

    private func usage(_ arguments: String...) throws -> String {
        let run = try CommandRun(["run"] + arguments, in: CommandFolder())
        #expect(run.status == 2)
        return run.errors
    }

    @Test func `a command line that makes no sense is refused before anything is asked`() throws {
        #expect(try usage("--secret", "A=ci").contains("Name a command behind --."))
        #expect(try usage("--", "true").contains("Say which secrets"))
        #expect(
            try usage("--secret", "A=ci", "--file", "A=ci", "--", "true").contains("Two secrets have the same name."))
        let many = (0...16).flatMap { ["--secret", "A\($0)=ci"] }
        let run = try CommandRun(["run"] + many + ["--", "true"], in: CommandFolder())
        #expect(run.status == 2 && run.errors.contains("at most 16 secrets"))
        #expect(try usage("--secret", "secret", "--", "true").contains("secret"))
    }

    @Test func `a program that is not there is said before anybody is asked`() throws {
        let run = try CommandRun(["run", "--secret", "A=ci", "--", "no-such-program"], in: CommandFolder())
        #expect(run.status == 1 && run.errors.contains("The command cannot be started"))
    }

    @Test func `without a daemon nothing is started`() throws {
        let folder = try CommandFolder()
        let run = try CommandRun(
            ["run", "--json", "--environment", "A=ci", "--", "touch", folder.path("started")], in: folder)
        #expect(run.status == 1 && run.errors.contains("daemonUnavailable"))
        #expect(try !folder.names.contains("started"))
    }

    // MARK: the question

    @Test func `the question names the program by its whole path, what it is given, and the variables`() {
        #expect(
            RunReason.text(path: "/usr/bin/deploy", arguments: ["--to", "prod"], names: ["TOKEN", "KEY"])
                == "run /usr/bin/deploy --to prod with TOKEN, KEY")
        let folder = FileManager.default.currentDirectoryPath
        #expect(RunReason.text(path: "./deploy", arguments: [], names: ["A"]) == "run \(folder)/./deploy with A")
    }

    @Test func `long commands are cut off, so that the question stays within its limit`() {
        let text = RunReason.text(
            path: "/" + String(repeating: "é\u{301}", count: 2000), arguments: ["tail"],
            names: (0..<16).map { "N\($0)" + String(repeating: "X", count: 120) })
        #expect(text.utf8.count < 900 && text.contains("… with N0") && text.hasSuffix("…") && !text.contains("tail"))
    }

    // MARK: pipes

    private func secret(_ bytes: [UInt8]) throws -> RequestedSecret {
        let secret = RequestedSecret(try #require(SecretAssignment(argument: "A=ci")), .descriptor)
        try secret.set(SecretBytes(Data(bytes)))
        return secret
    }

    private func isForgotten(_ secret: RequestedSecret) -> Bool { secret.value.count == 0 }

    /// What can be read now, without waiting.
    private func read(_ path: String, limit: Int = 1 << 20) throws -> [UInt8] {
        let file = try Descriptor(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), from: "open", subject: path)
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = Glibc.read(file.number, &bytes, limit)
        return Array(bytes.prefix(max(0, count)))
    }

    private func path(_ pipe: SecretPipe) -> String { "/proc/self/fd/\(pipe.number)" }

    @Test func `a pipe gives each byte once`() throws {
        let secret = try secret(Array("value".utf8))
        let pipe = try SecretPipe(secret)
        #expect(pipe.number >= 20 && pipe.path == "/dev/fd/\(pipe.number)")
        #expect(isForgotten(secret), "what is in the pipe is in memory no more")
        #expect(try read(path(pipe)) == Array("value".utf8))
        #expect(try read(path(pipe)).isEmpty)
    }

    @Test func `what nobody has read is taken back at the end`() throws {
        let pipe = try SecretPipe(try secret(Array("value".utf8)))
        #expect(try read(path(pipe), limit: 2) == Array("va".utf8))
        pipe.end()
        #expect(try read(path(pipe)).isEmpty)
    }

    @Test
    func `a secret that is larger than a pipe is served as it is read, and its rest is never written after the end`()
        throws
    {
        let whole = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        let pipe = try SecretPipe(try secret(whole))
        var got = try read(path(pipe))
        #expect(!got.isEmpty && got.count < whole.count && pipe.waiting != nil)
        while pipe.waiting != nil {
            pipe.fill()
            let more = try read(path(pipe))
            try #require(!more.isEmpty)
            got += more
        }
        #expect(got == whole)

        let abandoned = try secret(whole)
        let second = try SecretPipe(abandoned)
        #expect(try read(path(second), limit: 10) == Array(whole.prefix(10)))
        second.end()
        second.fill()
        #expect(try read(path(second)).isEmpty)
        #expect(isForgotten(abandoned))
    }

    @Test func `a pipe into which a child has opened a writing end is taken back without waiting for it`() throws {
        let pipe = try SecretPipe(try secret(Array("value".utf8)))
        let writer = try Descriptor(open(path(pipe), O_WRONLY | O_CLOEXEC), from: "open", subject: path(pipe))
        pipe.end()
        var byte: UInt8 = 0
        #expect(write(writer.number, &byte, 1) == 1)
        #expect(try read(path(pipe)) == [0])
    }

    @Test func `a zero byte is refused for the environment alone`() throws {
        let assignment = try #require(SecretAssignment(argument: "A=ci"))
        let bytes = SecretBytes(Data([1, 0, 2]))
        #expect(throws: CommandError.unfitForEnvironment(name: "A")) {
            try RequestedSecret(assignment, .environment).set(bytes)
        }
        try RequestedSecret(assignment, .descriptor).set(bytes)
        try RequestedSecret(assignment, .file).set(bytes)
    }

    // MARK: files

    @Test func `files of a mount are empty after they are wiped`() throws {
        let folder = try CommandFolder()
        let path = try folder.file("secret", Data("value".utf8))
        let reader = Descriptor(owning: open(path, O_RDONLY | O_CLOEXEC))
        var files = MountedSecrets()
        files.add(Descriptor(owning: open(path, O_RDWR | O_CLOEXEC)))
        files.wipe()
        var status = stat()
        #expect(fstat(reader.number, &status) == 0 && status.st_size == 0)
    }

    @Test func `errors name the variable and never the item`() {
        for error in [CommandError.noItem(name: "TOKEN"), .ambiguousItem(name: "TOKEN")] {
            #expect("\(error)".contains("TOKEN") && "\(error)".contains("not started"))
        }
        #expect(
            CommandError.noItem(name: "A").code == -185
                && CommandError.noItem(name: "A").failureClass.name == "notFound")
    }
}
