import CTSS2
import Enclave
import Foundation
import SecretMemory
import TPMTestSupport
import Testing

@testable import TPMEnclave

/// A passcode whose wrong tries the chip counts.
@Suite(.timeLimit(.minutes(10))) struct TPMPasscodeTests {
    private let tpm: SoftwareTPM
    private let enclave: TPMEnclave
    private let passcode: Data
    private let owner = Material.binding.owner

    init() throws {
        tpm = try SoftwareTPM()
        enclave = try TPMEnclave(at: tpm.shared, storageKey: nil)
        passcode = try enclave.makePasscode(Material.secret(1), sealing: Material.secret(9), of: owner)
        try enclave.use(passcode, of: owner)
    }

    private func opened(_ value: UInt8 = 1) throws -> OpenedPasscode {
        try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(value))
    }

    private func expectOpen(_ value: UInt8 = 1, _ location: SourceLocation = #_sourceLocation) throws {
        let opened = try opened(value)
        let secret = Data(exposing: opened.secret)
        #expect(secret == Data(repeating: 9, count: 32), sourceLocation: location)
    }

    private func count() throws -> UInt32 { try enclave.wrongTries(at: passcode).count }

    private func fail(_ times: Int) { for _ in 0..<times { expect(.refused) { _ = try opened(2) } } }

    private var index: PasscodeIndex { get throws { try ChipPasscode(blob: passcode).index } }
    private var handle: String { get throws { "0x" + String(try index.handle, radix: 16) } }

    // MARK: counting

    @Test func `the right one gives the secret, a wrong one is counted, and the right one forgives`() throws {
        try expectOpen()
        #expect(try count() == 0)
        fail(3)
        #expect(try enclave.wrongTries(at: passcode) == WrongTries(count: 3, limit: 10))
        try expectOpen()
        #expect(try count() == 0)
        #expect(try tpm.handles() == [0, 0, 0])
    }

    @Test func `a restart of the chip, a kill, and a reset of the lockout give no try back`() throws {
        fail(2)
        try tpm.restart()
        #expect(try count() == 2)
        fail(1)
        try tpm.tool("tpm2_dictionarylockout", "-c")
        try tpm.tool("tpm2_shutdown", "-c")
        try tpm.restart()
        #expect(try count() == 3)
        try expectOpen()
    }

    @Test func `after ten in a row the chip looks at none any more, also elsewhere with a copy of the state`() throws {
        fail(9)
        expect(.passcodeBlocked) { _ = try opened(2) }
        for _ in 1...2 {
            expect(.passcodeBlocked) { _ = try opened() }
            try tpm.restart()
        }
        let copy = try SoftwareTPM(copying: tpm)
        let there = try TPMEnclave(at: copy.shared, storageKey: enclave.storageKey)
        expect(.passcodeBlocked) {
            _ = try there.openPasscode(passcode, of: owner, authorization: Material.secret(1))
        }
        // Another user, and the keys that need no passcode, are not touched.
        let other = Data(repeating: 8, count: 16)
        let theirs = try enclave.makePasscode(Material.secret(1), sealing: Material.secret(9), of: other)
        _ = try enclave.openPasscode(theirs, of: other, authorization: Material.secret(1))
        try enclave.open(try enclave.makeKey()).expectSignature()
    }

    @Test func `wrong ones never bring the chip nearer to its own lockout`() throws {
        fail(9)
        let state = try tpm.tool("tpm2_getcap", "properties-variable")
        #expect(state.contains("TPM2_PT_LOCKOUT_COUNTER: 0x0\n"))
        #expect(state.contains("inLockout:                 0"))
    }

    @Test func `an entry from before a wrong try opens no further key, and does not clear the count`() throws {
        let key = try enclave.makeKey(authorization: Material.secret(4), binding: Material.passcodeBinding)
        func open(_ session: any PasscodeSession) throws -> any OpenEnclaveKey {
            try enclave.openKey(
                key, authorization: Material.secret(4), binding: Material.passcodeBinding, session: session)
        }
        let kept = try opened().session
        fail(1)
        for _ in 1...2 { expect(.passcodeTriedMeanwhile) { _ = try open(kept) } }
        #expect(try count() == 1)
        try open(opened().session).expectSignature()
    }

    // MARK: change and removal

    @Test func `a changed passcode opens what the former one did, and the former one nothing`() throws {
        let key = try enclave.makeKey(authorization: Material.secret(4), binding: Material.passcodeBinding)
        expect(.refused) { try enclave.changePasscode(passcode, from: Material.secret(2), to: Material.secret(5)) }
        #expect(try count() == 1)
        try enclave.changePasscode(passcode, from: Material.secret(1), to: Material.secret(5))
        expect(.refused) { _ = try opened(1) }
        try expectOpen(5)
        let session = try opened(5).session
        try enclave.openKey(key, authorization: Material.secret(4), binding: Material.passcodeBinding, session: session)
            .expectSignature()
    }

    @Test func `a removed passcode opens nothing, and another one in its place is not taken for it`() throws {
        try enclave.removePasscode(of: owner)
        try enclave.removePasscode(of: owner)
        expect(.unreadable) { _ = try opened() }
        let next = try enclave.makePasscode(Material.secret(1), sealing: Material.secret(7), of: owner)
        expect(.unreadable) { _ = try opened() }
        _ = try enclave.openPasscode(next, of: owner, authorization: Material.secret(1))
    }

    @Test func `an index that was left behind is replaced, and another program's is left alone`() throws {
        _ = try enclave.makePasscode(Material.secret(3), sealing: Material.secret(9), of: owner)
        let indexes = try tpm.tool("tpm2_getcap", "handles-nv-index").split(separator: "\n").count
        #expect(indexes == 1)
        try enclave.removePasscode(of: owner)
        try tpm.tool("tpm2_nvdefine", handle, "-C", "o", "-s", "8", "-a", "ownerread|ownerwrite|authread|authwrite")
        let beside = try enclave.makePasscode(Material.secret(3), sealing: Material.secret(9), of: owner)
        #expect(try ChipPasscode(blob: beside).index.handle == index.handle + 1)
        _ = try enclave.openPasscode(beside, of: owner, authorization: Material.secret(3))
    }

    /// An index that lay beside another program's, which is gone since.
    @Test func `an index behind a gap is removed too, by a removal and by the next passcode`() throws {
        let handles = PasscodeIndex.handles(of: owner).map { "0x" + String($0, radix: 16) }
        func define(_ place: Int) throws {
            try tpm.tool(
                "tpm2_nvdefine", handles[place], "-C", "o", "-s", "8", "-a", "ownerread|ownerwrite|authread|authwrite")
        }
        func makeBehindGap(_ others: [Int]) throws -> Data {
            for other in others { try define(other) }
            let behind = try enclave.makePasscode(Material.secret(1), sealing: Material.secret(9), of: owner)
            for other in others { try tpm.tool("tpm2_nvundefine", "-C", "o", handles[other]) }
            return behind
        }
        try enclave.removePasscode(of: owner)
        for others in [[0], [0, 1]] {
            let behind = try makeBehindGap(others)
            try enclave.removePasscode(of: owner)
            #expect(try tpm.tool("tpm2_getcap", "handles-nv-index").isEmpty)
            expect(.unreadable) {
                _ = try enclave.openPasscode(behind, of: owner, authorization: Material.secret(1))
            }
        }
        let behind = try makeBehindGap([0])
        // Another program's at the last handle stays.
        try define(15)
        let next = try enclave.makePasscode(Material.secret(1), sealing: Material.secret(9), of: owner)
        #expect(try ChipPasscode(blob: next).index.handle == PasscodeIndex.handles(of: owner)[0])
        #expect(try tpm.tool("tpm2_getcap", "handles-nv-index").split(separator: "\n").count == 2)
        expect(.unreadable) { _ = try enclave.openPasscode(behind, of: owner, authorization: Material.secret(1)) }
        #expect(try tpm.handles() == [0, 0, 0])
    }

    @Test func `with another program's index at each of the handles there is no room`() throws {
        try enclave.removePasscode(of: owner)
        for handle in PasscodeIndex.handles(of: owner) {
            try tpm.tool(
                "tpm2_nvdefine", "0x" + String(handle, radix: 16), "-C", "o", "-s", "8", "-a", "ownerread|ownerwrite")
        }
        // TPM_RC_NV_SPACE
        expect(.unavailable(code: 0x14b)) {
            _ = try enclave.makePasscode(Material.secret(1), sealing: Material.secret(9), of: owner)
        }
        #expect(try tpm.tool("tpm2_getcap", "handles-nv-index").split(separator: "\n").count == 16)
    }

    // MARK: keys below it

    @Test func `a key below the passcode loads with it alone, and the chip itself says so`() throws {
        let key = try enclave.makeKey(authorization: Material.secret(4), binding: Material.passcodeBinding)
        let session = try opened().session
        let open = try enclave.openKey(
            key, authorization: Material.secret(4), binding: Material.passcodeBinding, session: session)
        try open.expectSignature()
        try open.expectSignature()
        #expect(try tpm.handles() == [0, 0, 0])
        expect(.refused) {
            _ = try enclave.openKey(
                key, authorization: Material.secret(5), binding: Material.passcodeBinding, session: session)
        }
        // tpm2-tools load the parent, and nothing below it.
        let parent = try ChipPasscode(blob: passcode).parent
        let object = try ChipObject(blob: key.blob, as: .keyBelowPasscode)
        #expect(object.parent?.publicArea == parent.publicArea)
        try tpm.write(parent.publicArea, named: "parent.pub")
        try tpm.write(parent.privateArea, named: "parent.priv")
        try tpm.write(object.publicArea, named: "key.pub")
        try tpm.write(object.privateArea, named: "key.priv")
        try loadParent()
        #expect(throws: SoftwareTPM.ToolFailed.self) {
            try tpm.tool("tpm2_load", "-C", "parent.ctx", "-u", "key.pub", "-r", "key.priv", "-c", "key.ctx")
        }
        try tpm.tool("tpm2_flushcontext", "-t")
    }

    private func loadRoot() throws {
        try tpm.tool(
            "tpm2_createprimary", "-C", "o", "-G", "ecc", "-c", "root.ctx", "-a",
            "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|noda|restricted|decrypt")
        try tpm.tool("tpm2_flushcontext", "-t")
    }

    private func loadParent() throws {
        try loadRoot()
        try tpm.tool("tpm2_load", "-C", "root.ctx", "-u", "parent.pub", "-r", "parent.priv", "-c", "parent.ctx")
        try tpm.tool("tpm2_flushcontext", "-t")
    }

    @Test func `after a restart of the chip a key below the passcode asks for it again`() throws {
        let key = try enclave.makeKey(authorization: Material.secret(4), binding: Material.passcodeBinding)
        let open = try enclave.openKey(
            key, authorization: Material.secret(4), binding: Material.passcodeBinding, session: opened().session)
        try tpm.restart()
        expect(.passcodeNeeded) { _ = try open.signature(forDigest: Material.digest) }
        let again = try enclave.openKey(
            key, authorization: Material.secret(4), binding: Material.passcodeBinding, session: opened().session)
        try again.expectSignature()
    }

    @Test func `no key is made that requires a passcode which nobody set`() throws {
        let other = KeyBinding(
            owner: Data(repeating: 8, count: 16), outsideInfo: Data(), requiresPasscode: true)
        expect(.passcodeNeeded) { _ = try enclave.makeKey(authorization: Material.secret(4), binding: other) }
        try enclave.use(nil, of: owner)
        expect(.passcodeNeeded) {
            _ = try enclave.makeKey(authorization: Material.secret(4), binding: Material.passcodeBinding)
        }
    }

    // MARK: attacks

    @Test func `an index that an attacker defines in its place opens nothing, and cannot be written`() throws {
        try tpm.tool("tpm2_nvundefine", "-C", "o", handle)
        expect(.unreadable) { _ = try opened() }
        try tpm.write(Policy.any(of: index.policies).digest, named: "policy.bin")
        try tpm.tool(
            "tpm2_nvdefine", handle, "-C", "o", "-s", "8", "-L", "policy.bin", "-p",
            "hex:" + String(repeating: "02", count: 32),
            "-a", "nt=pinfail|authread|ownerread|policyread|policywrite|no_da")
        for value: UInt8 in [1, 2] { expect(.unreadable) { _ = try opened(value) } }
        try tpm.write(PasscodeIndex.count, named: "count")
        for authorization in [["-C", "o"], ["-C", try handle, "-P", "hex:" + String(repeating: "02", count: 32)]] {
            #expect(throws: SoftwareTPM.ToolFailed.self) {
                try tpm.tool("tpm2_nvwrite", arguments: authorization + [handle, "-i", "count"])
            }
        }
    }

    /// Both indexes have the right value, so that nothing but the name tells them apart.
    @Test(arguments: [
        "nt=pinfail|authread|ownerread|policyread|policywrite|no_da", "ownerread|ownerwrite|authread|authwrite|no_da",
    ])
    func `an index that takes its place between two entries is noticed`(attributes: String) throws {
        let enclave = try TPMEnclave(at: tpm.keepingLoaded, storageKey: enclave.storageKey)
        func opened(_ value: UInt8) throws {
            _ = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(value))
        }
        try opened(1)
        try tpm.write(Policy.any(of: index.policies).digest, named: "policy.bin")
        try tpm.tool("tpm2_nvundefine", "-C", "o", handle)
        try tpm.tool(
            "tpm2_nvdefine", handle, "-C", "o", "-s", "8", "-L", "policy.bin", "-p",
            "hex:" + String(repeating: "01", count: 32), "-a", attributes)
        if attributes.contains("ownerwrite") {
            try tpm.write(PasscodeIndex.count, named: "count")
            try tpm.tool("tpm2_nvwrite", "-C", "o", handle, "-i", "count")
        }
        for value: UInt8 in [1, 2, 1] { expect(.unreadable) { try opened(value) } }
        #expect(try tpm.handles() == [0, 2, 0])
    }

    @Test func `an index that is removed between two requests is noticed by a change too`() throws {
        let enclave = try TPMEnclave(at: tpm.keepingLoaded, storageKey: enclave.storageKey)
        _ = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(1))
        try tpm.tool("tpm2_nvundefine", "-C", "o", handle)
        expect(.unreadable) { try enclave.changePasscode(passcode, from: Material.secret(1), to: Material.secret(5)) }
        #expect(try tpm.handles() == [0, 2, 0])
    }

    @Test func `a refusal of another program's session after a restart is no wrong passcode`() throws {
        try tpm.keepStorageKey()
        let enclave = try TPMEnclave(at: tpm.keepingLoaded, storageKey: nil)
        let made = try enclave.makePasscode(Material.secret(1), sealing: Material.secret(9), of: owner)
        try tpm.restart()
        let other = try ChipConnection(tpm.shared, pinned: nil)
        let sessions = try other.sessions()
        // There is no room for two new sessions.
        expect(.slotsTaken(.sessions)) {
            _ = try enclave.openPasscode(made, of: owner, authorization: Material.secret(1))
        }
        try other.context.flush(sessions.encrypting)
        other.close()
        try tpm.tool("tpm2_flushcontext", "-l")
        _ = try enclave.openPasscode(made, of: owner, authorization: Material.secret(1))
        #expect(try tpm.handles() == [0, 2, 0])
    }

    @Test func `the index's own change is no test for guesses that the chip does not count`() throws {
        let connection = try ChipConnection(tpm.shared, pinned: enclave.storageKey)
        defer { connection.close() }
        for _ in 1...10 {
            #expect(throws: ChipFault.self) {
                try connection.change(index, from: Material.secret(2), to: Material.secret(3))
            }
        }
        connection.rest()
        #expect(try count() == 10)
        expect(.passcodeBlocked) { _ = try opened() }
    }

    @Test func `reading it with wrong values is counted`() throws {
        for _ in 1...10 {
            #expect(throws: SoftwareTPM.ToolFailed.self) {
                try tpm.tool("tpm2_nvread", handle, "-C", handle, "-P", "hex:" + String(repeating: "02", count: 32))
            }
        }
        expect(.passcodeBlocked) { _ = try opened() }
    }

    @Test func `no session is bound to it`() throws {
        let context = try TPMContext(tpm.shared)
        var (bound, session, cipher) = (ESYS_TR(), ESYS_TR(), TPMT_SYM_DEF())
        cipher.algorithm = TPM2_ALG_NULL
        let number = try index.handle
        try context.run {
            Esys_TR_FromTPMPublic($0, number, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &bound)
        }
        // TPM_RC_HANDLE for the handle of the object to bind to.
        #expect(throws: ChipFault.response(ResponseCode(0x28b))) {
            try context.run {
                Esys_StartAuthSession(
                    $0, ESYS_TR_NONE, bound, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, nil, TPM2_SE(TPM2_SE_HMAC),
                    &cipher, TPM2_ALG_SHA256, &session)
            }
        }
    }

    @Test func `the secret and the parent take no value of their own and are used by no session without the passcode`()
        throws
    {
        let parts = try ChipPasscode(blob: passcode)
        try loadRoot()
        for (name, object) in [("sealed", parts.sealed), ("parent", parts.parent)] {
            try tpm.write(object.publicArea, named: "\(name).pub")
            try tpm.write(object.privateArea, named: "\(name).priv")
            try tpm.tool(
                "tpm2_load", "-C", "root.ctx", "-u", "\(name).pub", "-r", "\(name).priv", "-c", "\(name).ctx")
            try tpm.tool("tpm2_flushcontext", "-t")
            #expect(throws: SoftwareTPM.ToolFailed.self) {
                try tpm.tool(
                    "tpm2_changeauth", "-C", "root.ctx", "-c", "\(name).ctx", "-r", "new.priv", "secret")
            }
            try tpm.tool("tpm2_flushcontext", "-t")
        }
        #expect(throws: SoftwareTPM.ToolFailed.self) { try tpm.tool("tpm2_unseal", "-c", "sealed.ctx") }
        try tpm.tool("tpm2_flushcontext", "-t")
        try tpm.tool("tpm2_startauthsession", "--policy-session", "-S", "session.ctx")
        #expect(throws: SoftwareTPM.ToolFailed.self) {
            try tpm.tool("tpm2_unseal", "-c", "sealed.ctx", "-p", "session:session.ctx")
        }
        try tpm.tool("tpm2_flushcontext", "-t")
        try tpm.tool("tpm2_flushcontext", "-l")
    }

    @Test func `a satisfied session of ours serves nobody who does not share its secret`() throws {
        let connection = try ChipConnection(tpm.shared, pinned: enclave.storageKey)
        defer { connection.close() }
        let parts = try ChipPasscode(blob: passcode)
        try connection.withPolicySession { (session) throws(ChipFault) in
            try connection.prove(parts.index, Material.secret(1), to: session)
            try connection.withLoadedOnce(parts.sealed) { (sealed) throws(ChipFault) in
                let (object, policy) = (
                    try Self.number(of: sealed, in: connection.context),
                    try Self.number(of: session, in: connection.context)
                )
                // TPM2_Unseal from an attacker who knows both numbers: without a code of the session.
                let command = Self.unseal(object, session: policy)
                let answer: Data
                do { answer = try tpm.answer(to: command) } catch { throw .malformedAnswer }
                #expect(answer.count == 10 && answer.suffix(4) != Data(count: 4), "\(Array(answer))")
                // The session is in order: with its secret it works.
                let secret = try ChipConnection.unseal(
                    sealed, authorizedBy: session, connection.sessions(), in: connection.context)
                #expect(Data(exposing: secret) == Data(repeating: 9, count: 32))
            }
        }
    }

    /// The chip's own number of a handle.
    private static func number(of handle: ESYS_TR, in context: TPMContext) throws(ChipFault) -> UInt32 {
        var number = TPM2_HANDLE()
        try context.run { Esys_TR_GetTpmHandle($0, handle, &number) }
        return number
    }

    private static func unseal(_ object: UInt32, session: UInt32) -> Data {
        func bytes(_ number: UInt32) -> Data { withUnsafeBytes(of: number.bigEndian) { Data($0) } }
        let authorization = bytes(session) + Data([0, 0, 1, 0, 0])  // No nonce, "continue", no code.
        let body = bytes(0x15e) + bytes(object) + bytes(UInt32(authorization.count)) + authorization
        return Data([0x80, 0x02]) + bytes(UInt32(body.count + 6)) + body
    }

    // MARK: traffic

    @Test func `the traffic has neither value nor secret of a passcode, right or wrong`() throws {
        func random() -> Data { Data((0..<32).map { _ in UInt8.random(in: 1...255) }) }
        let (right, wrong, next, secret, value) = (random(), random(), random(), random(), random())
        let traffic = try tpm.recorded("passcode.pcap") { location in
            let enclave = try TPMEnclave(at: location, storageKey: nil)
            let made = try enclave.makePasscode(SecretBytes(right), sealing: SecretBytes(secret), of: owner)
            try enclave.use(made, of: owner)
            let key = try enclave.makeKey(authorization: SecretBytes(value), binding: Material.passcodeBinding)
            expect(.refused) {
                _ = try enclave.openPasscode(made, of: owner, authorization: SecretBytes(wrong))
            }
            let session = try enclave.openPasscode(made, of: owner, authorization: SecretBytes(right)).session
            try enclave.openKey(
                key, authorization: SecretBytes(value), binding: Material.passcodeBinding, session: session
            )
            .expectSignature()
            try enclave.changePasscode(made, from: SecretBytes(right), to: SecretBytes(next))
            #expect(
                isRecorded(key.publicKey, in: try Data(contentsOf: URL(fileURLWithPath: tpm.path("passcode.pcap")))))
        }
        for hidden in [right, wrong, next, secret, value] {
            for start in stride(from: 0, to: 32, by: 8) {
                #expect(!isRecorded(Data([0]) + hidden.dropFirst(start).prefix(8), in: traffic))
            }
        }
    }

    /// Whether a part of `bytes`, without the first one, was recorded.
    private func isRecorded(_ bytes: Data, in recording: Data) -> Bool {
        recording.range(of: bytes.dropFirst().prefix(8)) != nil
    }
}
