import AccessControl
import AuditLog
import Enclave
import Glibc
import Logging
import OstiaryWire
import SwiftProtobuf
import Vault

/// What the daemon says about itself.
extension Broker {
    func status(for session: Session) throws -> WireStatus {
        let attempts = knownAttempts()
        let listed = try rights.list(application: session.caller.application)
        let readable = listed.filter { $0.record != nil }
        return .with {
            $0.mode = .user
            $0.daemonVersion = configuration.version
            $0.processID = UInt32(getpid())
            $0.stateDirectory = configuration.stateDirectory
            $0.enclaveKind = enclave.kind.rawValue
            $0.unlocked = ring.unlockState(of: .whenUnlocked) == .open
            $0.unlockedSinceStart = ring.wasUnlockedSinceStart
            $0.passcode.isSet = ring.isPasscodeSet
            if let attempts {
                $0.passcode.failedAttempts = attempts.failedCount
                $0.passcode.lockedOutSeconds = attempts.remaining / .seconds(1)
            }
            $0.rights.count = UInt32(clamping: readable.count)
            $0.rights.unreadableCount = UInt32(clamping: listed.count - readable.count)
            $0.factors = factorStatus(delay: attempts?.remaining)
            $0.logRecordCount = trail.audit.recordCount
            $0.caller.program = session.caller.program.displayName
            $0.caller.label = session.caller.label
            $0.caller.applicationID = session.caller.identity.applicationID ?? ""
            $0.caller.accessGroups = session.caller.accessGroups
        }
    }

    /// Wrong passcodes in a row and what is left of the delay; nil when the counter cannot be used. That is no counter
    /// at zero: every check of a passcode reads it again and is refused.
    func knownAttempts() -> AttemptStatus? {
        do { return try keeper.attempts() } catch {
            log.error("the counter of wrong passcodes cannot be used", metadata: ["cause": "\(error)"])
            return nil
        }
    }

    /// - Parameter delay: what is left of the delay after wrong passcodes; nil when nobody knows.
    private func factorStatus(delay: Duration?) -> [WireFactorStatus] {
        var available = Evaluator.availabilityWithoutPasscode
        available[.applicationPassword] = .available
        if let delay { available[.passcode] = evaluator.passcodeAvailability(delay: delay) }
        let isHardware = enclave.kind == .tpm
        return Factor.allCases.filter { $0 != .biometryCurrentSet }.map { factor in
            .with {
                $0.factor = factor.name
                $0.available = available[factor] == .available
                $0.strength = factor.strength(inHardware: isHardware).rawValue
                if case .unavailable(let reason) = available[factor] { $0.note = "\(reason)" }
                if factor == .passcode, delay == nil { $0.note = "the counter of wrong tries cannot be read" }
            }
        }
    }
}
