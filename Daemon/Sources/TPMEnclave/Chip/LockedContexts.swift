import CTSS2
import Crypto
import Foundation
import SecretMemory

/// What opens the saved context of a key that is not in use: the secret that the chip gives for the passcode, and the key's
/// authorization value. Nobody can try passcodes at it, because that secret comes from the chip alone.
struct ContextLock: Sendable {
    /// The key's name.
    let name: Data
    private let key: SymmetricKey

    private static let label = "ostiary.tpm-enclave.v1.locked-context"

    /// - Parameter passcode: the chip accepted it.
    init(of object: ChipObject, _ passcode: TPMPasscodeSession, authorization: borrowing SecretBytes) {
        name = object.name
        key = SecretBytes(joining: SecretBytes(passcode.contextKey), authorization)
            .derivedKey(label: Self.label, salt: object.name)
    }

    fileprivate func seal(_ context: Data) -> Data? {
        do { return try AES.GCM.seal(context, using: key, authenticating: name).combined } catch { return nil }
    }

    fileprivate func open(_ sealed: Data) -> Data? {
        do { return try AES.GCM.open(AES.GCM.SealedBox(combined: sealed), using: key, authenticating: name) } catch {
            return nil
        }
    }
}

/// Saved contexts of keys below a passcode that nobody uses now. With a context the chip loads a key without asking for the
/// passcode, so each is encrypted under the key's ``ContextLock``. They are kept in memory only, and the chip takes none after
/// its restart.
struct LockedContexts {
    /// How many are kept: about 2 KB each.
    static let limit = 32

    /// The oldest one first.
    private var contexts: [(name: Data, sealed: Data)] = []

    func contains(_ name: Data) -> Bool { contexts.contains { $0.name == name } }

    mutating func remove(_ name: Data) { contexts.removeAll { $0.name == name } }

    mutating func keep(_ saved: Answer<TPMS_CONTEXT>, under lock: ContextLock) {
        let bytes = marshalled(atMost: MemoryLayout<TPMS_CONTEXT>.size) {
            Tss2_MU_TPMS_CONTEXT_Marshal(saved.pointer, $0, $1, $2)
        }
        guard var bytes, let sealed = lock.seal(bytes) else { return }
        bytes.wipe()
        remove(lock.name)
        if contexts.count >= Self.limit { contexts.removeFirst() }
        contexts.append((lock.name, sealed))
    }

    /// Nil if there is none, or the lock is not the one that it was kept under. Such a one is dropped: the chip decides then.
    mutating func context(under lock: ContextLock) -> SavedContext? {
        guard let sealed = contexts.first(where: { $0.name == lock.name })?.sealed else { return nil }
        guard var bytes = lock.open(sealed) else {
            remove(lock.name)
            return nil
        }
        return SavedContext(SecretBytes(taking: &bytes))
    }
}

/// The bytes of a saved context.
struct SavedContext: ~Copyable {
    private let bytes: SecretBytes

    init(_ bytes: consuming SecretBytes) { self.bytes = bytes }

    func loaded(in context: TPMContext) throws(ChipFault) -> ESYS_TR {
        var memory = SecretBytes(zeroed: MemoryLayout<TPMS_CONTEXT>.stride)
        return try memory.withUnsafeMutableBytes { (buffer) throws(ChipFault) in
            let saved = buffer.bindMemory(to: TPMS_CONTEXT.self).baseAddress!
            var offset = 0
            let code = bytes.withUnsafeBytes {
                Tss2_MU_TPMS_CONTEXT_Unmarshal($0.bindMemory(to: UInt8.self).baseAddress, $0.count, &offset, saved)
            }
            guard code == 0, offset == bytes.count else { throw .malformedAnswer }
            return try context.load(saved)
        }
    }
}
