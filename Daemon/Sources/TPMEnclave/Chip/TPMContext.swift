import CTSS2
import Foundation
import Glibc

/// One ESAPI context of tpm2-tss with its transport. For one thread at a time.
final class TPMContext {
    private let context: OpaquePointer
    private let transport: OpaquePointer

    /// tpm2-tss writes each error to standard error by default. We report errors ourselves.
    private static let isQuiet = setenv("TSS2_LOG", "all+none", 1) == 0

    /// Connects; the chip learns nothing yet.
    init(_ location: TPMLocation) throws(ChipFault) {
        _ = Self.isQuiet
        var transport: OpaquePointer?
        let loaded = ResponseCode(Tss2_TctiLdr_Initialize(location.configuration, &transport))
        guard loaded == .success, let madeTransport = transport else { throw .response(loaded) }
        var context: OpaquePointer?
        let initialized = ResponseCode(Esys_Initialize(&context, madeTransport, nil))
        guard initialized == .success, let madeContext = context else {
            Tss2_TctiLdr_Finalize(&transport)
            throw .response(initialized)
        }
        self.transport = madeTransport
        self.context = madeContext
    }

    deinit {
        var context: OpaquePointer? = self.context
        var transport: OpaquePointer? = self.transport
        Esys_Finalize(&context)
        Tss2_TctiLdr_Finalize(&transport)
    }

    /// How long to wait before a busy chip is asked again. ESAPI has then asked five times without a pause. A self-test
    /// can take a second; after these pauses the caller learns the code.
    private static let pausesInMilliseconds: [UInt32] = [10, 20, 50, 100, 200, 400, 800, 800]

    /// Calls ESAPI, and repeats the call while the chip says that it is busy.
    func run(_ body: (OpaquePointer) -> TSS2_RC) throws(ChipFault) {
        var pauses = Self.pausesInMilliseconds.makeIterator()
        while true {
            let code = ResponseCode(body(context))
            if code == .success { return }
            guard code.asksToRepeat, let pause = pauses.next() else { throw .response(code) }
            usleep(pause * 1000)
        }
    }

    /// Calls ESAPI for one answer that it allocates.
    func answer<Value>(
        _ body: (OpaquePointer, UnsafeMutablePointer<UnsafeMutablePointer<Value>?>) -> TSS2_RC
    ) throws(ChipFault) -> Answer<Value> {
        var pointer: UnsafeMutablePointer<Value>?
        try run { body($0, &pointer) }
        guard let pointer else { throw .malformedAnswer }
        return Answer(pointer)
    }

    // MARK: what every user of handles needs

    /// Removes an object or session from the chip.
    func flush(_ handle: ESYS_TR) throws(ChipFault) { try run { Esys_FlushContext($0, handle) } }

    /// A key that the chip computes from the seed of a hierarchy and a template (TPM2_CreatePrimary).
    ///
    /// - Parameter session: authorizes the use of the hierarchy; without one its value is empty.
    func primaryKey(
        _ template: TPM2B_PUBLIC, in hierarchy: ESYS_TR, authorizedBy session: ESYS_TR = ESYS_TR(ESYS_TR_PASSWORD)
    ) throws(ChipFault) -> ESYS_TR {
        var handle = ESYS_TR()
        var (sensitive, publicArea, outside, registers) = (
            TPM2B_SENSITIVE_CREATE(), template, TPM2B_DATA(), TPML_PCR_SELECTION()
        )
        try run {
            Esys_CreatePrimary(
                $0, hierarchy, session, ESYS_TR_NONE, ESYS_TR_NONE, &sensitive, &publicArea,
                &outside, &registers, &handle, nil, nil, nil, nil)
        }
        return handle
    }

    /// The chip's state of a loaded object, encrypted by the chip. It can be loaded again until the chip restarts.
    func saved(_ handle: ESYS_TR) throws(ChipFault) -> Answer<TPMS_CONTEXT> {
        try answer { Esys_ContextSave($0, handle, $1) }
    }

    /// Loads a saved object. Any refusal means that the chip was restarted since, or lacks a slot.
    func load(_ saved: Answer<TPMS_CONTEXT>) throws(ChipFault) -> ESYS_TR { try load(saved.pointer) }

    func load(_ saved: UnsafePointer<TPMS_CONTEXT>) throws(ChipFault) -> ESYS_TR {
        var handle = ESYS_TR()
        do {
            try run { Esys_ContextLoad($0, saved, &handle) }
            return handle
        } catch .response(let code) where code.isOfChip && !code.isObjectMemory {
            throw .forgotten(code)
        }
    }
}

/// A value that ESAPI allocated. It may hold a secret, so it is wiped before it is freed.
final class Answer<Value> {
    let pointer: UnsafeMutablePointer<Value>

    init(_ pointer: UnsafeMutablePointer<Value>) { self.pointer = pointer }

    deinit {
        explicit_bzero(pointer, MemoryLayout<Value>.size)
        Esys_Free(pointer)
    }
}
