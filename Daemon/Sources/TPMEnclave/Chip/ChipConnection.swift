import CTSS2
import Enclave
import Foundation
import SecretMemory

/// One connection to a TPM, with the objects and sessions that we have in it. For one thread at a time.
///
/// At most two objects are in the chip at a moment, a parent and one object of the store, or three where one key attests another.
/// There are at most three sessions.
final class ChipConnection {
    let context: TPMContext
    let root: StorageRoot
    private(set) var startedSessions: Sessions?
    /// The object that is in the chip.
    private var resident: (object: ObjectIdentifier, handle: ESYS_TR)?
    /// Objects that were in the chip and can come back in one command. They are grants: each is dropped with its key.
    private var saved: [ObjectIdentifier: Answer<TPMS_CONTEXT>] = [:]
    /// The indexes that were read once. What tpm2-tss knows of them takes nothing in the chip.
    private var knownIndexes: [TPM2_HANDLE: (index: ESYS_TR, name: Data)] = [:]
    /// The locks of the loaded keys below a passcode.
    private var locks: [ObjectIdentifier: ContextLock] = [:]
    private var locked = LockedContexts()
    /// The policy session that the chip ended with its last command.
    private var endedSession: ESYS_TR?
    /// Whether something of ours may be left in the chip. Such a connection serves nobody any more.
    var isSpoilt: Bool { isUnsettled || context.isSpoilt }
    /// Whether objects or sessions of ours may be in the chip without our knowledge.
    private var isUnsettled = false
    /// The owner's password, while a request has one.
    var owner: OwnerPassword?

    init(_ location: TPMLocation, pinned: StorageKeyName?, as owner: OwnerPassword? = nil) throws(ChipFault) {
        context = try TPMContext(location)
        root = try StorageRoot(in: context, pinned: pinned, as: owner)
    }

    /// The sessions, started when they are first needed.
    func sessions() throws(ChipFault) -> Sessions {
        if let startedSessions { return startedSessions }
        let context = self.context
        let sessions = try root.withHandle(in: context) { (root) throws(ChipFault) in
            try Sessions(in: context, saltedTo: root)
        }
        startedSessions = sessions
        return sessions
    }

    // MARK: objects

    /// Lends the loaded `object`, which stays in the chip as long as no other needs its slot.
    ///
    /// - Parameter passcode: for an object below a passcode that is not in the chip and has no saved context.
    func withLoaded<Result: ~Copyable>(
        _ object: ChipObject, passcode: TPMPasscodeSession? = nil, _ body: (ESYS_TR) throws(ChipFault) -> Result
    ) throws(ChipFault) -> Result {
        let identifier = ObjectIdentifier(object)
        if let resident, resident.object == identifier { return try body(resident.handle) }
        try evict()
        let handle =
            if let saved = saved[identifier] {
                try context.load(saved)
            } else if let parent = object.parent {
                try load(object, below: parent, passcode: passcode)
            } else {
                try load(object)
            }
        resident = (identifier, handle)
        return try body(handle)
    }

    /// Lends the loaded `object` and removes it from the chip afterwards.
    func withLoadedOnce<Result: ~Copyable>(
        _ object: ChipObject, _ body: (ESYS_TR) throws(ChipFault) -> Result
    ) throws(ChipFault) -> Result {
        try evict()
        let handle = try load(object)
        defer { discard(handle) }
        return try body(handle)
    }

    /// Loads `object` below the storage key. The chip refuses what it did not make under this parent.
    private func load(_ object: ChipObject) throws(ChipFault) -> ESYS_TR {
        let sessions = try sessions()
        let context = self.context
        return try root.withHandle(in: context) { (root) throws(ChipFault) in
            try Self.load(object, below: root, authorizedBy: sessions.authorizing, sessions, in: context)
        }
    }

    /// TPM2_Load (TPM 2.0 part 3, 12.2).
    ///
    /// - Parameter session: authorizes the use of the parent.
    static func load(
        _ object: ChipObject, below parent: ESYS_TR, authorizedBy session: ESYS_TR, _ sessions: Sessions,
        in context: TPMContext
    ) throws(ChipFault) -> ESYS_TR {
        var privateArea = TPM2B_PRIVATE()
        var offset = 0
        let code = object.privateArea.withUnsafeBytes {
            Tss2_MU_TPM2B_PRIVATE_Unmarshal($0.bindMemory(to: UInt8.self).baseAddress, $0.count, &offset, &privateArea)
        }
        guard code == 0, offset == object.privateArea.count, var publicArea = PublicArea.read(object.publicArea) else {
            throw .foreignObject
        }
        try sessions.encrypt(.toChip, in: context)
        var handle = ESYS_TR()
        do {
            try context.run {
                Esys_Load(
                    $0, parent, session, sessions.encrypting, ESYS_TR_NONE, &privateArea, &publicArea, &handle)
            }
            return handle
        } catch .response(let code) where code.isForeignObject {
            throw .foreignObject
        }
    }

    /// Frees the slot of the object in the chip. It comes back from its saved context.
    private func evict() throws(ChipFault) {
        guard let resident else { return }
        if saved[resident.object] == nil { saved[resident.object] = try context.saved(resident.handle) }
        self.resident = nil
        discard(resident.handle)
    }

    /// The saved context of an object whose slot another object has now.
    func contextOfDisplaced(_ object: ObjectIdentifier) -> Answer<TPMS_CONTEXT>? {
        guard let resident, resident.object != object else { return nil }
        return saved[object]
    }

    /// Loads an object from the context that another connection saved. The connection has no object.
    func take(_ object: ObjectIdentifier, from context: Answer<TPMS_CONTEXT>) throws(ChipFault) {
        resident = (object, try self.context.load(context))
    }

    /// Forgets all of `object`: nobody uses it any more. One with a lock can come back with its passcode.
    func forget(_ object: ObjectIdentifier) {
        if let lock = locks.removeValue(forKey: object) { keep(object, under: lock) }
        saved[object] = nil
        guard let resident, resident.object == object else { return }
        self.resident = nil
        discard(resident.handle)
    }

    func discard(_ handle: ESYS_TR) { context.discard(handle) }

    // MARK: keys that come back with their passcode

    /// Loads `object` from the context that it left behind.
    ///
    /// - Returns: false if it left none that this lock opens, or the chip was restarted since.
    func bringBack(_ object: ChipObject, _ lock: ContextLock) throws(ChipFault) -> Bool {
        guard let context = locked.context(under: lock) else { return false }
        try evict()
        do {
            resident = (ObjectIdentifier(object), try context.loaded(in: self.context))
        } catch .forgotten {
            locked.remove(lock.name)
            return false
        }
        locks[ObjectIdentifier(object)] = lock
        return true
    }

    /// When `object` is forgotten, its context is kept under `lock`.
    func hold(_ lock: ContextLock, for object: ChipObject) { locks[ObjectIdentifier(object)] = lock }

    /// No key comes back without the chip's own look at its passcode, nor does one that is in use now.
    func forgetLockedContexts() {
        locked = LockedContexts()
        locks = [:]
    }

    private func keep(_ object: ObjectIdentifier, under lock: ContextLock) {
        guard !locked.contains(lock.name) else { return }
        do {
            if let saved = saved[object] {
                locked.keep(saved, under: lock)
            } else if let resident, resident.object == object, isStillOurs(resident.handle) {
                locked.keep(try context.saved(resident.handle), under: lock)
            }
        } catch { /* The key is loaded below its parent the next time. */  }
    }

    // MARK: indexes

    /// An index that was found, with the name that it must have.
    enum FoundIndex {
        case found(ESYS_TR)
        case replaced
        case missing
    }

    /// The index at this handle as it is now.
    func readIndex(at handle: TPM2_HANDLE, named name: Data) throws(ChipFault) -> FoundIndex {
        guard let found = try indexHandle(at: handle) else { return .missing }
        guard try self.name(of: found) == name else {
            close(found)
            return .replaced
        }
        remember(found, at: handle, named: name)
        return .found(found)
    }

    /// The index at this handle as it was when it was last read. Only for commands whose session covers the index's name: the
    /// chip refuses them for another index.
    func knownIndex(at handle: TPM2_HANDLE, named name: Data) throws(ChipFault) -> FoundIndex {
        if let known = knownIndexes[handle], known.name == name { return .found(known.index) }
        return try readIndex(at: handle, named: name)
    }

    /// Indexes that are known at a time. A daemon has one for its user, and one for its store.
    private static let knownIndexLimit = 16

    func remember(_ index: ESYS_TR, at handle: TPM2_HANDLE, named name: Data) {
        if knownIndexes.count >= Self.knownIndexLimit { knownIndexes.keys.forEach(forgetIndex) }
        knownIndexes[handle] = (index, name)
    }

    func forgetIndex(at handle: TPM2_HANDLE) {
        if let known = knownIndexes.removeValue(forKey: handle) { close(known.index) }
    }

    // MARK: policy sessions

    /// Lends a policy session, and removes it afterwards.
    func withPolicySession<Result: ~Copyable>(
        _ body: (ESYS_TR) throws(ChipFault) -> Result
    ) throws(ChipFault) -> Result {
        let context = self.context
        let session = try root.withHandle(in: context) { (root) throws(ChipFault) in
            try Sessions.start(TPM2_SE(TPM2_SE_POLICY), in: context, saltedTo: root)
        }
        defer { if endedSession != session { discard(session) } }
        return try body(session)
    }

    /// Lends a policy session to its last command. The chip ends it with that command, unless it refuses the command.
    ///
    /// - Parameter attributes: of the session, for this command.
    func withLastUse<Result: ~Copyable>(
        of session: ESYS_TR, attributes: TPMA_SESSION = 0, _ body: () throws(ChipFault) -> Result
    ) throws(ChipFault) -> Result {
        try context.run { Esys_TRSess_SetAttributes($0, session, attributes, 0xff) }
        let result = try body()
        endedSession = session
        close(session)
        return result
    }

    // MARK: authorization

    /// Lends `handle` with its authorization value to one command. tpm2-tss keeps a copy of the value for that time
    /// only; it is overwritten afterwards.
    func authorized<Result: ~Copyable>(
        _ handle: ESYS_TR, with value: borrowing SecretBytes, _ body: (Sessions) throws(ChipFault) -> Result
    ) throws(ChipFault) -> Result {
        try withSessions(refusedAs: .wrongAuthorization) { (sessions) throws(ChipFault) -> Result in
            try withAuthorization(of: handle, value) { () throws(ChipFault) in try body(sessions) }
        }
    }

    /// Lends `handle` with its authorization value to one command, whose refusal the caller explains.
    func withAuthorization<Result: ~Copyable>(
        of handle: ESYS_TR, _ value: borrowing SecretBytes, _ body: () throws(ChipFault) -> Result
    ) throws(ChipFault) -> Result {
        try setAuthorization(of: handle, to: value)
        defer { clearAuthorization(of: handle) }
        return try body()
    }

    /// Lends the sessions to one command.
    ///
    /// - Parameter refusal: the meaning of a refused authorization value.
    func withSessions<Result: ~Copyable>(
        refusedAs refusal: ChipFault, _ body: (Sessions) throws(ChipFault) -> Result
    ) throws(ChipFault) -> Result {
        let sessions = try sessions()
        do {
            return try body(sessions)
        } catch .response(let code) where code.isWrongAuthorization {
            // After a restart of the chip the same numbers can mean another program's session or object.
            throw sessions.answer(in: context) ? refusal : .forgotten(code)
        }
    }

    private func setAuthorization(of handle: ESYS_TR, to value: borrowing SecretBytes) throws(ChipFault) {
        // No object of ours has a longer value than its name's digest, so no longer one is right.
        guard value.count <= 32 else { throw .wrongAuthorization }
        try context.setAuthorization(of: handle, to: value)
    }

    func clearAuthorization(of handle: ESYS_TR) { context.clearAuthorization(of: handle) }

    /// Lends the sessions to one command of the chip's owner, with the owner's password if the request has one.
    func authorizedByOwner<Result: ~Copyable>(
        _ body: (Sessions) throws(ChipFault) -> Result
    ) throws(ChipFault) -> Result {
        guard let owner else { return try withSessions(refusedAs: .ownerPassword, body) }
        let context = self.context
        return try withSessions(refusedAs: .wrongOwnerPassword) { (sessions) throws(ChipFault) -> Result in
            try context.withPassword(of: owner) { () throws(ChipFault) in try body(sessions) }
        }
    }

    // MARK: ends

    /// Leaves nothing of ours in the chip. What it needs comes back with the next request.
    func rest() {
        do { try evict() } catch { isUnsettled = true }
        startedSessions?.discard(in: context)
        startedSessions = nil
    }

    /// Removes our object and sessions from the chip, unless it has forgotten them: then the same numbers can be another
    /// program's.
    func close() {
        saved = [:]
        forgetLockedContexts()
        if let resident, isStillOurs(resident.handle) { discard(resident.handle) }
        resident = nil
        guard let sessions = startedSessions, sessions.answer(in: context) else { return }
        startedSessions = nil
        sessions.discard(in: context)
    }

    /// Whether the handle means the object that we loaded. No other has its name.
    private func isStillOurs(_ handle: ESYS_TR) -> Bool {
        do {
            let own: Answer<TPM2B_NAME> = try context.answer { Esys_TR_GetName($0, handle, $1) }
            let answered: Answer<TPM2B_NAME> = try context.answer {
                Esys_ReadPublic($0, handle, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, nil, $1, nil)
            }
            return own.pointer.pointee.bytes == answered.pointer.pointee.bytes
        } catch {
            return false
        }
    }

    /// After how long the chip forgets one wrong authorization value (TPM_PT_LOCKOUT_INTERVAL).
    func lockoutInterval() throws(ChipFault) -> Duration {
        .seconds(Int64(try property(OSTIARY_TPM_PT_LOCKOUT_INTERVAL)))
    }

    /// One of the chip's numbers about itself (TPM 2.0 part 2, "TPM_PT").
    func property(_ property: Int) throws(ChipFault) -> UInt32 {
        let property = TPM2_PT(property)
        let answer: Answer<TPMS_CAPABILITY_DATA> = try context.answer {
            Esys_GetCapability(
                $0, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, TPM2_CAP_TPM_PROPERTIES, property, 1, nil, $1)
        }
        let list = answer.pointer.pointee.data.tpmProperties
        guard list.count == 1, list.tpmProperty.0.property == property else { throw .malformedAnswer }
        return list.tpmProperty.0.value
    }
}

extension TPM2B_DIGEST {
    /// - Parameter value: at most 64 bytes.
    mutating func set(_ value: borrowing SecretBytes) {
        size = UInt16(value.count)
        value.withUnsafeBytes { bytes in withUnsafeMutableBytes(of: &buffer) { $0.copyMemory(from: bytes) } }
    }
}
