import CTSS2
import Enclave
import Foundation

/// The store's record of a passcode in a chip: the index that counts, the secret that the passcode opens, and the parent of
/// keys that require it.
struct ChipPasscode: Sendable {
    let index: PasscodeIndex
    let sealed: ChipObject
    let parent: ChipObject

    private static let content: UInt8 = 4
    private static let headByteCount = 4 + 32 + PasscodeIndex.nameByteCount

    /// `version (1) || enclave kind (1) || content (1), 04 || handle (4) || policy of the writing (32) || name (34) || areas of
    /// the secret || areas of the parent`.
    var blob: Data {
        ChipObject.head(Self.content) + withUnsafeBytes(of: index.handle.bigEndian) { Data($0) }
            + index.writing.digest + index.name + sealed.publicArea + sealed.privateArea
            + parent.publicArea + parent.privateArea
    }

    init(index: PasscodeIndex, sealed: ChipObject, parent: ChipObject) {
        self.index = index
        self.sealed = sealed
        self.parent = parent
    }

    /// Reads a blob. Its areas are those that this enclave makes for this index; only the chip can tell whether it made them.
    init(blob: Data) throws(EnclaveError) {
        let rest = try ChipObject.content(of: blob, as: Self.content)
        guard rest.count > Self.headByteCount else { throw .unreadable }
        index = PasscodeIndex(
            handle: rest.prefix(4).reduce(TPM2_HANDLE(0)) { $0 << 8 | TPM2_HANDLE($1) },
            writing: Policy(digest: Data(rest.dropFirst(4).prefix(32))),
            name: Data(rest.dropFirst(36).prefix(PasscodeIndex.nameByteCount)))
        let areas = try ChipObject.areas(in: Data(rest.dropFirst(Self.headByteCount)), count: 4)
        sealed = ChipObject(publicArea: areas[0], privateArea: areas[1])
        parent = ChipObject(publicArea: areas[2], privateArea: areas[3])
        guard sealed.publicArea(matching: PublicArea.passcodeSecret(of: index)) != nil,
            parent.publicArea(matching: PublicArea.parent(of: index)) != nil
        else { throw .unreadable }
    }
}
