import AccessControl
import Crypto
import RelyingParty

/// The identity of an object of Ostiary and its access control, whose digest stands in the key's public area
/// (`Documentation/formats/key-slots.md`).
struct ObjectHeader {
    let accessControl: AccessControl
    /// Nil for a key that is not for SSH alone.
    let sshConstraints: SSHKeyConstraints?
    private let owner: ArraySlice<UInt8>
    private let bytes: [UInt8]

    /// The length of the ids of store, owner and object.
    private static let idByteCount = 16
    private static let label = "ostiary.tpm-enclave.v1.binding-in-the-place-of-a-policy"

    init(_ bytes: [UInt8]) throws(RightAttestationError) {
        self.bytes = bytes
        do {
            var reader = TPMReader(bytes[...], .certInfo)
            // Version and suite.
            let version = try reader.number(1)
            guard (1...2).contains(version) else { throw RightAttestationError.accessControl }
            _ = try reader.number(1)
            func field() throws(AttestationError) -> ArraySlice<UInt8> { try reader.take(Int(try reader.number(4))) }
            let store = try field()
            owner = try field()
            let object = try field()
            guard [store, owner, object].allSatisfy({ $0.count == Self.idByteCount }) else {
                throw RightAttestationError.accessControl
            }
            let availability = try reader.number(1)
            accessControl = try AccessControl(canonicalBytes: Array(try field()))
            // The program or group that the key belongs to.
            _ = try field()
            sshConstraints = version == 2 ? try SSHKeyConstraints(canonicalBytes: Array(try field())) : nil
            try reader.requireEnd()
            guard UInt64(accessControl.availability.rawValue) == availability else {
                throw RightAttestationError.accessControl
            }
        } catch {
            throw .accessControl
        }
    }

    /// Whether every way of satisfying the rule has the passcode in it.
    var requiresPasscode: Bool { accessControl.keyRequirement.alternatives.allSatisfy { $0.contains(.passcode) } }

    /// The digest in the place of a policy in the area of a P-256 key (`Documentation/formats/tpm-enclave.md`).
    var facts: [UInt8] {
        let parts: [[UInt8]] = [
            Array(Self.label.utf8), [1, 1, (requiresPasscode ? 1 : 0) | (accessControl.confirmsEachSignature ? 2 : 0)],
            Array(SHA256.hash(data: owner)),
            Array(SHA256.hash(data: bytes)),
        ]
        return Array(SHA256.hash(data: parts.flatMap(\.self)))
    }
}
