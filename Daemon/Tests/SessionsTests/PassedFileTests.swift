import CLinuxShims
import ExactNames
import Foundation
import Glibc
import OstiaryMessages
import OstiaryWire
import Owners
import ProcessFacts
import Refusals
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket
import Vault

@testable import Broker
@testable import BrokerTestSupport
@testable import Callers
@testable import Sessions

/// A program passes its own file to a daemon that may not open it.
@Suite("Files that programs pass", .timeLimit(.minutes(10)))
struct PassedFileTests {
    private static let own = "/proc/self/exe"

    /// A daemon that may look at no file of this process, if it is the machine's.
    private static func fixture(ofMachine: Bool = true) throws -> BrokerFixture {
        let path = try FileManager.default.destinationOfSymbolicLink(atPath: own)
        let file = try #require(ExecutedFile(at: own))
        let exit = SharedDescriptor(try Descriptor(ostiary_open_process(getpid()), from: "pidfd_open"))
        var facts = PlayedFacts()
        facts.areOfCallersAccount = !ofMachine
        facts.processes[getpid()] = .success(
            PlayedProcess(getpid()) {
                $0.executable = .success(file)
                $0.name = .success(ExecutedName(path: path, isTrue: true))
                $0.exit = .success(exit)
            })
        let fixture = try BrokerFixture(facts: facts)
        try fixture.account.applications.store(
            Registration(
                applicationID: "com.example.tool", groups: [], path: ExactName(path),
                identity: .content(ContentDigests().digest(of: path))))
        return fixture
    }

    private static func opened(_ path: String) throws -> Descriptor {
        try Descriptor(open(path, O_RDONLY | O_CLOEXEC), from: "open", subject: path)
    }

    /// The answer to a greeting with these descriptors, and to a look at the status after it.
    private static func answers(
        of fixture: BrokerFixture, _ descriptors: [CInt], version: UInt32 = 9
    ) throws -> (hello: WireReply.OneOf_Body?, status: WireStatus?) {
        let socket = try UnixSocket.connect(to: fixture.socketPath)
        try socket.setReceiveTimeout(seconds: 60)
        var reader = FrameReader(socket: socket)
        let greeting = try reader.next(WireGreeting.self).message
        let hello = WireHello.with { ($0.protocolVersion, $0.nonce) = (version, greeting.nonce) }
        try FrameWriter.send(
            WireRequest.with { ($0.id, $0.body) = (1, .hello(hello)) }, descriptors: descriptors, in: version,
            on: socket)
        reader.read(in: version)
        guard let answer = try? reader.next(WireReply.self).message else { return (nil, nil) }
        guard case .done? = answer.body else { return (answer.body, nil) }
        try FrameWriter.send(WireRequest.with { ($0.id, $0.body) = (2, .status(.init())) }, in: version, on: socket)
        guard case .status(let status)? = try reader.next(WireReply.self).message.body else {
            throw TestClient.UnexpectedAnswer()
        }
        return (answer.body, status)
    }

    private static func code(_ body: WireReply.OneOf_Body?) -> UInt32? {
        guard case .failure(let failure)? = body else { return nil }
        return failure.code
    }

    @Test func `a registered program that passes its file is known by its content`() throws {
        let fixture = try Self.fixture()
        let file = try Self.opened(Self.own)
        #expect(try Self.answers(of: fixture, [file.number]).status?.caller.applicationID == "com.example.tool")
    }

    @Test func `without its file it is not taken for the registered program, and is refused`() throws {
        let fixture = try Self.fixture()
        #expect(try Self.answers(of: fixture, []).status?.caller.applicationID == "")
        let refused = try #require(throws: Refused.self) {
            try fixture.client().call(.findRight(.with { $0.identifier = "mine" }))
        }
        #expect(refused.code == .programUnverified && refused.cause == "program.unreadable")
    }

    @Test func `another file than the executed one ends the connection`() throws {
        let fixture = try Self.fixture()
        let file = try Self.opened("/usr/bin/true")
        let answer = try Self.answers(of: fixture, [file.number]).hello
        #expect(Self.code(answer) == UInt32(WireFailureCode.callerChanged.rawValue))
    }

    @Test func `more than one file, or what is no file, ends the connection`() throws {
        let fixture = try Self.fixture()
        let file = try Self.opened(Self.own)
        #expect(try Self.answers(of: fixture, [file.number, file.number]).hello == nil)
        let folder = try Self.opened("/")
        #expect(try Self.answers(of: fixture, [folder.number]).hello == nil)
    }

    @Test(arguments: [7, 8] as [UInt32]) func `no file goes with a greeting of an older version`(version: UInt32) throws
    {
        let fixture = try Self.fixture()
        let file = try Self.opened(Self.own)
        let answer = try Self.answers(of: fixture, [file.number], version: version).hello
        #expect(Self.code(answer) == UInt32(WireFailureCode.malformed.rawValue))
        #expect(try Self.answers(of: fixture, [], version: version).status != nil)
    }

    /// It could open the file itself, and takes it all the same: a program does not know whose daemon listens at the machine's socket.
    @Test func `a user's daemon takes the executed file, and no other`() throws {
        let fixture = try Self.fixture(ofMachine: false)
        let own = try Self.opened(Self.own)
        let other = try Self.opened("/usr/bin/true")
        #expect(try Self.answers(of: fixture, [own.number]).status?.caller.applicationID == "com.example.tool")
        let answer = try Self.answers(of: fixture, [other.number]).hello
        #expect(Self.code(answer) == UInt32(WireFailureCode.callerChanged.rawValue))
    }

    // MARK: reading

    private static func offered(_ path: String, isExecuted: Bool = true) throws -> OfferedProgram {
        OfferedProgram(SharedDescriptor(try opened(path)), isExecuted: isExecuted)
    }

    @Test func `its digest is that of the file, wherever the common place of the descriptor is`() throws {
        let digests = ContentDigests()
        let program = try Self.offered(Self.own)
        lseek(program.file.number, 100, SEEK_SET)
        for _ in 0..<2 { #expect(try digests.digest(of: program) == digests.digest(of: Self.own)) }
    }

    @Test func `a file that changes has another digest`() throws {
        let folder = try TestFolder()
        let path = folder.path("tool")
        try Data("one".utf8).write(to: URL(fileURLWithPath: path))
        let (digests, program) = (ContentDigests(), try Self.offered(path, isExecuted: false))
        let first = try digests.digest(of: program)
        let writer = try #require(FileHandle(forWritingAtPath: path))
        try writer.write(contentsOf: Data("two".utf8))
        try writer.close()
        #expect(try digests.digest(of: program) != first)
    }

    /// The server of such a file system may never answer.
    @Test func `a file of a file system that the kernel does not serve from memory or a disk is not read`() throws {
        let program = try Self.offered("/proc/self/status")
        #expect(throws: ProgramFileError.foreignFileSystem) { try ContentDigests().digest(of: program) }
        #expect(ProgramStanding(.foreignFileSystem).refusal(of: "/x")?.cause == "program.file-system")
    }

    @Test func `a descriptor that nothing can be read through is unreadable`() throws {
        let handle = SharedDescriptor(try Descriptor(ostiary_open_handle(AT_FDCWD, Self.own), from: "open"))
        let program = OfferedProgram(handle, isExecuted: true)
        #expect(throws: ProgramFileError.self) { try ContentDigests().digest(of: program) }
    }

    @Test(
        arguments: [
            ("6.11.0-9-generic", true), ("6.12.1", true), ("6.12-rc3", true), ("6.1.0-30-amd64\n", false),
            ("6.10.3", false),
            ("6.13.0", false), ("5.11.22", false), ("7.12.0", false), ("", true), ("nonsense", true), ("6", true),
        ])
    func `a kernel that lets programs write to an executed file is known by its version`(release: String, lets: Bool) {
        #expect(OfferedProgram.letsExecutedFilesChange(release: release) == lets)
    }

    // MARK: registering

    @Test(.enabled(if: geteuid() != 0, "no folder is hidden from root"))
    func `a program in a folder that the daemon may not enter is registered through its file`() throws {
        let folder = try TestFolder()
        let path = folder.path("tool")
        try Data("\u{7F}ELF a program".utf8).write(to: URL(fileURLWithPath: path))
        #expect(chmod(path, 0o755) == 0)
        let digest = try ContentDigests().digest(of: path)
        let program = try Self.offered(path, isExecuted: false)
        #expect(chmod(folder.path, 0) == 0)
        defer { _ = chmod(folder.path, 0o700) }
        #expect(try ProgramFile(path: path, offered: program).identity(ContentDigests()) == .content(digest))
        #expect(throws: (any Error).self) { try ProgramFile(path: folder.path("other"), offered: program) }
        #expect(throws: (any Error).self) { try ProgramFile(path: path) }
    }
}
