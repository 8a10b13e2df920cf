import CTSS2
import Enclave
import Foundation

/// The storage key below which all objects of the store lie: the machine's persistent one, or one that is computed from
/// the chip's owner seed and kept as a saved context.
///
/// Where the owner hierarchy has a password, only the owner can have the key computed. It is then made persistent, once, where
/// the machine would have it. From then on nobody needs the owner for it.
struct StorageRoot {
    /// Where the TCG and all common programs keep the storage key (TCG TPM v2.0 Provisioning Guidance, section 7.8).
    static let persistentHandle: TPM2_HANDLE = 0x8100_0001
    /// Where the storage key is kept if something else lies there: at the first free one of these.
    static let furtherHandles: [TPM2_HANDLE] = (1..<16).map { persistentHandle + $0 }

    let name: StorageKeyName
    private let place: Place

    private enum Place {
        case persistent(ESYS_TR)
        case saved(Answer<TPMS_CONTEXT>)
    }

    /// Finds the storage key.
    ///
    /// - Parameters:
    ///   - pinned: the name that it must have; nil for a new store, which takes the machine's persistent key or else the
    ///     template's.
    ///   - owner: the owner's password, for the case that the key must be computed and the owner has one.
    init(
        in context: TPMContext, pinned: StorageKeyName?, as owner: OwnerPassword? = nil
    ) throws(ChipFault) {
        if let persistent = try Self.persistent(at: Self.persistentHandle, in: context, pinned: pinned) {
            self = persistent
            return
        }
        do {
            try self.init(computedIn: context, pinned: pinned)
        } catch .ownerPassword {
            if let pinned, let kept = try Self.kept(in: context, pinned) {
                self = kept
            } else if let owner {
                self = try Self.madePersistent(in: context, pinned: pinned, by: owner)
            } else {
                throw .ownerPassword
            }
        }
    }

    private init(computedIn context: TPMContext, pinned: StorageKeyName?) throws(ChipFault) {
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

    private static func persistent(
        at persistentHandle: TPM2_HANDLE, in context: TPMContext, pinned: StorageKeyName?
    ) throws(ChipFault) -> StorageRoot? {
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

    /// The store's key, where it was made persistent beside something else.
    private static func kept(in context: TPMContext, _ pinned: StorageKeyName) throws(ChipFault) -> StorageRoot? {
        for handle in furtherHandles {
            if let kept = try persistent(at: handle, in: context, pinned: pinned) { return kept }
        }
        return nil
    }

    // MARK: with the owner's password

    /// Has the key computed by the owner, and keeps it in the chip.
    private static func madePersistent(
        in context: TPMContext, pinned: StorageKeyName?, by owner: OwnerPassword
    ) throws(ChipFault) -> StorageRoot {
        try withSession(in: context) { (session) throws(ChipFault) in
            for coordinateByteCount: UInt16 in [0, 32] {
                let template = PublicArea.storageKey(coordinateByteCount: coordinateByteCount)
                let handle = try byOwner(owner, in: context) { () throws(ChipFault) in
                    try context.primaryKey(template, in: ESYS_TR(ESYS_TR_RH_OWNER), authorizedBy: session)
                }
                defer { context.discard(handle) }
                if let made = try keep(handle, ifNamed: pinned, by: owner, session, in: context) { return made }
            }
            throw .otherStorageKey
        }
    }

    private static func keep(
        _ handle: ESYS_TR, ifNamed pinned: StorageKeyName?, by owner: OwnerPassword, _ session: ESYS_TR,
        in context: TPMContext
    ) throws(ChipFault) -> StorageRoot? {
        let name = try name(of: handle, in: context)
        guard pinned == nil || pinned == name else { return nil }
        // Another store has had it kept already.
        if let there = try kept(in: context, name) { return there }
        let place = try freeHandle(in: context)
        return try byOwner(owner, in: context) { () throws(ChipFault) in
            var kept = ESYS_TR()
            try context.run {
                Esys_EvictControl(
                    $0, ESYS_TR(ESYS_TR_RH_OWNER), handle, session, ESYS_TR_NONE, ESYS_TR_NONE, place, &kept)
            }
            return StorageRoot(name, .persistent(kept))
        }
    }

    private static func freeHandle(in context: TPMContext) throws(ChipFault) -> TPM2_HANDLE {
        for handle in [persistentHandle] + furtherHandles {
            var found = ESYS_TR()
            do {
                try context.run {
                    Esys_TR_FromTPMPublic($0, handle, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &found)
                }
                try context.run { Esys_TR_Close($0, &found) }
            } catch .response(let code) where code.isUnknownHandle {
                return handle
            }
        }
        throw .response(ResponseCode(TPM2_RC(OSTIARY_TPM_RC_NV_SPACE)))
    }

    /// One command of the owner.
    private static func byOwner<Result>(
        _ owner: OwnerPassword, in context: TPMContext, _ command: () throws(ChipFault) -> Result
    ) throws(ChipFault) -> Result {
        do {
            return try context.withPassword(of: owner, command)
        } catch .response(let code) where code.isWrongAuthorization {
            throw .wrongOwnerPassword
        }
    }

    /// Lends a session for the owner's password while the storage key is not there. It is salted to a key of the null hierarchy,
    /// which asks for nothing and ends with it. So recorded traffic is no test for guesses at the password. Somebody who
    /// answers in the chip's place could test guesses: no key of the chip is known yet.
    private static func withSession(
        in context: TPMContext, _ body: (ESYS_TR) throws(ChipFault) -> StorageRoot
    ) throws(ChipFault) -> StorageRoot {
        let key = try context.primaryKey(
            PublicArea.storageKey(coordinateByteCount: 0), in: ESYS_TR(ESYS_TR_RH_NULL))
        let session = try startedSession(saltedTo: key, in: context)
        defer { context.discard(session) }
        return try body(session)
    }

    /// - Parameter key: let go afterwards.
    private static func startedSession(
        saltedTo key: ESYS_TR, in context: TPMContext
    ) throws(ChipFault) -> ESYS_TR {
        defer { context.discard(key) }
        return try Sessions.start(TPM2_SE(TPM2_SE_HMAC), in: context, saltedTo: key)
    }

    // MARK: use

    /// tpm2-tss computes the name from the public area to which it also encrypts the salts of sessions. So a TPM cannot
    /// claim one key's name and let us encrypt to another key.
    static func name(of handle: ESYS_TR, in context: TPMContext) throws(ChipFault) -> StorageKeyName {
        let name: Answer<TPM2B_NAME> = try context.answer { Esys_TR_GetName($0, handle, $1) }
        return StorageKeyName(name.pointer.pointee.bytes)
    }

    /// Lends the handle of the loaded storage key. If the chip does not let the key go afterwards, the result counts all the
    /// same: it may be a session, which somebody must know to end it.
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
