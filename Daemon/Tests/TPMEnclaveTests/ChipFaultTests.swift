import Enclave
import TPMTestSupport
import Testing

@testable import TPMEnclave

/// The meaning of the chip's answers.
@Suite(.timeLimit(.minutes(10))) struct ChipFaultTests {
    private static func error(_ fault: ChipFault) -> EnclaveError { fault.enclaveError { .seconds(1000) } }

    @Test func `a busy chip asks to repeat, and nothing else does`() {
        for code: UInt32 in [0x922, 0x908, 0x90a, 0x920] { #expect(ResponseCode(code).asksToRepeat) }
        for code: UInt32 in [0, 0x902, 0x903, 0x921, 0x9a2, 0x1df, 0xa000a, 0x70008] {
            #expect(!ResponseCode(code).asksToRepeat)
        }
    }

    @Test func `the number of handle, parameter or session does not hide a wrong authorization`() {
        for code: UInt32 in [0x9a2, 0xaa2, 0x98e, 0xa8e, 0x0a2, 0x08e] {
            #expect(ResponseCode(code).isWrongAuthorization)
        }
        for code: UInt32 in [0x921, 0x922, 0x12f, 0xa09a2] {
            #expect(!ResponseCode(code).isWrongAuthorization)
        }
    }

    @Test func `only parameters make an object foreign`() {
        for code: UInt32 in [0x1df, 0x2c4, 0x1d5, 0x155] { #expect(ResponseCode(code).isForeignObject) }
        for code: UInt32 in [0x18b, 0x9a2, 0x902, 0x910, 0x921, 0xa000a] {
            #expect(!ResponseCode(code).isForeignObject)
        }
    }

    @Test func `unknown handles and sessions are told from full slots`() {
        for code: UInt32 in [0x910, 0x916, 0x918, 0x91e, 0x18b, 0x1cb] { #expect(ResponseCode(code).isUnknownHandle) }
        for code: UInt32 in [0x902, 0x903, 0x90f, 0x91f, 0x920, 0x1c4, 0x1df] {
            #expect(!ResponseCode(code).isUnknownHandle)
        }
        #expect(ResponseCode(0x902).isObjectMemory && ResponseCode(0x906).isObjectMemory)
        #expect(!ResponseCode(0x903).isObjectMemory)
    }

    @Test func `each fault has its error`() {
        #expect(Self.error(.response(ResponseCode(0x921))) == .lockedOut(remaining: .seconds(1000)))
        for code: UInt32 in [0x908, 0x90a, 0x922, 0x100, 0xa000a, 0x7001b] {
            #expect(Self.error(.response(ResponseCode(code))) == .unavailable(code: code))
        }
        // Also through a resource manager with the chip's codes.
        for code: UInt32 in [0x902, 0x906, 0xb0902] {
            #expect(Self.error(.response(ResponseCode(code))) == .slotsTaken(.objects))
        }
        for code: UInt32 in [0x901, 0x903, 0x905, 0xb0903] {
            #expect(Self.error(.response(ResponseCode(code))) == .slotsTaken(.sessions))
        }
        #expect(Self.error(.indexExchanged) == .passcodeIndexExchanged)
        #expect(Self.error(.forgotten(ResponseCode(0x910))) == .unavailable(code: 0x910))
        #expect(Self.error(.otherStorageKey) == .deviceLost)
        #expect(Self.error(.foreignObject) == .unreadable)
        #expect(Self.error(.wrongAuthorization) == .refused)
        #expect(Self.error(.ownerPassword) == .ownerPassword)
        #expect(Self.error(.malformedAnswer) == .unavailable(code: 0))
    }

    @Test func `only a lost connection or a forgetful chip gets a second connection`() {
        #expect(ChipFault.forgotten(ResponseCode(0x910)).mayEndWithNewConnection)
        #expect(ChipFault.response(ResponseCode(0xa000a)).mayEndWithNewConnection)
        for fault: ChipFault in [
            .response(ResponseCode(0x921)), .response(ResponseCode(0x902)), .otherStorageKey, .foreignObject,
            .wrongAuthorization, .indexExchanged, .malformedAnswer,
        ] {
            #expect(!fault.mayEndWithNewConnection)
        }
    }

    @Test func `a command is sent again while the chip is busy, and not for ever`() throws {
        let tpm = try SoftwareTPM()
        let context = try TPMContext(tpm.shared)
        for code: UInt32 in [0x922, 0x908, 0x90a] {
            var calls = 0
            try context.run { _ in
                calls += 1
                return calls < 3 ? code : 0
            }
            #expect(calls == 3)
        }
        var calls = 0
        #expect(throws: ChipFault.response(ResponseCode(0x922))) {
            try context.run { _ in
                calls += 1
                return 0x922
            }
        }
        #expect(calls == 9)
    }

    @Test func `the chip says how long a lockout lasts`() throws {
        let tpm = try SoftwareTPM()
        try tpm.tool("tpm2_dictionarylockout", "--setup-parameters", "--max-tries=3", "--recovery-time=77")
        let connection = try ChipConnection(tpm.shared, pinned: nil)
        #expect(try connection.lockoutInterval() == .seconds(77))
    }
}
