import Cancellations
import FingerprintReader
import FingerprintTestSupport
import Glibc
import PAMProtocol
import PAMTestSupport
import PromptProtocol
import StoreTestSupport
import SystemBusTestSupport
import TerminalTestSupport
import Testing

@testable import PAMBiometry

/// A biometric module that is in use: pam_fprintd, with the real fprintd and a reader that libfprint plays. A camera cannot be
/// played, so this stands for Howdy's module.
@Suite(.timeLimit(.minutes(10))) struct FingerprintModuleTests {
    let stack: FingerprintStack
    let services: PAMServices

    init() throws {
        stack = try FingerprintStack()
        services = try PAMServices()
        try services.write("auth required pam_fprintd.so max-tries=1 timeout=10\n")
        try stack.enroll(.rightIndex, skin: "owner")
    }

    /// One attempt; `play` is called when the module waits for a finger the first time.
    func recognize(until stop: PollableCancellation? = nil, _ play: () throws -> Void) throws -> (
        Result<PAMRecognition, PAMFailure>, [String]
    ) {
        var texts: [String] = []
        let result = try services.recognize(bus: stack.bus.path, until: stop) { text in
            texts.append((text.isError ? "! " : "") + text.text.string)
            guard texts.count == 1 else { return }
            try eventually("the reader is armed") { try stack.isArmed() }
            try play()
        }
        return (result, texts)
    }

    @Test func `the enrolled finger is recognised`() throws {
        let (result, texts) = try recognize { try stack.play(.touch("owner")) }
        #expect(result == .success(.recognized))
        #expect(texts == ["Swipe your right index finger across the fingerprint reader"])
        try stack.claimOnce()
    }

    @Test func `another finger is not`() throws {
        let (result, texts) = try recognize { try stack.play(.touch("stranger")) }
        #expect(result == .success(.notRecognized))
        #expect(texts.last == "! Failed to match fingerprint")
        try stack.waitUntilFree()
        #expect(try recognize { try stack.play(.touch("owner")) }.0 == .success(.recognized))
    }

    @Test func `a bad touch is a text and no try`() throws {
        let (result, texts) = try recognize {
            try stack.play(.badTouch(0))
            try stack.play(.badTouch(2))
            try stack.play(.touch("owner"))
        }
        #expect(result == .success(.recognized))
        #expect(texts.count == 3)
    }

    @Test func `a reader that is unplugged decides nothing`() throws {
        let (result, _) = try recognize { try stack.play(.unplug) }
        #expect(result == .failure(.unavailable))
        #expect(try services.recognize(bus: stack.bus.path) == .failure(.unavailable))
    }

    @Test func `without fprintd nothing is decided`() throws {
        try stack.killService()
        #expect(try services.recognize(bus: stack.bus.path) == .failure(.unavailable))
    }

    @Test func `an attempt that is cancelled disarms the reader, and another program can have it`() throws {
        let stop = try PollableCancellation()
        let (result, _) = try recognize(until: stop) { stop.cancel() }
        #expect(result == .failure(.stopped))
        try stack.waitUntilFree()
        #expect(try !stack.isArmed())
        #expect(try recognize { try stack.play(.touch("owner")) }.0 == .success(.recognized))
    }

    @Test(.enabled(if: getuid() == 0, "only root can be another user"))
    func `a user without a finger is recognised by none`() throws {
        // The helper's word goes past the daemon's part here, which runs as the user of this test.
        let request = PAMRequest(service: "face", folder: services.folder.path, user: nil, trustedUserID: 0)
        let helper = try HelperProcess(request.bytes, environment: stack.bus.environment, asUser: 65534)
        #expect(helper.reports() == [.result(.unavailable)])
    }
}
