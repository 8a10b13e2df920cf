import BrokerTestSupport
import CanonicalEncoding
import SecretMemory
import Testing

@testable import Authenticators
@testable import SignIns

/// The bytes of `Documentation/formats/sign-in.md`.
struct SignInMessageTests {
    private func parsed(_ bytes: [UInt8]) throws(CanonicalEncodingError) -> ModuleMessage {
        var buffer = SecretBytes(zeroed: max(bytes.count, 1))
        buffer.withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
        return try ModuleMessage(buffer, count: bytes.count)
    }

    @Test func `the example of the document is read`() throws {
        let bytes: [UInt8] = [
            0x4F, 0x50, 0x01, 0x10, 0x00, 0x05, 0x61, 0x6C, 0x69, 0x63, 0x65, 0x00, 0x04, 0x73, 0x75, 0x64, 0x6F, 0x00,
            0x00, 0x00, 0x0A, 0x2F, 0x64, 0x65, 0x76, 0x2F, 0x70, 0x74, 0x73, 0x2F, 0x32, 0x06,
        ]
        guard case .authenticate(let query) = try parsed(bytes) else {
            Issue.record("another message")
            return
        }
        #expect(query.user == "alice" && query.service.name == "sudo")
        #expect(!query.isRemote && !query.isSilent && query.hasTerminal && query.mayAsk)
        guard case .typed(let secret) = try parsed([0x4F, 0x50, 0x01, 0x11, 0x00, 0x03, 0x61, 0x62, 0x63]) else {
            Issue.record("another message")
            return
        }
        let isRead = secret.bytes.isEqual(to: SecretBytes(text: "abc"))
        #expect(isRead)
    }

    @Test func `the daemon's messages have the bytes of the document`() {
        #expect(
            SignInAnswer.ask("Passcode: ").bytes
                == [0x4F, 0x50, 0x01, 0x04, 0x00, 0x0A, 0x50, 0x61, 0x73, 0x73, 0x63, 0x6F, 0x64, 0x65, 0x3A, 0x20])
        #expect(SignInAnswer.unavailable(.nothingToProve).bytes == [0x4F, 0x50, 0x01, 0x08, 0x02])
        #expect(SignInAnswer.done(.wrong).bytes == [0x4F, 0x50, 0x01, 0x09, 0x02])
        let plain: [(SignInAnswer, UInt8)] = [(.hello, 1), (.wait, 2), (.ok, 6), (.no, 7)]
        for (answer, kind) in plain { #expect(answer.bytes == [0x4F, 0x50, 0x01, kind]) }
    }

    @Test func `shown texts have no control characters and fit into a message`() {
        #expect(SignInAnswer.info("a\u{1B}[2J\u{7F}\nb\u{0}").bytes == Message.shown(0x03, "a[2Jb"))
        #expect(SignInAnswer.error(String(repeating: "ä", count: 3000)).bytes.count <= SignInLimits.messageByteCount)
    }

    @Test func `no part of a message is a message`() {
        let whole = [
            Message.query(flags: 7), Message.typed("abc"), Message.cancelled, Message.open(with: "abc"),
            Message.change(from: "a", to: "b"), Message.reset(),
        ]
        for message in whole {
            #expect(throws: Never.self) { _ = try parsed(message) }
            for count in 0..<message.count {
                #expect(throws: CanonicalEncodingError.truncated) { _ = try parsed(Array(message[..<count])) }
            }
            #expect(throws: CanonicalEncodingError.trailingBytes) { _ = try parsed(message + [0]) }
        }
    }

    @Test(
        arguments: [
            [0x4F, 0x50, 0x02, 0x12], [0x4F, 0x51, 0x01, 0x12], [0x4F, 0x50, 0x01, 0x13], [0x4F, 0x50, 0x01, 0x01],
            Message.query(flags: 8), Message.query(""), Message.typed(""), Message.typed("a\u{0}b"), Message.reset(""),
            Message.open(with: ""), Message.change(from: "", to: "b"), Message.query("a\u{0}da"),
            Message.query(service: "s\u{0}"), [0x4F, 0x50, 0x01, 0x31, 0x00, 0x01, 0xFF],
        ] as [[UInt8]])
    func `strange bytes are no message`(bytes: [UInt8]) {
        #expect(throws: CanonicalEncodingError.self) { _ = try parsed(bytes) }
    }

    @Test func `a message has 2048 bytes at most`() throws {
        let longest = Message.typed(String(repeating: "x", count: SignInLimits.messageByteCount - 6))
        #expect(longest.count == SignInLimits.messageByteCount)
        _ = try parsed(longest)
        #expect(throws: CanonicalEncodingError.trailingBytes) {
            _ = try parsed(Message.typed(String(repeating: "x", count: SignInLimits.messageByteCount - 5)))
        }
    }

    @Test func `a service whose name is none of a file is recorded without one`() {
        for name in ["sudo", "gdm-password", "systemd-user", "su-l", "x.y_Z9"] {
            #expect(SignInService(name).name == name)
        }
        for name in ["", "sudo. Type it twice", "s\u{202E}odus", "a/b", String(repeating: "a", count: 65)] {
            #expect(SignInService(name).name == "an unnamed service")
        }
    }
}
