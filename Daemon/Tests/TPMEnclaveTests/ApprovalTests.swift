import CTSS2
import Crypto
import Enclave
import Foundation
import SecretMemory
import TPMTestSupport
import Testing

@testable import TPMEnclave

/// Keys that sign only what was approved: what the chip itself refuses, with its commands sent one by one.
@Suite(.timeLimit(.minutes(10))) struct ApprovalTests {
    private let tpm: SoftwareTPM
    private let enclave: TPMEnclave
    private let binding: KeyBinding
    private let key: WrappedKey

    init() throws {
        tpm = try SoftwareTPM()
        enclave = try TPMEnclave(at: tpm.shared, storageKey: nil)
        binding = try Self.binding(of: 8)
        key = try enclave.makeKey(authorization: Material.secret(1), binding: binding)
    }

    /// - Parameter seed: of the access secret that the approving key comes from.
    private static func binding(of seed: UInt8) throws -> KeyBinding {
        KeyBinding(
            owner: Material.binding.owner, outsideInfo: Material.binding.outsideInfo, requiresPasscode: false,
            approver: try ApprovalKey(derivedFrom: Material.secret(seed)).publicKey)
    }

    private static let other = Data(SHA256.hash(data: Data("another message".utf8)))

    private static func approval(of digest: Data = Material.digest, by seed: UInt8 = 8) throws -> SignatureApproval {
        SignatureApproval(of: digest, by: try ApprovalKey(derivedFrom: Material.secret(seed)))
    }

    private func open(in enclave: TPMEnclave) throws -> any OpenEnclaveKey {
        try enclave.openKey(key, authorization: Material.secret(1), binding: binding, session: nil)
    }

    private func isValid(_ signature: Data, by key: WrappedKey) throws -> Bool {
        try P256.Signing.PublicKey(x963Representation: key.publicKey).isValidSignature(
            P256.Signing.ECDSASignature(rawRepresentation: signature), for: SHA256.hash(data: Data("message".utf8)))
    }

    // MARK: the chip's own refusals

    /// A loaded key and its terms, on a connection of the test's own.
    private struct Loaded {
        let connection: ChipConnection
        let object: ChipObject
        let terms: SignatureTerms
        let handle: ESYS_TR

        func withSession(_ body: (ESYS_TR) throws -> Void) throws {
            var failure: (any Error)?
            try connection.withPolicySession { (session) throws(ChipFault) in
                do { try body(session) } catch { failure = error }
            }
            if let failure { throw failure }
        }

        /// The approval as the chip takes it.
        func signed(
            _ approval: SignatureApproval, for session: ESYS_TR, named name: Data? = nil
        ) throws(ChipFault) -> SignedApproval {
            try SignedApproval(
                approval, forKeyNamed: name ?? object.name, on: terms, nonce: connection.nonce(of: session))
        }

        func approve(_ approval: SignedApproval, in session: ESYS_TR) throws(ChipFault) {
            try connection.approve(approval, on: terms, in: session)
        }

        func sign(_ digest: Data = Material.digest, in session: ESYS_TR) throws(ChipFault) -> Data {
            try connection.sign(digest, with: handle, in: session)
        }
    }

    private func withLoaded(_ key: WrappedKey? = nil, _ body: (Loaded) throws -> Void) throws {
        let connection = try ChipConnection(tpm.shared, pinned: nil)
        let object = try ChipObject(blob: (key ?? self.key).blob, as: .key)
        let terms = try #require(try ObjectPolicy.terms(.p256, binding))
        var failure: (any Error)?
        try connection.withLoaded(object) { (handle) throws(ChipFault) in
            do {
                try body(Loaded(connection: connection, object: object, terms: terms, handle: handle))
            } catch { failure = error }
        }
        connection.close()
        if let failure { throw failure }
        #expect(try tpm.handles() == [0, 0, 0], "nothing is left in the chip")
    }

    private func refuse(
        _ fault: ChipFault, _ location: SourceLocation = #_sourceLocation, _ body: () throws -> Void
    ) {
        #expect(throws: fault, sourceLocation: location, performing: body)
    }

    @Test func `the chip signs the approved digest, and no other in the same session`() throws {
        try withLoaded { loaded in
            try loaded.withSession { session in
                try loaded.approve(loaded.signed(Self.approval(), for: session), in: session)
                refuse(.notApproved) { _ = try loaded.sign(Self.other, in: session) }
            }
            try loaded.withSession { session in
                try loaded.approve(loaded.signed(Self.approval(), for: session), in: session)
                let signature = try loaded.sign(in: session)
                #expect(try isValid(signature, by: key))
            }
        }
    }

    @Test func `an approval permits one signature, and is worth nothing afterwards`() throws {
        try withLoaded { loaded in
            try loaded.withSession { session in
                let approval = try loaded.signed(Self.approval(), for: session)
                try loaded.approve(approval, in: session)
                _ = try loaded.sign(in: session)
                refuse(.notApproved) { _ = try loaded.sign(in: session) }
                refuse(.notApproved) { try loaded.approve(approval, in: session) }
                refuse(.notApproved) { _ = try loaded.sign(in: session) }
            }
        }
    }

    @Test func `an approval for another session is refused`() throws {
        try withLoaded { loaded in
            var former: SignedApproval?
            try loaded.withSession { session in
                former = try loaded.signed(Self.approval(), for: session)
            }
            let approval = try #require(former)
            try loaded.withSession { session in
                refuse(.notApproved) { try loaded.approve(approval, in: session) }
                refuse(.notApproved) { _ = try loaded.sign(in: session) }
            }
        }
    }

    @Test func `an approval for another key is refused, even by the same approver`() throws {
        let second = try enclave.makeKey(authorization: Material.secret(1), binding: binding)
        let name = try ChipObject(blob: second.blob, as: .key).name
        try withLoaded { loaded in
            try loaded.withSession { session in
                try loaded.approve(loaded.signed(Self.approval(), for: session, named: name), in: session)
                refuse(.notApproved) { _ = try loaded.sign(in: session) }
            }
        }
    }

    @Test func `an approval by another key is refused`() throws {
        try withLoaded { loaded in
            try loaded.withSession { session in
                // The chip has the right key's public half, and the signature is another one's.
                let forged = try loaded.signed(Self.approval(by: 9), for: session)
                refuse(.notApproved) { try loaded.approve(forged, in: session) }
                refuse(.notApproved) { _ = try loaded.sign(in: session) }
            }
            let terms = try #require(try ObjectPolicy.terms(.p256, Self.binding(of: 9)))
            try loaded.withSession { session in
                // All is the other's, and fits together; the key's policy names another approver.
                let nonce = try loaded.connection.nonce(of: session)
                let foreign = try SignedApproval(
                    Self.approval(by: 9), forKeyNamed: loaded.object.name, on: terms, nonce: nonce)
                try loaded.connection.approve(foreign, on: terms, in: session)
                refuse(.notApproved) { _ = try loaded.sign(in: session) }
            }
        }
    }

    @Test func `a session without an approval signs nothing, and the authorization value alone neither`() throws {
        try withLoaded { loaded in
            try loaded.withSession { session in
                refuse(.notApproved) { _ = try loaded.sign(in: session) }
            }
            // TPM_RC_AUTH_UNAVAILABLE
            refuse(.response(ResponseCode(0x12f))) {
                _ = try loaded.connection.sign(
                    Material.digest, with: loaded.handle, authorization: Material.secret(1))
            }
        }
    }

    // MARK: as the store uses it

    @Test func `the key works where it stays loaded, after a restart of the chip, and leaves nothing`() throws {
        for location in [tpm.shared, tpm.keepingLoaded] {
            do {
                let enclave = try TPMEnclave(at: location, storageKey: nil)
                let open = try open(in: enclave)
                #expect(
                    try isValid(open.signature(forDigest: Material.digest, approvedBy: Self.approval()), by: key))
                try tpm.restart()
                #expect(
                    try isValid(open.signature(forDigest: Material.digest, approvedBy: Self.approval()), by: key))
                expect(.notApproved) { _ = try open.signature(forDigest: Self.other, approvedBy: Self.approval()) }
            }
            #expect(try tpm.handles() == [0, 0, 0])
        }
    }

    @Test func `the chip certifies the key, and the evidence names its approver`() throws {
        let maker = try SoftwareTPMMaker()
        let tpm = try SoftwareTPM(madeBy: maker)
        let enclave = try TPMEnclave(at: tpm.shared, storageKey: nil)
        let attestationKey = try enclave.makeAttestationKey(authorization: Material.secret(5))
        let key = try enclave.makeKey(authorization: Material.secret(1), binding: binding)
        func evidence(_ value: UInt8) throws -> KeyEvidence {
            let open = try enclave.openKey(
                key, authorization: Material.secret(value), binding: binding, session: nil)
            return try enclave.attest(
                open, binding: binding, challenge: Material.digest, attestationKey: attestationKey,
                authorization: Material.secret(5))
        }
        let proof = try evidence(1)
        let object = try ChipObject(blob: key.blob, as: .key)
        #expect(proof.statement.content.range(of: object.name) != nil)
        let approver = try #require(proof.approver)
        let terms = try #require(try ObjectPolicy.terms(.p256, binding))
        #expect(approver.suffix(32) == terms.approver.suffix(32))
        expect(.refused) { _ = try evidence(2) }
        #expect(try tpm.handles() == [0, 0, 0])
    }

    // MARK: witnesses

    private func load() throws {
        let object = try ChipObject(blob: key.blob, as: .key)
        try tpm.write(object.publicArea, named: "key.pub")
        try tpm.write(object.privateArea, named: "key.priv")
        try tpm.tool(
            "tpm2_createprimary", "-C", "o", "-G", "ecc", "-c", "root.ctx", "-a",
            "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|noda|restricted|decrypt")
        try tpm.tool("tpm2_flushcontext", "-t")
        try tpm.tool("tpm2_load", "-C", "root.ctx", "-u", "key.pub", "-r", "key.priv", "-c", "key.ctx")
        try tpm.tool("tpm2_flushcontext", "-t")
    }

    @Test func `tpm2-tools load the key, and sign nothing with its authorization value`() throws {
        try load()
        let area = try tpm.tool("tpm2_readpublic", "-c", "key.ctx")
        #expect(area.contains("value: fixedtpm|fixedparent|sensitivedataorigin|noda|sign\n"), "\(area)")
        try tpm.tool("tpm2_flushcontext", "-t")
        try tpm.write(Material.digest, named: "digest")
        for value in ["hex:" + String(repeating: "01", count: 32), ""] {
            var refusal = ""
            do {
                try tpm.tool(
                    "tpm2_sign", "-c", "key.ctx", "-p", value, "-g", "sha256", "-d", "-f", "plain", "-o", "signature",
                    "digest")
            } catch let error as SoftwareTPM.ToolFailed { refusal = error.output }
            #expect(refusal.contains("0x12F"), "TPM_RC_AUTH_UNAVAILABLE: \(refusal)")
            try tpm.tool("tpm2_flushcontext", "-t")
        }
        try tpm.tool("tpm2_startauthsession", "--policy-session", "-S", "session.ctx")
        #expect(throws: SoftwareTPM.ToolFailed.self) {
            try tpm.tool(
                "tpm2_sign", "-c", "key.ctx", "-p", "session:session.ctx", "-g", "sha256", "-d", "-o", "signature",
                "digest")
        }
    }

    @Test func `tpm2-tools compute the same policy`() throws {
        let terms = try #require(try ObjectPolicy.terms(.p256, binding))
        let policy = try #require(terms.policy)
        try tpm.write(try #require(PublicArea.bytes(terms.approverArea)), named: "approver.pub")
        try tpm.write(terms.reference, named: "reference")
        let anybody = P256.Signing.PrivateKey()
        try tpm.write(
            anybody.signature(for: Data("a trial session looks at no signature".utf8)).derRepresentation,
            named: "signature")
        try tpm.tool("tpm2_loadexternal", "-C", "n", "-u", "approver.pub", "-c", "approver.ctx")
        try tpm.tool("tpm2_startauthsession", "-S", "trial.ctx")
        try tpm.tool(
            "tpm2_policysigned", "-S", "trial.ctx", "-c", "approver.ctx", "-g", "sha256", "-f", "ecdsa", "-s",
            "signature", "-q", "reference", "-L", "policy")
        #expect(try Data(contentsOf: URL(fileURLWithPath: tpm.path("policy"))) == policy.digest)
    }

    @Test func `a signature with a loaded key is five commands`() throws {
        try tpm.keepStorageKey()
        _ = try tpm.recorded("approved.pcap") { location in
            let enclave = try TPMEnclave(at: location, storageKey: nil)
            let open = try open(in: enclave)
            let commands = try tpm.commands("approved.pcap") {
                _ = try open.signature(forDigest: Material.digest, approvedBy: Self.approval())
            }
            #expect(commands == [.startSession, .loadExternal, .policySigned, .flush, .sign])
        }
    }
}
