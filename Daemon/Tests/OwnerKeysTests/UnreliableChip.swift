import Enclave
import Foundation
import SecretMemory
import Synchronization

@testable import BrokerTestSupport

/// The faults of a chip that a test wants, and the number of its commands.
final class ChipFaults: Sendable {
    enum Command: Hashable { case open, change, remove, countOfTries }

    private struct State {
        var faults: [Command: Fault] = [:]
        var counts: [Command: Int] = [:]
        var wrongTry: (@Sendable () throws -> Void)?
        var interludes: [Command: @Sendable () -> Void] = [:]
    }

    private struct Fault {
        let error: EnclaveError
        let isLate: Bool
    }

    private let state = Mutex(State())

    /// Lets a command fail from now on.
    ///
    /// - Parameter isLate: whether the chip does the work first, and only its answer is lost.
    func fail(_ command: Command, with error: EnclaveError, isLate: Bool = false) {
        state.withLock { $0.faults[command] = Fault(error: error, isLate: isLate) }
    }

    /// Does something once, while the chip carries out the next such command.
    func during(_ command: Command, _ interlude: @escaping @Sendable () -> Void) {
        state.withLock { $0.interludes[command] = interlude }
    }

    /// Nothing fails any more.
    func end() { state.withLock { $0.faults = [:] } }

    /// Brings a wrong passcode to the chip, as a program does that uses it beside the daemon.
    func tryFromAnotherProgram() throws { try state.withLock { $0.wrongTry }?() }

    fileprivate func remember(_ wrongTry: @escaping @Sendable () throws -> Void) {
        state.withLock { $0.wrongTry = wrongTry }
    }

    /// How often a command was sent.
    func count(of command: Command) -> Int { state.withLock { $0.counts[command, default: 0] } }

    func carryOut<Result: ~Copyable>(
        _ command: Command, _ body: () throws(EnclaveError) -> Result
    ) throws(EnclaveError) -> Result {
        let (fault, interlude) = state.withLock { state in
            state.counts[command, default: 0] += 1
            return (state.faults[command], state.interludes.removeValue(forKey: command))
        }
        interlude?()
        guard let fault else { return try body() }
        if fault.isLate { do throws(EnclaveError) { _ = try body() } catch { /* Its answer is lost, too. */  } }
        throw fault.error
    }
}

/// A chip that fails where a test wants it. A real TPM in software does the work.
struct UnreliableChip: ForwardingEnclave, PasscodeEnclave {
    let enclave: any Enclave
    let faults: ChipFaults

    private var chip: any PasscodeEnclave { enclave as! any PasscodeEnclave }

    func makePasscode(
        _ authorization: borrowing SecretBytes, sealing secret: borrowing SecretBytes, of owner: Data,
        as chipOwner: OwnerPassword?
    ) throws(EnclaveError) -> Data {
        let passcode = try chip.makePasscode(authorization, sealing: secret, of: owner, as: chipOwner)
        faults.remember {
            var bytes = Data(repeating: 9, count: 32)
            let wrong = SecretBytes(taking: &bytes)
            do { _ = try chip.openPasscode(passcode, of: owner, authorization: wrong) } catch EnclaveError.refused {}
        }
        return passcode
    }

    func resealed(_ passcode: Data, with secret: borrowing SecretBytes) throws(EnclaveError) -> Data {
        try chip.resealed(passcode, with: secret)
    }

    func openPasscode(
        _ passcode: Data, of owner: Data, authorization: borrowing SecretBytes
    ) throws(EnclaveError) -> OpenedPasscode {
        try faults.carryOut(.open) { () throws(EnclaveError) -> OpenedPasscode in
            try chip.openPasscode(passcode, of: owner, authorization: authorization)
        }
    }

    func changePasscode(
        _ passcode: Data, from former: borrowing SecretBytes, to authorization: borrowing SecretBytes
    ) throws(EnclaveError) {
        try faults.carryOut(.change) { () throws(EnclaveError) -> Void in
            try chip.changePasscode(passcode, from: former, to: authorization)
        }
    }

    func removePasscode(of owner: Data, as chipOwner: OwnerPassword?) throws(EnclaveError) {
        try faults.carryOut(.remove) { () throws(EnclaveError) -> Void in
            try chip.removePasscode(of: owner, as: chipOwner)
        }
    }

    func wrongTries(at passcode: Data) throws(EnclaveError) -> WrongTries {
        try faults.carryOut(.countOfTries) { () throws(EnclaveError) -> WrongTries in
            try chip.wrongTries(at: passcode)
        }
    }

    func use(_ passcode: Data?, of owner: Data) throws(EnclaveError) { try chip.use(passcode, of: owner) }
}
