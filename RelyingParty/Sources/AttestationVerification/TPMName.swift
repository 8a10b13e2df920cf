import Crypto

/// Names of objects and indexes in a TPM: the number of SHA-256 and a digest (TPM 2.0 Library, part 1, "Names").
enum TPMName {
    static let byteCount = 34

    static func of(_ area: [UInt8]) -> [UInt8] { [0x00, 0x0B] + SHA256.hash(data: area) }

    /// The name of an object along with its place: below `parent`, which is the qualified name of another object, or below
    /// the number of a hierarchy.
    static func qualified(_ name: [UInt8], below parent: [UInt8]) -> [UInt8] {
        [0x00, 0x0B] + SHA256.hash(data: parent + name)
    }

    /// TPM_RH_OWNER.
    static let ownerHierarchy: [UInt8] = [0x40, 0x00, 0x00, 0x01]
    /// TPM_RH_ENDORSEMENT.
    static let endorsementHierarchy: [UInt8] = [0x40, 0x00, 0x00, 0x0B]
}

/// The digest of a policy, computed as the TPM does (TPM 2.0 Library, part 3, section 23).
struct TPMPolicy {
    private enum Command {
        static let nvChangeAuth: [UInt8] = [0x00, 0x00, 0x01, 0x3B]
        static let nvRead: [UInt8] = [0x00, 0x00, 0x01, 0x4E]
        static let nvCertify: [UInt8] = [0x00, 0x00, 0x01, 0x84]
        static let policySecret: [UInt8] = [0x00, 0x00, 0x01, 0x51]
        static let policySigned: [UInt8] = [0x00, 0x00, 0x01, 0x60]
        static let create: [UInt8] = [0x00, 0x00, 0x01, 0x53]
        static let policyAuthValue: [UInt8] = [0x00, 0x00, 0x01, 0x6B]
        static let policyCommandCode: [UInt8] = [0x00, 0x00, 0x01, 0x6C]
        static let policyOR: [UInt8] = [0x00, 0x00, 0x01, 0x71]
    }

    static let byteCount = 32
    let digest: [UInt8]

    private static let empty = TPMPolicy(digest: [UInt8](repeating: 0, count: byteCount))

    private func extended(_ bytes: [UInt8]) -> TPMPolicy { TPMPolicy(digest: Array(SHA256.hash(data: digest + bytes))) }

    /// Requires the value of the object, index or hierarchy with this name.
    static func secret(of name: [UInt8]) -> TPMPolicy { empty.extended(Command.policySecret + name).extended([]) }

    /// Requires a signature of the key with this name over the session, the command, its parameters and `reference`.
    static func signed(by name: [UInt8], reference: [UInt8]) -> TPMPolicy {
        empty.extended(Command.policySigned + name).extended(reference)
    }

    static func any(of policies: [TPMPolicy]) -> TPMPolicy {
        empty.extended(Command.policyOR + policies.flatMap(\.digest))
    }

    /// Permits anyone to create objects.
    static let creation = empty.extended(Command.policyCommandCode + Command.create)
    /// Permits anyone who brings the value of an index to change it.
    static let changeOfValue = empty.extended(Command.policyAuthValue)
        .extended(Command.policyCommandCode + Command.nvChangeAuth)
    /// Permits anyone to read an index, and to have it certified.
    static let reading = [Command.nvRead, Command.nvCertify].map { empty.extended(Command.policyCommandCode + $0) }
}
