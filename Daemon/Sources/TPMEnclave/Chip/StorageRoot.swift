import CTSS2
import Foundation

/// The storage key below which all objects of the store lie: the machine's persistent one, or one that is computed from
/// the chip's owner seed and kept as a saved context.
struct StorageRoot {
    /// Where the TCG and all common programs keep the storage key (TCG TPM v2.0 Provisioning Guidance, section 7.8).
    static let persistentHandle: TPM2_HANDLE = 0x8100_0001

    let name: StorageKeyName
    private let place: Place

    private enum Place {
        case persistent(ESYS_TR)
        case saved(Answer<TPMS_CONTEXT>)
    }

    /// Finds the storage key.
    ///
    /// - Parameter pinned: the name that it must have; nil for a new store, which takes the machine's persistent key or
    ///   else the template's.
    init(in context: TPMContext, pinned: StorageKeyName?) throws(ChipFault) {
        if let persistent = try Self.persistent(in: context, pinned: pinned) {
            self = persistent
            return
        }
        for coordinateByteCount: UInt16 in [0, 32] {
            let template = PublicArea.storageKey(coordinateByteCount: coordinateByteCount)
            let root = try Self.computed(from: template, in: context)
            if pinned == nil || root.name == pinned {
                self = root
                return
            }
        }
        throw .otherStorageKey
    }

    private init(_ name: StorageKeyName, _ place: Place) {
        self.name = name
        self.place = place
    }

    private static func persistent(in context: TPMContext, pinned: StorageKeyName?) throws(ChipFault) -> StorageRoot? {
        var found = ESYS_TR()
        do {
            try context.run {
                Esys_TR_FromTPMPublic($0, persistentHandle, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &found)
            }
        } catch .response(let code) where code.isUnknownHandle {
            return nil
        }
        let name = try Self.name(of: found, in: context)
        if let pinned { return name == pinned ? StorageRoot(name, .persistent(found)) : nil }
        let area: Answer<TPM2B_PUBLIC> = try context.answer {
            Esys_ReadPublic($0, found, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, $1, nil, nil)
        }
        return PublicArea.isStorageKey(area.pointer.pointee) ? StorageRoot(name, .persistent(found)) : nil
    }

    private static func computed(from template: TPM2B_PUBLIC, in context: TPMContext) throws(ChipFault) -> StorageRoot {
        let handle: ESYS_TR
        do { handle = try context.primaryKey(template, in: ESYS_TR(ESYS_TR_RH_OWNER)) } catch .response(let code)
            where code.isWrongAuthorization
        { throw .ownerPassword }
        defer { context.discard(handle) }
        return StorageRoot(try Self.name(of: handle, in: context), .saved(try context.saved(handle)))
    }

    /// tpm2-tss computes the name from the public area to which it also encrypts the salts of sessions. So a TPM cannot
    /// claim one key's name and let us encrypt to another key.
    static func name(of handle: ESYS_TR, in context: TPMContext) throws(ChipFault) -> StorageKeyName {
        let name: Answer<TPM2B_NAME> = try context.answer { Esys_TR_GetName($0, handle, $1) }
        return StorageKeyName(name.pointer.pointee.bytes)
    }

    /// Lends the handle of the loaded storage key. If the chip does not let the key go afterwards, the result counts all the same: it may
    /// be a session, which somebody must know to end it.
    func withHandle<Result>(
        in context: TPMContext, _ body: (ESYS_TR) throws(ChipFault) -> Result
    ) throws(ChipFault) -> Result {
        switch place {
        case .persistent(let handle): return try body(handle)
        case .saved(let saved):
            let handle = try context.load(saved)
            defer { context.discard(handle) }
            return try body(handle)
        }
    }
}
