public import AccessControl
import Crypto
public import Foundation
import RelyingParty

/// A TPM's statement on a right's key that was verified (`ostiary right attest`, `LAPersistedRight.attestation(for:)`).
public struct RightAttestation: Sendable {
    /// The key of the right: `04`, x and y.
    public let publicKey: Data
    /// The proofs that its use requires, fixed when the key was made.
    public let accessControl: AccessControl
    /// The limits of a key that signs for SSH alone, fixed when the key was made; nil for another key.
    public let sshConstraints: SSHKeyConstraints?
    /// For an access control that needs the passcode in every case; the chip asks for it then.
    public let passcode: CountedPasscode?
    /// The chip at the time of the statement.
    public let chip: ChipState
    /// SHA-256 of the TPM's certificate.
    public let certificateDigest: Data

    /// The chip's count of wrong passcodes.
    public struct CountedPasscode: Sendable, Equatable {
        /// In a row, at the time of the statement.
        public let wrongCount: UInt32
        /// After this number in a row the chip looks at no value any more.
        public let limit: UInt32
    }

    /// The TPM's data on itself along with each statement.
    public struct ChipState: Sendable, Equatable {
        /// How often the chip was started, so that all that was loaded was forgotten.
        public let resetCount: UInt32
        /// How often it was started or resumed since the last reset.
        public let restartCount: UInt32
        /// Milliseconds in which the chip had power.
        public let clock: UInt64
        /// False if the clock may have told a later time before.
        public let isClockSafe: Bool
        public let firmwareVersion: UInt64
    }

    /// Verifies a statement.
    ///
    /// - Parameters:
    ///   - challenge: the challenge of the server, 16 to 1024 bytes. Take it out of its ``RelyingParty/ChallengeStore`` before, so that no
    ///     statement counts twice.
    ///   - key: the machine's attestation key, as it was enrolled.
    ///   - publicKey: the key that the server expects, `04`, x and y; nil for any.
    /// - Throws: ``RightAttestationError``.
    public init(
        verifying statement: Data, challenge: Data, by key: KnownAttestationKey, publicKey expected: Data? = nil
    ) throws(RightAttestationError) {
        let parts = try StatementParts(statement)
        let signer = try StatementSigner(key, challenge: challenge)
        let header = try ObjectHeader(parts.header)
        guard header.accessControl.confirmsEachSignature == (parts.approver != nil) else { throw .approver }
        guard let point = try Self.area(of: header, approver: parts.approver).key(in: parts.key, .statement)?.p256Point
        else { throw try Self.isKey(parts.key, isApproved: parts.approver != nil) ? .accessControl : .key }
        guard expected == nil || expected == point else { throw .otherKey }
        let attest = try signer.verified(parts.certified, .key)
        guard case .object(let name, let qualifiedName) = attest.subject, name.elementsEqual(TPMName.of(parts.key))
        else { throw .subject(.key) }
        let storageKey = TPMName.qualified(parts.storageKey, below: TPMName.ownerHierarchy)
        let place = try parts.passcode.map { (parts) throws(RightAttestationError) in
            try PasscodePlace(parts, signer, at: attest.clock, below: storageKey)
        }
        guard header.requiresPasscode == (place != nil) else { throw .passcodeParent }
        guard
            qualifiedName.elementsEqual(
                TPMName.qualified(Array(name), below: place?.qualifiedName ?? storageKey))
        else { throw .parent }
        publicKey = point
        accessControl = header.accessControl
        sshConstraints = header.sshConstraints
        passcode = place?.count
        chip = ChipState(attest)
        certificateDigest = key.certificateDigest
    }

    /// The area that a key with this header must have.
    ///
    /// - Parameter approver: the area of the key that approves each signature.
    private static func area(
        of header: ObjectHeader, approver: [UInt8]?
    ) throws(RightAttestationError) -> KeyArea {
        guard let approver else { return .right(facts: header.facts) }
        guard try KeyArea.approver.key(in: approver, .statement)?.p256Point != nil else { throw .approver }
        return .approvedRight(policy: .signed(by: TPMName.of(approver), reference: header.facts))
    }

    /// Whether the area is one of Ostiary's keys on P-256, with any facts.
    private static func isKey(_ area: [UInt8], isApproved: Bool) throws(RightAttestationError) -> Bool {
        // Type, hash and attributes, the length of the facts or policy, then the facts or policy.
        guard area.count > 42 else { return false }
        let digest = Array(area[10..<42])
        let expected: KeyArea =
            isApproved ? .approvedRight(policy: TPMPolicy(digest: digest)) : .right(facts: digest)
        return try expected.key(in: area, .statement)?.p256Point != nil
    }
}

extension RightAttestation.ChipState {
    fileprivate init(_ attest: TPMAttest) {
        self.init(
            resetCount: attest.clock.resetCount, restartCount: attest.clock.restartCount,
            clock: attest.clock.milliseconds, isClockSafe: attest.clock.isSafe,
            firmwareVersion: attest.firmwareVersion)
    }
}

/// The members of a statement.
private struct StatementParts {
    typealias Signed = (content: [UInt8], signature: [UInt8])

    struct Passcode {
        let parent: [UInt8]
        let index: [UInt8]
        let writing: [UInt8]
        let certified: Signed
    }

    let header: [UInt8]
    let key: [UInt8]
    let storageKey: [UInt8]
    let certified: Signed
    let passcode: Passcode?
    let approver: [UInt8]?

    private static let ofPasscode = ["parent", "index", "writing", "indexInfo", "indexSig"]

    init(_ statement: Data) throws(RightAttestationError) {
        let reader = try DocumentReader(
            statement, .statement, format: "ostiary-tpm-key",
            members: Set(["header", "key", "storageKey", "certInfo", "sig", "approver"] + Self.ofPasscode))
        header = try reader.bytes("header")
        key = try reader.bytes("key")
        storageKey = try reader.bytes("storageKey")
        certified = (try reader.bytes("certInfo"), try reader.bytes("sig"))
        approver = try reader.bytes(allOrNone: ["approver"])?.first
        passcode = try reader.bytes(allOrNone: Self.ofPasscode).map {
            Passcode(parent: $0[0], index: $0[1], writing: $0[2], certified: ($0[3], $0[4]))
        }
    }
}

/// The attestation key, for one challenge.
private struct StatementSigner {
    private let key: P256.Signing.PublicKey
    private let qualifiedName: [UInt8]
    private let digest: SHA256Digest

    /// As the daemon takes them. A shorter one could be guessed, and its statement made beforehand.
    private static let challengeByteCounts = 16...1024

    init(_ key: KnownAttestationKey, challenge: Data) throws(RightAttestationError) {
        guard Self.challengeByteCounts.contains(challenge.count) else { throw .challengeByteCount(challenge.count) }
        self.key = try key.signingKey
        qualifiedName = key.qualifiedName
        digest = SHA256.hash(data: Data("ostiary.attestation.v1".utf8) + challenge)
    }

    func verified(_ signed: StatementParts.Signed, _ part: AttestedPart) throws(RightAttestationError) -> TPMAttest {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signed.signature),
            key.isValidSignature(signature, for: signed.content)
        else { throw .signature(part) }
        let attest: TPMAttest
        do { attest = try TPMAttest(signed.content[...]) } catch { throw .structure(.statement, error) }
        guard attest.signer.elementsEqual(qualifiedName) else { throw .signer(part) }
        guard attest.extraData.elementsEqual(digest) else { throw .challenge(part) }
        return attest
    }
}

/// The parent that asks for the passcode, and its place in the chip.
private struct PasscodePlace {
    let qualifiedName: [UInt8]
    let count: RightAttestation.CountedPasscode

    init(
        _ parts: StatementParts.Passcode, _ signer: StatementSigner, at clock: TPMAttest.Clock,
        below storageKey: [UInt8]
    ) throws(RightAttestationError) {
        let index = try PasscodeIndexArea(parts.index, writing: parts.writing)
        let policy = TPMPolicy.any(of: [.creation, .secret(of: index.name)])
        guard try KeyArea.parent(policy: policy).key(in: parts.parent, .statement) != nil else { throw .passcodeParent }
        qualifiedName = TPMName.qualified(TPMName.of(parts.parent), below: storageKey)
        let attest = try signer.verified(parts.certified, .index)
        guard case .index(let name, 0, let content) = attest.subject, name.elementsEqual(index.name),
            content.count == 8
        else { throw .subject(.index) }
        guard attest.clock.resetCount == clock.resetCount, attest.clock.restartCount == clock.restartCount else {
            throw .restarted
        }
        func number(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }
        count = RightAttestation.CountedPasscode(
            wrongCount: number(content.prefix(4)), limit: number(content.suffix(4)))
        guard (1...10).contains(count.limit) else { throw .index }
    }
}
