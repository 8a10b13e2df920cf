import Crypto
import Enclave
import Foundation
import SecretMemory
import TPMTestSupport
import Testing

@testable import TPMEnclave

/// A chip's statements on keys, with tpm2-tools and openssl as their first readers.
@Suite(.timeLimit(.minutes(10))) struct AttestationTests {
    private let maker: SoftwareTPMMaker
    private let tpm: SoftwareTPM
    private let enclave: TPMEnclave
    private let attestationKey: Data

    init() throws {
        maker = try SoftwareTPMMaker()
        tpm = try SoftwareTPM(madeBy: maker)
        enclave = try TPMEnclave(at: tpm.shared, storageKey: nil)
        attestationKey = try enclave.makeAttestationKey(authorization: Material.secret(5))
    }

    private static let challenge = Data(SHA256.hash(data: Data("challenge".utf8)))
    private static let secret = Data((1...32).map { UInt8($0) })

    private func attest(
        _ key: WrappedKey, _ binding: KeyBinding = Material.binding, _ session: (any PasscodeSession)? = nil
    ) throws -> KeyEvidence {
        let open = try enclave.openKey(key, authorization: Material.secret(1), binding: binding, session: session)
        return try enclave.attest(
            open, binding: binding, challenge: Self.challenge, attestationKey: attestationKey,
            authorization: Material.secret(5))
    }

    /// Lets tpm2-tools make a credential for a chip and a key, without any chip.
    private func credential(for key: Data, _ endorsement: AttestationKeyEndorsement) throws -> Data {
        let sized = withUnsafeBytes(of: UInt16(endorsement.endorsementKey.count).bigEndian) { Data($0) }
        try tpm.write(sized + endorsement.endorsementKey, named: "ek.pub")
        try tpm.write(Self.secret, named: "secret")
        let name = ChipObject.name(ofArea: key).map { String(format: "%02x", $0) }.joined()
        try tpm.tool(
            "tpm2_makecredential", "-T", "none", "-u", "ek.pub", "-s", "secret", "-n", name, "-o", "credential")
        return try Data(contentsOf: URL(fileURLWithPath: tpm.path("credential")))
    }

    /// Lets openssl verify, with the attestation key's public half.
    private func requireSigned(_ statement: KeyEvidence.Statement) throws {
        let object = try ChipObject(blob: attestationKey, as: .attestationKey)
        let point = try #require(object.point(matching: PublicArea.attestationKey))
        let key = try P256.Signing.PublicKey(x963Representation: point)
        try tpm.write(Data(key.pemRepresentation.utf8), named: "ak.pem")
        try tpm.write(statement.content, named: "attest")
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: statement.signature)
        try tpm.write(signature.derRepresentation, named: "attest.sig")
        try tpm.tool("openssl", "dgst", "-sha256", "-verify", "ak.pem", "-signature", "attest.sig", "attest")
    }

    // MARK: the attestation key

    @Test func `the chip opens a credential for itself and its attestation key`() throws {
        let endorsement = try enclave.endorsement(ofAttestationKey: attestationKey)
        let credential = try credential(for: endorsement.attestationKey, endorsement)
        let secret = try enclave.secret(
            in: credential, forAttestationKey: attestationKey, authorization: Material.secret(5))
        #expect(Data(exposing: secret) == Self.secret)
        try tpm.write(endorsement.certificate, named: "ek.der")
        try tpm.tool("openssl", "x509", "-inform", "der", "-in", "ek.der", "-out", "ek.pem")
        let verified = try tpm.tool(
            "openssl", "verify", "-ignore_critical", "-CAfile", maker.authority, "-untrusted", maker.intermediate,
            "ek.pem")
        #expect(verified.contains("OK"))
        #expect(try tpm.handles() == [0, 0, 0], "nothing is left in the chip")
    }

    @Test func `the chip opens no credential for another key, another chip, or with another value`() throws {
        let endorsement = try enclave.endorsement(ofAttestationKey: attestationKey)
        let other = try enclave.endorsement(
            ofAttestationKey: enclave.makeAttestationKey(authorization: Material.secret(5)))
        #expect(other.attestationKey != endorsement.attestationKey, "the chip makes a key, and computes none")
        let chip = try SoftwareTPM(madeBy: maker)
        let stranger = try TPMEnclave(at: chip.shared, storageKey: nil)
        let foreign = try stranger.endorsement(
            ofAttestationKey: stranger.makeAttestationKey(authorization: Material.secret(5)))
        for credential in [
            try credential(for: other.attestationKey, endorsement),
            try credential(for: endorsement.attestationKey, foreign),
            Data(), Data(repeating: 0, count: 400),
        ] {
            expect(.unreadable) {
                _ = try enclave.secret(
                    in: credential, forAttestationKey: attestationKey, authorization: Material.secret(5))
            }
        }
        let right = try credential(for: endorsement.attestationKey, endorsement)
        expect(.refused) {
            _ = try enclave.secret(in: right, forAttestationKey: attestationKey, authorization: Material.secret(6))
        }
        expect(.unreadable) {
            _ = try stranger.secret(in: right, forAttestationKey: attestationKey, authorization: Material.secret(5))
        }
        #expect(try tpm.handles() == [0, 0, 0])
    }

    @Test(arguments: SoftwareTPM.CertifiedKey.allCases)
    func `the certificate's kind of endorsement key opens credentials, and none for another chip`(
        _ kind: SoftwareTPM.CertifiedKey
    ) throws {
        try tpm.keepCertificate(of: kind, by: maker)
        let endorsement = try enclave.endorsement(ofAttestationKey: attestationKey)
        let own = try credential(for: endorsement.attestationKey, endorsement)
        let secret = try enclave.secret(in: own, forAttestationKey: attestationKey, authorization: Material.secret(5))
        #expect(Data(exposing: secret) == Self.secret)

        let chip = try SoftwareTPM(madeBy: maker)
        try chip.keepCertificate(of: kind, by: maker)
        let stranger = try TPMEnclave(at: chip.shared, storageKey: nil)
        let foreign = try stranger.endorsement(
            ofAttestationKey: stranger.makeAttestationKey(authorization: Material.secret(5)))
        #expect(foreign.endorsementKey.prefix(8) == endorsement.endorsementKey.prefix(8))
        for wrong in [
            try credential(for: endorsement.attestationKey, foreign),
            try credential(for: foreign.attestationKey, endorsement),
        ] {
            expect(.unreadable) {
                _ = try enclave.secret(
                    in: wrong, forAttestationKey: attestationKey, authorization: Material.secret(5))
            }
        }
        #expect(try tpm.handles() == [0, 0, 0])
    }

    @Test func `a chip whose endorsement key is not kept computes it again, and one without a certificate says so`()
        throws
    {
        let kept = try enclave.endorsement(ofAttestationKey: attestationKey)
        try tpm.tool("tpm2_evictcontrol", "-C", "o", "-c", "0x81010001")
        #expect(try enclave.endorsement(ofAttestationKey: attestationKey) == kept)
        let credential = try credential(for: kept.attestationKey, kept)
        let secret = try enclave.secret(
            in: credential, forAttestationKey: attestationKey, authorization: Material.secret(5))
        #expect(Data(exposing: secret) == Self.secret)
        let chip = try SoftwareTPM()
        let bare = try TPMEnclave(at: chip.shared, storageKey: nil)
        let key = try bare.makeAttestationKey(authorization: Material.secret(5))
        expect(.endorsementMissing) { _ = try bare.endorsement(ofAttestationKey: key) }
    }

    @Test func `the attestation key signs nothing but what the chip says`() throws {
        let object = try ChipObject(blob: attestationKey, as: .attestationKey)
        try tpm.write(object.publicArea, named: "key.pub")
        try tpm.write(object.privateArea, named: "key.priv")
        try tpm.tool(
            "tpm2_createprimary", "-C", "e", "-G", "ecc", "-c", "parent.ctx", "-a",
            "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|noda|restricted|decrypt")
        try tpm.tool("tpm2_flushcontext", "-t")
        try tpm.tool("tpm2_load", "-C", "parent.ctx", "-u", "key.pub", "-r", "key.priv", "-c", "key.ctx")
        try tpm.tool("tpm2_flushcontext", "-t")
        let area = try tpm.tool("tpm2_readpublic", "-c", "key.ctx")
        #expect(
            area.contains("value: fixedtpm|fixedparent|sensitivedataorigin|userwithauth|noda|restricted|sign\n"))
        try tpm.tool("tpm2_flushcontext", "-t")
        try tpm.write(Material.digest, named: "digest")
        for value in ["hex:" + String(repeating: "05", count: 32), ""] {
            #expect(throws: SoftwareTPM.ToolFailed.self) {
                try tpm.tool(
                    "tpm2_sign", "-c", "key.ctx", "-p", value, "-g", "sha256", "-d", "-o", "signature", "digest")
            }
            try tpm.tool("tpm2_flushcontext", "-t")
        }
    }

    /// The text of tpm2_print on a statement. It does not know the part that is different for each type, and fails there.
    private func printed(_ name: String) -> String {
        do {
            return try tpm.tool("tpm2_print", "-t", "TPMS_ATTEST", name)
        } catch let error as SoftwareTPM.ToolFailed {
            return error.output
        } catch {
            return "\(error)"
        }
    }

    // MARK: keys

    @Test func `the chip certifies a key that needs no passcode`() throws {
        let key = try enclave.makeKey()
        let evidence = try attest(key)
        try requireSigned(evidence.statement)
        #expect(evidence.passcode == nil)
        let object = try ChipObject(blob: key.blob, as: .key)
        #expect(evidence.key == Data(object.publicArea.dropFirst(2)))
        let text = printed("attest")
        #expect(text.contains("magic: ff544347") && text.contains("type: 8017"), "\(text)")
        let challenge = Self.challenge.map { String(format: "%02x", $0) }.joined()
        #expect(text.contains("extraData: \(challenge)"))
        #expect(text.contains("resetCount: "))
        #expect(evidence.statement.content.range(of: ChipObject.name(ofArea: evidence.key)) != nil)
        #expect(try tpm.handles() == [0, 0, 0])
    }

    @Test func `the chip certifies a key below the passcode, and the index that counts wrong ones`() throws {
        let binding = KeyBinding(
            owner: Material.binding.owner, outsideInfo: Data("rule".utf8), requiresPasscode: true)
        let passcode = try enclave.makePasscode(
            Material.secret(3), sealing: Material.secret(9), of: binding.owner)
        try enclave.use(passcode, of: binding.owner)
        let key = try enclave.makeKey(authorization: Material.secret(1), binding: binding)
        expect(.refused) {
            _ = try enclave.openPasscode(passcode, of: binding.owner, authorization: Material.secret(4))
        }
        let session = try enclave.openPasscode(passcode, of: binding.owner, authorization: Material.secret(3)).session
        let evidence = try attest(key, binding, session)
        try requireSigned(evidence.statement)
        let below = try #require(evidence.passcode)
        try requireSigned(below.statement)
        let index = try ChipPasscode(blob: passcode).index
        #expect(ChipObject.name(ofArea: below.index) == index.name)
        #expect(below.statement.content.range(of: index.name) != nil, "the statement names the written index")
        #expect(below.statement.content.suffix(8) == PasscodeIndex.count)
        #expect(try enclave.wrongTries(at: passcode).count == 0, "and counts no try")
        #expect(try tpm.handles() == [0, 0, 0])
    }

    @Test func `a key is not attested with a wrong value, by another store's key, or with another passcode`() throws {
        let open = try enclave.open(enclave.makeKey())
        expect(.refused) {
            _ = try enclave.attest(
                open, binding: Material.binding, challenge: Self.challenge, attestationKey: attestationKey,
                authorization: Material.secret(6))
        }
        let chip = try SoftwareTPM()
        let stranger = try TPMEnclave(at: chip.shared, storageKey: nil)
        let foreign = try stranger.makeAttestationKey(authorization: Material.secret(5))
        expect(.unreadable) {
            _ = try enclave.attest(
                open, binding: Material.binding, challenge: Self.challenge, attestationKey: foreign,
                authorization: Material.secret(5))
        }
        expect(.invalidDigest) {
            _ = try enclave.attest(
                open, binding: Material.binding, challenge: Data(count: 31), attestationKey: attestationKey,
                authorization: Material.secret(5))
        }
        try open.expectSignature()
        #expect(try tpm.handles() == [0, 0, 0])
    }
}
