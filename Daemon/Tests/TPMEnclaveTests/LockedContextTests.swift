import CTSS2
import Crypto
import Enclave
import Foundation
import Glibc
import SecretMemory
import TPMTestSupport
import Testing

@testable import TPMEnclave

/// A key below the passcode that was in use comes back from a context, and only for a person who brings the passcode again.
@Suite(.timeLimit(.minutes(10))) struct LockedContextTests {
    private let tpm: SoftwareTPM
    private let enclave: TPMEnclave
    private let passcode: Data
    private let key: WrappedKey
    private let owner = Material.binding.owner

    init() throws {
        tpm = try SoftwareTPM()
        enclave = try TPMEnclave(at: tpm.shared, storageKey: nil)
        passcode = try enclave.makePasscode(Material.secret(1), sealing: Material.secret(9), of: owner)
        try enclave.use(passcode, of: owner)
        key = try enclave.makeKey(authorization: Material.secret(4), binding: Material.passcodeBinding)
        // From here on the key has a context.
        try opened(session()).expectSignature()
    }

    private func session(_ value: UInt8 = 1) throws -> TPMPasscodeSession {
        let opened = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(value))
        return try #require(opened.session as? TPMPasscodeSession)
    }

    private func opened(_ session: TPMPasscodeSession, _ authorization: UInt8 = 4) throws -> any OpenEnclaveKey {
        try enclave.openKey(
            key, authorization: Material.secret(authorization), binding: Material.passcodeBinding, session: session)
    }

    /// A session with a wrong value, which the chip refuses when it is asked.
    private func forged(_ session: TPMPasscodeSession, contextKey: SymmetricKey) -> TPMPasscodeSession {
        TPMPasscodeSession(
            owner: owner, passcode: session.passcode, value: PasscodeValue(Material.secret(2)), contextKey: contextKey)
    }

    private func count() throws -> UInt32 { try enclave.wrongTries(at: passcode).count }

    @Test func `it comes back again and again, and signs`() throws {
        for _ in 1...3 { try opened(session()).expectSignature() }
        // The chip is not asked for the passcode once more.
        let session = try session()
        try opened(forged(session, contextKey: session.contextKey)).expectSignature()
        #expect(try count() == 0)
        #expect(try tpm.handles() == [0, 0, 0])
    }

    @Test func `without the chip's secret the chip decides, and counts`() throws {
        let session = try session()
        expect(.refused) { _ = try opened(forged(session, contextKey: SymmetricKey(size: .bits256))) }
        #expect(try count() == 1)
        try opened(self.session()).expectSignature()
    }

    @Test func `a wrong authorization value is refused by the chip, and the right one works again`() throws {
        let session = try session()
        expect(.refused) { _ = try opened(session, 5) }
        try opened(session).expectSignature()
        #expect(try tpm.handles() == [0, 0, 0])
    }

    @Test func `after a change of the passcode the chip is asked for it`() throws {
        let former = try session()
        try enclave.changePasscode(passcode, from: Material.secret(1), to: Material.secret(5))
        expect(.refused) { _ = try opened(former) }
        try opened(session(5)).expectSignature()
    }

    @Test func `after the removal of the passcode, and with another one, the key never comes back`() throws {
        let former = try session()
        var open: (any OpenEnclaveKey)? = try opened(former)
        try enclave.removePasscode(of: owner)
        expect(.unreadable) { _ = try opened(former) }
        try open?.expectSignature()
        open = nil
        expect(.unreadable, "also not from the context of a key that was in use") { _ = try opened(former) }
        _ = try enclave.makePasscode(Material.secret(1), sealing: Material.secret(9), of: owner)
        expect(.unreadable) { _ = try opened(former) }
    }

    @Test func `after a restart of the chip the passcode loads it`() throws {
        try tpm.restart()
        try opened(session()).expectSignature()
        let session = try session()
        try tpm.restart()
        expect(.refused) { _ = try opened(forged(session, contextKey: session.contextKey)) }
        #expect(try count() == 1)
    }

    @Test func `the oldest context goes for a new one, and one opens under its own lock alone`() throws {
        let session = try session()
        func lock(_ number: Int) -> ContextLock {
            let object = ChipObject(publicArea: Data([0, 1, UInt8(number)]), privateArea: Data())
            return ContextLock(of: object, session, authorization: Material.secret(4))
        }
        var contexts = LockedContexts()
        for number in 0...LockedContexts.limit { contexts.keep(try Self.emptyContext(), under: lock(number)) }
        #expect(!contexts.contains(lock(0).name) && contexts.contains(lock(1).name))
        let object = ChipObject(publicArea: Data([0, 1, 2]), privateArea: Data())
        for other in [
            ContextLock(of: object, session, authorization: Material.secret(5)),
            ContextLock(
                of: object, forged(session, contextKey: SymmetricKey(size: .bits256)),
                authorization: Material.secret(4)),
        ] {
            contexts.keep(try Self.emptyContext(), under: lock(2))
            let isOpen = opens(&contexts, other)
            #expect(!isOpen)
            #expect(!contexts.contains(lock(2).name), "the chip decides from now on")
        }
        contexts.keep(try Self.emptyContext(), under: lock(2))
        let isOpen = opens(&contexts, lock(2))
        #expect(isOpen)
    }

    private func opens(_ contexts: inout LockedContexts, _ lock: ContextLock) -> Bool {
        switch contexts.context(under: lock) {
        case .none: false
        case .some: true
        }
    }

    private static func emptyContext() throws -> Answer<TPMS_CONTEXT> {
        let memory = try #require(calloc(1, MemoryLayout<TPMS_CONTEXT>.stride))
        return Answer(memory.bindMemory(to: TPMS_CONTEXT.self, capacity: 1))
    }
}
