import CTSS2
import Crypto
import Foundation

/// The NV index that counts wrong passcodes of one user (TPM 2.0 part 2, "TPM_NT_PIN_FAIL"). The passcode's value is its
/// authorization value.
///
/// Its policy lets it be written only by the holder of a value that was thrown away after the first writing. So an index that
/// somebody defines in its place can be equal in all points but one: it was never written. So its name is another one, and
/// everything that names this index refuses it.
///
/// Anybody may read the count, by two branches of the policy that permit one command each and ask for no value. The owner may
/// read it too, with fewer commands.
struct PasscodeIndex: Equatable, Sendable {
    /// The number of wrong values in a row that the chip looks at. The daemon makes a person wait long before they reach it.
    static let limit: UInt32 = 10

    let handle: TPM2_HANDLE
    /// The first branch of the policy: the proof of the first writing. It names no command: with the value that was thrown away
    /// anybody could write the count back, so a limit would protect nothing more. A change of the index's value needs a branch
    /// that names it (TPM 2.0 part 1, "ADMIN Role").
    let writing: Policy
    /// The name of the written index.
    let name: Data
    /// Whether anybody may read it. In earlier versions only the owner could.
    let isOpenToReaders: Bool

    static let nameByteCount = 34

    init(handle: TPM2_HANDLE, writing: Policy, name: Data) {
        (self.handle, self.writing, self.name) = (handle, writing, name)
        isOpenToReaders =
            Self.writtenArea(at: handle, writing: writing, isOpenToReaders: true).map(ChipObject.name) == name
    }

    /// An index that is about to be made.
    ///
    /// - Parameter writer: the name of the object whose value is thrown away.
    init?(at handle: TPM2_HANDLE, writer: Data) {
        let writing = Policy.empty.secret(of: writer)
        guard let area = Self.writtenArea(at: handle, writing: writing, isOpenToReaders: true) else { return nil }
        self.init(handle: handle, writing: writing, name: ChipObject.name(ofArea: area))
    }

    /// The public area of the written index, without its size.
    var writtenArea: Data? { Self.writtenArea(at: handle, writing: writing, isOpenToReaders: isOpenToReaders) }

    private static func writtenArea(at handle: TPM2_HANDLE, writing: Policy, isOpenToReaders: Bool) -> Data? {
        var written = publicArea(at: handle, writing: writing, isOpenToReaders: isOpenToReaders).nvPublic
        written.attributes |= TPMA_NV_WRITTEN
        return marshalled(atMost: MemoryLayout<TPMS_NV_PUBLIC>.size) {
            Tss2_MU_TPMS_NV_PUBLIC_Marshal(&written, $0, $1, $2)
        }
    }

    /// A session must satisfy this policy to use an object that the passcode opens.
    var policy: Policy { Policy.empty.secret(of: name) }

    /// The policy of the parent of keys that require the passcode: anybody makes keys below it, and nobody loads one
    /// without the passcode.
    var parentPolicies: [Policy] { [Policy.empty.command(TPM2_CC_Create), policy] }

    // MARK: definition

    /// Of an index that only the owner reads.
    private static let formerAttributes =
        TPMA_NV(TPM2_NT_PIN_FAIL) << TPMA_NV(TPMA_NV_TPM2_NT_SHIFT) | TPMA_NV_NO_DA | TPMA_NV_AUTHREAD
        | TPMA_NV_OWNERREAD | TPMA_NV_POLICYWRITE
    private static let attributes = formerAttributes | TPMA_NV_POLICYREAD
    /// All that an index of ours can have.
    static let knownAttributes = [attributes, formerAttributes]

    /// The branches of the policy: the first writing, the change of the value by anyone who has it, and the reading and
    /// certifying by everybody. Each but the first permits one command.
    var policies: [Policy] { Self.policies(writing: writing, isOpenToReaders: isOpenToReaders) }

    /// The index before it is written.
    var publicArea: TPM2B_NV_PUBLIC {
        Self.publicArea(at: handle, writing: writing, isOpenToReaders: isOpenToReaders)
    }

    private static func policies(writing: Policy, isOpenToReaders: Bool) -> [Policy] {
        let reading = [TPM2_CC_NV_Read, TPM2_CC_NV_Certify].map(Policy.empty.command)
        return [writing, Policy.empty.ownValue().command(TPM2_CC_NV_ChangeAuth)] + (isOpenToReaders ? reading : [])
    }

    private static func publicArea(
        at handle: TPM2_HANDLE, writing: Policy, isOpenToReaders: Bool
    ) -> TPM2B_NV_PUBLIC {
        var area = TPM2B_NV_PUBLIC()
        area.nvPublic.nvIndex = handle
        area.nvPublic.nameAlg = TPM2_ALG_SHA256
        area.nvPublic.attributes = isOpenToReaders ? attributes : formerAttributes
        area.nvPublic.authPolicy.set(
            Policy.any(of: policies(writing: writing, isOpenToReaders: isOpenToReaders)).digest)
        area.nvPublic.dataSize = UInt16(count.count)
        return area
    }

    /// The content of a new index (TPMS_NV_PIN_COUNTER_PARAMETERS): no wrong value, and the limit.
    static let count = Data([0, 0, 0, 0]) + withUnsafeBytes(of: limit.bigEndian) { Data($0) }

    /// The handles for the index of a user.
    static func handles(of owner: Data) -> [TPM2_HANDLE] {
        IndexHandles.candidates(for: owner, label: "ostiary.tpm-enclave.v1.passcode-index")
    }
}

/// Where indexes of ours lie, in the range that the TCG gives to owners (Registry of Reserved TPM 2.0 Handles and Localities,
/// 2.2.2).
enum IndexHandles {
    /// The handles for one index of `subject`. They follow from it, so that an index that an interrupted start left behind is
    /// found.
    static func candidates(for subject: Data, label: String) -> [TPM2_HANDLE] {
        let digest = SHA256.hash(data: Data(label.utf8) + subject)
        let start = digest.prefix(4).reduce(TPM2_HANDLE(0)) { $0 << 8 | TPM2_HANDLE($1) }
        return (0..<16).map { 0x0180_0000 | (start &+ $0) & 0x003f_ffff }
    }
}
