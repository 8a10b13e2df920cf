import Dispatch
import Enclave
import Foundation
import SecretMemory
import Synchronization

@testable import BrokerTestSupport

/// An enclave that unseals only while its gate is open.
final class GatedEnclave: ForwardingEnclave {
    let enclave: any Enclave
    private let gate: EnclaveGate

    init(_ enclave: any Enclave, behind gate: EnclaveGate) {
        (self.enclave, self.gate) = (enclave, gate)
    }

    func unseal(
        _ blob: Data, authorization: borrowing SecretBytes, context: Data
    ) throws(EnclaveError) -> SecretBytes {
        try gate.pass()
        return try enclave.unseal(blob, authorization: authorization, context: context)
    }
}

/// Holds the unsealing of a ``GatedEnclave``, counts it, or has it fail.
final class EnclaveGate: Sendable {
    private struct State {
        var isClosed = false
        var error: EnclaveError?
        var count = 0
        var held: [DispatchSemaphore] = []
    }

    private let state = Mutex(State())
    private let arrivals = DispatchSemaphore(value: 0)

    /// How often something was to be unsealed.
    var count: Int { state.withLock { $0.count } }

    /// Holds the unsealing from now on.
    func close() { state.withLock { $0.isClosed = true } }

    /// Lets the held unsealings go on, and all later ones.
    ///
    /// - Parameter error: the error of the unsealings; nil for none.
    func open(failing error: EnclaveError? = nil) {
        let held = state.withLock { state in
            (state.isClosed, state.error) = (false, error)
            defer { state.held = [] }
            return state.held
        }
        for semaphore in held { semaphore.signal() }
    }

    /// Waits until something is held.
    func waitForArrival() { arrivals.wait() }

    fileprivate func pass() throws(EnclaveError) {
        let held: DispatchSemaphore? = state.withLock { state in
            state.count += 1
            guard state.isClosed else { return nil }
            let semaphore = DispatchSemaphore(value: 0)
            state.held.append(semaphore)
            return semaphore
        }
        if let held {
            arrivals.signal()
            held.wait()
        }
        if let error = state.withLock({ $0.error }) { throw error }
    }
}
