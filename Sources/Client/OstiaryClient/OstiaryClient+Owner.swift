import Foundation
public import OstiaryMessages

/// The requests of the machine's owner: status, passcode, lock, log.
extension OstiaryClient {
    /// The state of the daemon.
    public func status() throws -> WireStatus {
        guard case .status(let status) = try call(.status(WireStatusRequest())).body else { throw Self.unexpected() }
        return status
    }

    /// Findings about the store, the log, the prompts and the limits of the daemon.
    public func diagnosis() throws -> WireDiagnosis {
        guard case .diagnosis(let diagnosis) = try call(.diagnose(WireDiagnoseRequest())).body else {
            throw Self.unexpected()
        }
        return diagnosis
    }

    /// Rebuilds the damaged lists of the store from the rows that verify. The daemon asks the owner for the passcode,
    /// or for a confirmation if no passcode is set. If every list verifies, it asks nothing, and the result is empty.
    public func repair(interaction: Interaction) throws -> [WireRelisting] {
        let request = WireRepairRequest.with { $0.question = interaction.question }
        guard case .repair(let repair) = try call(.repair(request), terminal: interaction.terminal).body else {
            throw Self.unexpected()
        }
        return repair.lists
    }

    /// Sets, changes or removes the passcode. The daemon's prompt asks for it; it never passes through this process.
    public func passcode(_ action: WirePasscodeAction, interaction: Interaction) throws {
        let request = WirePasscodeRequest.with {
            $0.action = action
            $0.question = interaction.question
        }
        _ = try call(.passcode(request), terminal: interaction.terminal)
    }

    /// Ends all grants and wipes the keys that need an unlocked store.
    public func lock() throws { _ = try call(.lock(WireLockRequest())) }

    /// A page of the audit log, beginning with record `index`.
    public func log(from index: UInt64, limit: Int) throws -> WireLogPage {
        let request = WireReadLogRequest.with {
            $0.firstIndex = index
            $0.limit = UInt32(clamping: limit)
        }
        guard case .logPage(let page) = try call(.readLog(request)).body else { throw Self.unexpected() }
        return page
    }

    /// Checks the audit log. With a passcode set the daemon asks for it, which opens the log's seals; without interaction
    /// it checks the chain and its anchor alone and says so.
    public func verifyLog(interaction: Interaction) throws -> WireLogVerdict {
        let request = WireVerifyLogRequest.with { $0.question = interaction.question }
        guard case .logVerdict(let verdict) = try call(.verifyLog(request), terminal: interaction.terminal).body else {
            throw Self.unexpected()
        }
        return verdict
    }
}
