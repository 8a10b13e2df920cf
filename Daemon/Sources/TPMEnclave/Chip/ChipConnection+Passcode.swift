import CTSS2
import Foundation
import SecretMemory

/// The commands around a passcode, each with the section of TPM 2.0 part 3 that it comes from.
extension ChipConnection {
    // MARK: the index

    /// Defines and writes the index of a user, replacing a former one. Nobody can write it again. The index asks for
    /// `authorization` then: the chip's owner can put another one in its place, with the same public area, before it is written.
    func defineIndex(of owner: Data, authorization: borrowing SecretBytes) throws(ChipFault) -> PasscodeIndex {
        forgetLockedContexts()
        let key = SecretBytes(random: 32)
        let template = PublicArea.secret(policy: ObjectPolicy.digest(context: Data("writer of a passcode".utf8)))
        let writer = try create(template, authorization: key, sealing: SecretBytes(random: 32))
        guard
            let index = PasscodeIndex(
                at: try freeHandle(among: PasscodeIndex.handles(of: owner), replacing: PasscodeIndex.knownAttributes),
                writer: writer.name)
        else { throw .malformedAnswer }
        let handle = try define(index.publicArea, authorization: authorization)
        do throws(ChipFault) {
            // tpm2-tss keeps the value of an index that it defines.
            clearAuthorization(of: handle)
            try withLoadedOnce(writer) { (writer) throws(ChipFault) in
                try write(index, handle, authorizedBy: writer, key)
            }
            guard try name(of: handle) == index.name else { throw .malformedAnswer }
            try requireValue(authorization, of: handle)
        } catch {
            throw abandon(handle, at: index.handle, after: error)
        }
        remember(handle, at: index.handle, named: index.name)
        return index
    }

    /// Reads the index by its value (31.13, TPM2_NV_Read). Nobody else can answer: the session's code needs the value too.
    private func requireValue(
        _ authorization: borrowing SecretBytes, of index: ESYS_TR
    ) throws(ChipFault) {
        let context = self.context
        let _: Answer<TPM2B_MAX_NV_BUFFER> = try authorized(index, with: authorization) {
            (sessions) throws(ChipFault) in
            try context.answer {
                Esys_NV_Read(
                    $0, index, index, sessions.authorizing, ESYS_TR_NONE, ESYS_TR_NONE,
                    UInt16(PasscodeIndex.count.count), 0, $1)
            }
        }
    }

    /// Leaves an index that is not finished. One that another program put in its place is removed if it passes for ours.
    ///
    /// - Returns: the fault that the caller is told.
    private func abandon(_ index: ESYS_TR, at handle: TPM2_HANDLE, after fault: ChipFault) -> ChipFault {
        close(index)
        guard isAboutAnotherIndex(fault) else { return fault }
        // If that fails, the next passcode removes it.
        do { _ = try removeIndexes(among: [handle], having: PasscodeIndex.knownAttributes) } catch {}
        return .indexExchanged
    }

    /// Whether the chip, which still shares our sessions, refuses the value or the name of the index that was just defined.
    private func isAboutAnotherIndex(_ fault: ChipFault) -> Bool {
        switch fault {
        case .wrongAuthorization: true
        case .response(let code):
            (code.isWrongAuthorization || code.isUnavailableAuthorization || code.isPolicyFailure)
                && startedSessions?.answer(in: context) == true
        default: false
        }
    }

    /// A free handle. The indexes with such attributes are ours, and are left from ones that were removed or never finished:
    /// they go.
    func freeHandle(among handles: [TPM2_HANDLE], replacing attributes: [TPMA_NV]) throws(ChipFault) -> TPM2_HANDLE {
        let taken = try removeIndexes(among: handles, having: attributes)
        guard let free = handles.first(where: { !taken.contains($0) }) else {
            throw .response(ResponseCode(TPM2_RC(OSTIARY_TPM_RC_NV_SPACE)))
        }
        return free
    }

    /// Removes all indexes at these handles that have such attributes. A gap between two means nothing: the
    /// index that lay between them may be gone.
    ///
    /// - Returns: the handles that other indexes have.
    private func removeIndexes(
        among handles: [TPM2_HANDLE], having attributes: [TPMA_NV]
    ) throws(ChipFault) -> Set<TPM2_HANDLE> {
        var others = Set<TPM2_HANDLE>()
        for handle in try definedHandles(among: handles) {
            guard let found = try indexHandle(at: handle) else { continue }
            if attributes.contains(try self.attributes(of: found)) {
                try undefine(found)
            } else {
                close(found)
                others.insert(handle)
            }
        }
        return others
    }

    /// The handles of these at which an index is defined (30.2, TPM2_GetCapability): one command where they lie side by side.
    private func definedHandles(among handles: [TPM2_HANDLE]) throws(ChipFault) -> [TPM2_HANDLE] {
        var (defined, next) = ([TPM2_HANDLE](), handles.min())
        while let first = next {
            let (found, isMore) = try indexHandles(from: first, atMost: handles.count)
            defined += found.filter(handles.contains)
            guard isMore, let last = found.last, last >= first else { break }
            next = handles.filter { $0 > last }.min()
        }
        return defined
    }

    /// The next handles of indexes of any program, in order, and whether there are more.
    private func indexHandles(
        from first: TPM2_HANDLE, atMost count: Int
    ) throws(ChipFault) -> (handles: [TPM2_HANDLE], isMore: Bool) {
        var isMore = TPMI_YES_NO()
        let answer: Answer<TPMS_CAPABILITY_DATA> = try context.answer {
            Esys_GetCapability(
                $0, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, TPM2_CAP_HANDLES, first, UInt32(count), &isMore, $1)
        }
        let list = answer.pointer.pointee.data.handles
        guard answer.pointer.pointee.capability == TPM2_CAP_HANDLES, list.count <= count else { throw .malformedAnswer }
        let handles = withUnsafeBytes(of: list.handle) {
            Array($0.bindMemory(to: TPM2_HANDLE.self).prefix(Int(list.count)))
        }
        return (handles, isMore != 0)
    }

    /// The attributes of an index, as if it had never been written.
    private func attributes(of index: ESYS_TR) throws(ChipFault) -> TPMA_NV {
        let area: Answer<TPM2B_NV_PUBLIC> = try context.answer {
            Esys_NV_ReadPublic($0, index, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, $1, nil)
        }
        return area.pointer.pointee.nvPublic.attributes & ~TPMA_NV_WRITTEN
    }

    /// 31.3, TPM2_NV_DefineSpace.
    func define(
        _ area: TPM2B_NV_PUBLIC, authorization: borrowing SecretBytes
    ) throws(ChipFault) -> ESYS_TR {
        let context = self.context
        return try authorizedByOwner { (sessions) throws(ChipFault) -> ESYS_TR in
            try sessions.encrypt(.toChip, in: context)
            return try TPMContext.withValue(authorization) { (value) throws(ChipFault) -> ESYS_TR in
                var (area, index) = (area, ESYS_TR())
                try context.run {
                    Esys_NV_DefineSpace(
                        $0, ESYS_TR(ESYS_TR_RH_OWNER), sessions.authorizing, sessions.encrypting, ESYS_TR_NONE, value,
                        &area, &index)
                }
                return index
            }
        }
    }

    /// 31.7, TPM2_NV_Write, by the first branch of the index's policy.
    func write(
        _ index: PasscodeIndex, _ handle: ESYS_TR, authorizedBy writer: ESYS_TR, _ key: borrowing SecretBytes
    ) throws(ChipFault) {
        try withPolicySession { (session) throws(ChipFault) in
            try prove(writer, key, to: session)
            try choose(index.policies, in: session)
            try writeCount(to: handle, in: session)
        }
    }

    func writeCount(to index: ESYS_TR, in session: ESYS_TR) throws(ChipFault) {
        let context = self.context
        var data = TPM2B_MAX_NV_BUFFER()
        data.size = UInt16(PasscodeIndex.count.count)
        withUnsafeMutableBytes(of: &data.buffer) { _ = PasscodeIndex.count.copyBytes(to: $0) }
        try withLastUse(of: session) { () throws(ChipFault) in
            try context.run { Esys_NV_Write($0, index, index, session, ESYS_TR_NONE, ESYS_TR_NONE, &data, 0) }
        }
    }

    /// 31.4, TPM2_NV_UndefineSpace.
    func undefine(_ index: ESYS_TR) throws(ChipFault) {
        let context = self.context
        do {
            try authorizedByOwner { (sessions) throws(ChipFault) in
                try context.run {
                    Esys_NV_UndefineSpace(
                        $0, ESYS_TR(ESYS_TR_RH_OWNER), index, sessions.authorizing, ESYS_TR_NONE, ESYS_TR_NONE)
                }
            }
        } catch {
            close(index)
            throw error
        }
    }

    /// Removes the indexes of a user.
    func removeIndex(of owner: Data) throws(ChipFault) {
        forgetLockedContexts()
        _ = try removeIndexes(among: PasscodeIndex.handles(of: owner), having: PasscodeIndex.knownAttributes)
    }

    /// Nil when nothing is defined there.
    func indexHandle(at handle: TPM2_HANDLE) throws(ChipFault) -> ESYS_TR? {
        // tpm2-tss reads no index twice that it still knows.
        forgetIndex(at: handle)
        var index = ESYS_TR()
        do {
            try context.run {
                Esys_TR_FromTPMPublic($0, handle, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &index)
            }
            return index
        } catch .response(let code) where code.isUnknownHandle {
            return nil
        }
    }

    /// The name of an index as it is now.
    func name(of index: ESYS_TR) throws(ChipFault) -> Data {
        let name: Answer<TPM2B_NAME> = try context.answer { Esys_TR_GetName($0, index, $1) }
        return name.pointer.pointee.bytes
    }

    /// Lets tpm2-tss forget its data on an index, a persistent key or a session that the chip ended.
    func close(_ handle: ESYS_TR) {
        var handle = handle
        // Fails only if tpm2-tss does not know it.
        do { try context.run { Esys_TR_Close($0, &handle) } } catch {}
    }

    /// Lends the index of a passcode as it is now. One that is gone, or another one in its place, is refused.
    func withHandle<Result: ~Copyable>(
        of index: PasscodeIndex, _ body: (ESYS_TR) throws(ChipFault) -> Result
    ) throws(ChipFault) -> Result {
        guard case .found(let handle) = try readIndex(at: index.handle, named: index.name) else {
            throw .foreignObject
        }
        return try body(handle)
    }

    /// The index of a passcode, for a command in a session: see ``knownIndex(at:named:)``.
    private func knownHandle(of index: PasscodeIndex) throws(ChipFault) -> ESYS_TR {
        guard case .found(let handle) = try knownIndex(at: index.handle, named: index.name) else {
            throw .foreignObject
        }
        return handle
    }

    /// Wrong values in a row, and the limit (31.13, TPM2_NV_Read). Counts none.
    ///
    /// - Parameter session: see ``withReading(of:by:in:_:)``.
    func wrongTries(
        at index: PasscodeIndex, in session: ESYS_TR? = nil
    ) throws(ChipFault) -> (count: UInt32, limit: UInt32) {
        let context = self.context
        let data = try withReading(of: index, by: TPM2_CC_NV_Read, in: session) {
            (handle, reader, session) throws(ChipFault) -> Answer<TPM2B_MAX_NV_BUFFER> in
            try context.answer {
                Esys_NV_Read($0, reader, handle, session, ESYS_TR_NONE, ESYS_TR_NONE, 8, 0, $1)
            }
        }
        return try Self.tries(in: data)
    }

    /// Lends the index to one command that reads it.
    ///
    /// - Parameters:
    ///   - session: a policy session that proved nothing yet, and ends with the command; nil for another one. A chip may have
    ///     no room for a second.
    ///   - body: gets the index, who reads it, and the reader's session. The answer in the session of a policy is the chip's,
    ///     because the session is salted. In earlier versions the owner reads, without a session.
    func withReading<Result: ~Copyable>(
        of index: PasscodeIndex, by command: TPM2_CC, in session: ESYS_TR? = nil,
        _ body: (_ index: ESYS_TR, _ reader: ESYS_TR, _ session: ESYS_TR) throws(ChipFault) -> Result
    ) throws(ChipFault) -> Result {
        try withHandle(of: index) { (handle) throws(ChipFault) -> Result in
            guard index.isOpenToReaders else {
                do throws(ChipFault) {
                    return try body(handle, ESYS_TR(ESYS_TR_RH_OWNER), ESYS_TR(ESYS_TR_PASSWORD))
                } catch .response(let code) where code.isWrongAuthorization {
                    throw .ownerPassword
                } catch .wrongAuthorization {
                    throw .ownerPassword
                }
            }
            func read(in session: ESYS_TR) throws(ChipFault) -> Result {
                try restrict(session, to: command)
                try choose(index.policies, in: session)
                return try withLastUse(of: session) { () throws(ChipFault) in try body(handle, handle, session) }
            }
            if let session { return try read(in: session) }
            return try withPolicySession(read)
        }
    }

    /// The wrong tries as the owner reads them, in a command that ends `session`. A session of ours covers the answer, so it is
    /// the chip's, and about this index.
    private func wrongTries(
        at handle: ESYS_TR, ending session: ESYS_TR
    ) throws(ChipFault) -> (count: UInt32, limit: UInt32) {
        let (sessions, context) = (try sessions(), self.context)
        return try withLastUse(of: session, attributes: TPMA_SESSION_ENCRYPT) { () throws(ChipFault) in
            let data: Answer<TPM2B_MAX_NV_BUFFER> = try context.answer {
                Esys_NV_Read(
                    $0, ESYS_TR(ESYS_TR_RH_OWNER), handle, sessions.authorizing, session, ESYS_TR_NONE, 8, 0, $1)
            }
            return try Self.tries(in: data)
        }
    }

    private static func tries(
        in data: Answer<TPM2B_MAX_NV_BUFFER>
    ) throws(ChipFault) -> (count: UInt32, limit: UInt32) {
        guard data.pointer.pointee.size == 8 else { throw .malformedAnswer }
        let bytes = withUnsafeBytes(of: data.pointer.pointee.buffer) { Array($0.prefix(8)) }
        func number(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }
        return (number(bytes[..<4]), number(bytes[4...]))
    }

    // MARK: using a passcode

    /// The secret that the passcode opens.
    func open(_ passcode: ChipPasscode, authorization: borrowing SecretBytes) throws(ChipFault) -> SecretBytes {
        let sessions = try sessions()
        let context = self.context
        return try withPolicySession { (session) throws(ChipFault) in
            try prove(passcode.index, authorization, to: session)
            return try withLoadedOnce(passcode.sealed) { (sealed) throws(ChipFault) in
                try withLastUse(of: session) { () throws(ChipFault) in
                    try Self.unseal(sealed, authorizedBy: session, sessions, in: context)
                }
            }
        }
    }

    /// 31.5, TPM2_NV_ChangeAuth, by the second branch of the index's policy. The chip counts a wrong former value.
    func change(
        _ passcode: PasscodeIndex, from former: borrowing SecretBytes, to authorization: borrowing SecretBytes
    ) throws(ChipFault) {
        forgetLockedContexts()
        do {
            try withPolicySession { (session) throws(ChipFault) in
                try changeValue(of: passcode, from: former, to: authorization, in: session)
            }
        } catch .wrongAuthorization {
            throw try refusal(ResponseCode(TPM2_RC(OSTIARY_TPM_RC_BAD_AUTH)), at: passcode)
        } catch .response(let code) where code.isUnavailableAuthorization {
            throw try refusal(code, at: passcode)
        } catch .response(let code) where code.isUnknownHandle {
            throw try fault(behind: code, at: passcode)
        }
    }

    private func changeValue(
        of passcode: PasscodeIndex, from former: borrowing SecretBytes, to authorization: borrowing SecretBytes,
        in session: ESYS_TR
    ) throws(ChipFault) {
        let context = self.context
        try context.run { Esys_PolicyAuthValue($0, session, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE) }
        try restrict(session, to: TPM2_CC_NV_ChangeAuth)
        try choose(passcode.policies, in: session)
        let index = try knownHandle(of: passcode)
        try authorized(index, with: former) { (sessions) throws(ChipFault) in
            try sessions.encrypt(.toChip, in: context)
            try TPMContext.withValue(authorization) { (value) throws(ChipFault) in
                try withLastUse(of: session) { () throws(ChipFault) in
                    try context.run {
                        Esys_NV_ChangeAuth($0, index, session, sessions.encrypting, ESYS_TR_NONE, value)
                    }
                }
            }
        }
    }

    /// Loads a key below the parent that the passcode opens.
    func load(
        _ object: ChipObject, below parent: ChipObject, passcode: TPMPasscodeSession?
    ) throws(ChipFault) -> ESYS_TR {
        guard let passcode else { throw .passcodeNeeded }
        // The key opens with the passcode that its parent was made for, and with no other.
        guard parent.publicArea(matching: PublicArea.parent(of: passcode.passcode.index)) != nil else {
            throw .foreignObject
        }
        let sessions = try sessions()
        let context = self.context
        return try withParent(of: passcode.passcode, parent, for: .loading(passcode.value)) {
            (parent, session) throws(ChipFault) in
            try Self.load(object, below: parent, authorizedBy: session, sessions, in: context)
        }
    }

    /// Proving a passcode sets the chip's count to zero. Without this a program could have a kept proof used again and again, and
    /// try passcodes at the chip in between.
    private func requireUntried(_ index: PasscodeIndex) throws(ChipFault) {
        guard try authenticTries(at: index) == 0 else { throw .passcodeTriedMeanwhile }
    }

    /// The wrong tries, in one command unless the owner has a password. A session of ours covers the answer.
    private func authenticTries(at index: PasscodeIndex) throws(ChipFault) -> UInt32 {
        let (sessions, handle, context) = (try sessions(), try knownHandle(of: index), self.context)
        do {
            try sessions.encrypt(.fromChip, in: context)
            let data: Answer<TPM2B_MAX_NV_BUFFER> = try context.answer {
                Esys_NV_Read(
                    $0, ESYS_TR(ESYS_TR_RH_OWNER), handle, sessions.authorizing, sessions.encrypting, ESYS_TR_NONE, 8,
                    0, $1)
            }
            return try Self.tries(in: data).count
        } catch .response(let code) where code.isWrongAuthorization {
            return try wrongTries(at: index).count
        }
    }

    /// The use of the parent. It decides the branch of the parent's policy.
    enum ParentUse {
        case creating
        case loading(PasscodeValue)
    }

    /// Lends the loaded parent and a session that may use it once.
    func withParent<Result: ~Copyable>(
        of passcode: ChipPasscode, _ parent: ChipObject? = nil, for use: ParentUse,
        _ body: (_ parent: ESYS_TR, _ session: ESYS_TR) throws(ChipFault) -> Result
    ) throws(ChipFault) -> Result {
        try withLoadedOnce(parent ?? passcode.parent) { (handle) throws(ChipFault) in
            if case .loading = use { try requireUntried(passcode.index) }
            return try withPolicySession { (session) throws(ChipFault) in
                switch use {
                case .creating: try restrict(session, to: TPM2_CC_Create)
                case .loading(let value):
                    try prove(passcode.index, value.bytes, to: session)
                }
                try choose(passcode.index.parentPolicies, in: session)
                return try withLastUse(of: session) { () throws(ChipFault) in try body(handle, session) }
            }
        }
    }

    // MARK: policies

    /// Proves the passcode to a session. The chip counts a wrong one. The session ends then.
    func prove(
        _ index: PasscodeIndex, _ value: borrowing SecretBytes, to session: ESYS_TR
    ) throws(ChipFault) {
        let (sessions, handle) = (try sessions(), try knownHandle(of: index))
        do {
            try withAuthorization(of: handle, value) { () throws(ChipFault) in
                try satisfy(session, with: handle, sessions)
            }
        } catch .response(let code) where code.isWrongAuthorization || code.isUnavailableAuthorization {
            throw try refusal(code, at: index, handle, ending: session)
        } catch .response(let code) where code.isUnknownHandle {
            throw try fault(behind: code, at: index)
        }
    }

    /// The fault behind the chip's refusal of a value. If the chip answers in both sessions about this index, its refusal is
    /// its verdict on the value.
    private func refusal(
        _ code: ResponseCode, at index: PasscodeIndex, _ handle: ESYS_TR, ending session: ESYS_TR
    ) throws(ChipFault) -> ChipFault {
        do {
            return Self.refusal(after: try wrongTries(at: handle, ending: session))
        } catch {
            // The chip was restarted, the index is another one, or the owner has a password.
            guard try sessions().answer(in: context) else { return .forgotten(code) }
            return try refusal(code, at: index, in: session)
        }
    }

    private func refusal(
        _ code: ResponseCode, at index: PasscodeIndex, in session: ESYS_TR? = nil
    ) throws(ChipFault) -> ChipFault {
        do {
            return Self.refusal(after: try wrongTries(at: index, in: session))
        } catch .ownerPassword {
            // An index that only the owner reads. The chip's code says no less, though nothing vouches for it.
            return code.isUnavailableAuthorization ? .passcodeBlocked : .wrongAuthorization
        }
    }

    private static func refusal(after tries: (count: UInt32, limit: UInt32)) -> ChipFault {
        tries.count >= tries.limit ? .passcodeBlocked : .wrongAuthorization
    }

    /// An unknown handle is that of the index, or of a session or object that the chip forgot.
    private func fault(behind code: ResponseCode, at index: PasscodeIndex) throws(ChipFault) -> ChipFault {
        try withHandle(of: index) { (_) throws(ChipFault) in .response(code) }
    }

    /// Proves the value of an object or index to a session.
    func prove(_ entity: ESYS_TR, _ value: borrowing SecretBytes, to session: ESYS_TR) throws(ChipFault) {
        try authorized(entity, with: value) { (sessions) throws(ChipFault) in
            try satisfy(session, with: entity, sessions)
        }
    }

    /// 23.4, TPM2_PolicySecret.
    private func satisfy(_ session: ESYS_TR, with entity: ESYS_TR, _ sessions: Sessions) throws(ChipFault) {
        try context.run {
            Esys_PolicySecret(
                $0, entity, session, sessions.authorizing, ESYS_TR_NONE, ESYS_TR_NONE, nil, nil, nil, 0, nil, nil)
        }
    }

    /// 23.11, TPM2_PolicyCommandCode.
    func restrict(_ session: ESYS_TR, to command: TPM2_CC) throws(ChipFault) {
        try context.run {
            Esys_PolicyCommandCode($0, session, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, command)
        }
    }

    /// 23.6, TPM2_PolicyOR.
    func choose(_ policies: [Policy], in session: ESYS_TR) throws(ChipFault) {
        var list = TPML_DIGEST()
        list.count = UInt32(policies.count)
        withUnsafeMutableBytes(of: &list.digests) { bytes in
            for (place, policy) in zip(bytes.bindMemory(to: TPM2B_DIGEST.self).indices, policies) {
                bytes.bindMemory(to: TPM2B_DIGEST.self)[place].set(policy.digest)
            }
        }
        try context.run { Esys_PolicyOR($0, session, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &list) }
    }
}
