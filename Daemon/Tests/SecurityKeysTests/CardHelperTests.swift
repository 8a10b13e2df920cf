import AuthenticatorRequests
import Foundation
import Glibc
import SecretMemory
import SecurityKeyProtocol
import SecurityKeyTestSupport
import Synchronization
import TerminalTestSupport
import Testing
import UnixSocket

@testable import SecurityKeys

/// `ostiary-fido` with a card that breaks the rules of ISO/IEC 7816-4 and CTAP. The test is the card; no reader is needed.
@Suite(.timeLimit(.minutes(10))) struct CardHelperTests {
    /// The answer of the card to a command; nil gives none.
    typealias Card = @Sendable (_ command: [UInt8]) -> [UInt8]?

    private final class Helper: Sendable {
        let process: SpawnedProcess
        private let channel: SharedDescriptor
        private let card: SharedDescriptor
        private let log = Log()

        /// The commands that the card got.
        var commands: [[UInt8]] { log.commands.withLock { $0 } }

        private final class Log: Sendable { let commands = Mutex<[[UInt8]]>([]) }

        init(_ answer: @escaping Card) throws {
            let type = CInt(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue)
            var (messages, cards): ([CInt], [CInt]) = ([-1, -1], [-1, -1])
            try #require(socketpair(AF_UNIX, type, 0, &messages) == 0)
            try #require(socketpair(AF_UNIX, type, 0, &cards) == 0)
            channel = SharedDescriptor(Descriptor(owning: messages[0]))
            card = SharedDescriptor(Descriptor(owning: cards[0]))
            process = try SpawnedProcess(
                Build.program("ostiary-fido"), descriptors: [-1, -1, -1, messages[1], -1, cards[1]])
            close(messages[1])
            close(cards[1])
            Thread.detachNewThread { [card, log] in
                var command = [UInt8](repeating: 0, count: 512)
                while true {
                    let count = read(card.number, &command, command.count)
                    guard count > 0 else { return }
                    let received = Array(command.prefix(count))
                    log.commands.withLock { $0.append(received) }
                    guard let answer = answer(received) else { continue }
                    guard !answer.isEmpty else {
                        shutdown(card.number, CInt(SHUT_RDWR))
                        return
                    }
                    _ = send(card.number, answer, answer.count, CInt(MSG_NOSIGNAL))
                }
            }
        }

        func ask(_ request: KeyRequest) -> KeyReport? {
            guard SecurityKeyFrame(request.bytes).send(on: channel.number),
                let frame = SecurityKeyFrame.receive(on: channel.number)
            else { return nil }
            return KeyReport(decoding: frame.message)
        }
    }

    private static let version = Array("FIDO_2_0".utf8) + [0x90, 0x00]
    /// authenticatorGetInfo: a version and a model.
    private static let info: [UInt8] =
        [0x00, 0xA2, 0x01, 0x81, 0x68] + Array("FIDO_2_0".utf8) + [0x03, 0x50] + [UInt8](repeating: 7, count: 16)

    private static func failure(_ report: KeyReport?) throws -> KeyFailure {
        guard case .failed(let failure)? = report else { throw Unexpected(report: report) }
        return failure
    }

    struct Unexpected: Error { let report: KeyReport? }

    @Test func `it filters its system calls`() throws {
        let helper = try Helper { $0[1] == 0xA4 ? Self.version : Self.info + [0x90, 0x00] }
        guard case .description(let description)? = helper.ask(.describe) else { throw Unexpected(report: nil) }
        #expect(description.isFIDO2)
        #expect(description.aaguid == [UInt8](repeating: 7, count: 16))
        let status = try String(contentsOfFile: "/proc/\(helper.process.processID)/status", encoding: .utf8)
        #expect(status.contains("Seccomp:\t2"))
    }

    @Test(.enabled(if: geteuid() == 0, "only root sees the descriptors of a process that cannot be dumped"))
    func `it has no descriptors but its own`() throws {
        let helper = try Helper { $0[1] == 0xA4 ? Self.version : Self.info + [0x90, 0x00] }
        guard case .description? = helper.ask(.describe) else { throw Unexpected(report: nil) }
        let descriptors = try FileManager.default.contentsOfDirectory(
            atPath: "/proc/\(helper.process.processID)/fd")
        #expect(descriptors.sorted() == ["0", "1", "2", "3", "4", "5"])
    }

    @Test func `the first command selects the applet, and no command is longer than a short one`() throws {
        let helper = try Helper { $0[1] == 0xA4 ? Self.version : Self.info + [0x90, 0x00] }
        _ = helper.ask(.describe)
        let commands = helper.commands
        #expect(
            commands.first == [0x00, 0xA4, 0x04, 0x00, 8, 0xA0, 0x00, 0x00, 0x06, 0x47, 0x2F, 0x00, 0x01, 0x00])
        #expect(commands.dropFirst().first == [0x80, 0x10, 0x80, 0x00, 1, 0x04, 0x00])
    }

    @Test(
        arguments: [
            [0x6A, 0x82], [0x90], [0x90, 0x00], Array("FIDO_2_1".utf8) + [0x90, 0x00], Array("FIDO_2_0".utf8),
            Array("FIDO_2_0X".utf8) + [0x90, 0x00], Array("FIDO_2_0".utf8) + [0x91, 0x00],
            [UInt8](repeating: 0x41, count: 257) + [0x90, 0x00], [UInt8](repeating: 0x41, count: 4000),
        ] as [[UInt8]])
    func `a card that does not say that it speaks CTAP is asked nothing more`(_ answer: [UInt8]) throws {
        let helper = try Helper { _ in answer }
        let failure = try Self.failure(helper.ask(.describe))
        #expect(!failure.isGone)
        #expect(CredentialRefusal(failure) == .malformedAnswer)
        #expect(helper.commands.count == 1)
    }

    @Test func `an answer whose rest never comes ends`() throws {
        let helper = try Helper { $0[1] == 0xA4 ? Self.version : $0[1] == 0xC0 ? [0x61, 0x10] : [0x00, 0x61, 0x10] }
        let failure = try Self.failure(helper.ask(.describe))
        #expect(!failure.isGone)
        #expect(helper.commands.count { $0[1] == 0xC0 } == 1)
    }

    @Test func `an answer without an end is cut off`() throws {
        let helper = try Helper {
            $0[1] == 0xA4 ? Self.version : [UInt8](repeating: 0, count: 256) + [0x61, 0x00]
        }
        let failure = try Self.failure(helper.ask(.describe))
        #expect(!failure.isGone)
        #expect(helper.commands.count { $0[1] == 0xC0 } == 16)
    }

    @Test func `a card that takes a piece of a command and refuses the next gets no more`() throws {
        let helper = try Helper { command in
            switch (command[0], command[1]) {
            case (_, 0xA4): Self.version
            case (0x90, _): [0x67, 0x00]
            default: Self.info + [0x90, 0x00]
            }
        }
        guard case .description? = helper.ask(.describe) else { throw Unexpected(report: nil) }
        var request = KeyAssertion(clientDataHash: [UInt8](repeating: 1, count: 32), relyingParty: "example.com")
        request.allowed = [.init([UInt8](repeating: 2, count: 600), salts: [])]
        let failure = try Self.failure(helper.ask(.assert(request)))
        #expect(!failure.isGone)
        #expect(helper.commands.count { $0[0] == 0x90 } == 1)
        // Its state is unknown from then on.
        #expect(throws: Never.self) { try Self.failure(helper.ask(.describe)) }
        #expect(helper.commands.last?[0] == 0x90)
    }

    @Test func `a card that is taken away is told as gone`() throws {
        let helper = try Helper { $0[1] == 0xA4 ? Self.version : [] }
        #expect(try Self.failure(helper.ask(.describe)).isGone)
    }

    @Test func `a card that asks for time is asked again, and its time is not the answer`() throws {
        let count = Mutex(0)
        let helper = try Helper { command in
            guard command[1] != 0xA4 else { return Self.version }
            let number = count.withLock { count in
                count += 1
                return count
            }
            return number % 3 == 0 ? Self.info + [0x90, 0x00] : [0x01, 0x91, 0x00]
        }
        guard case .description? = helper.ask(.describe) else { throw Unexpected(report: nil) }
        #expect(helper.commands.contains([0x80, 0x11, 0x00, 0x00, 0x00]))
    }
}
