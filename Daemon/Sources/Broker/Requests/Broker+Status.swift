import AccessControl
import Auditing
import AuditLog
import Authenticators
import Callers
import Enclave
import ExactNames
import FingerprintReader
import Glibc
import Logging
import OstiaryWire
import OwnerKeys
import ProtectedObjects
import Refusals
import Vault

/// What the daemon says about itself.
extension Broker {
    func status(for session: Session) throws -> WireStatus {
        let attempts = knownAttempts(of: session.account)
        let rights = try rightStatus(of: session)
        return .with {
            $0.mode = configuration.testOptions.isEmpty ? .user : .userForTests
            $0.daemonVersion = configuration.version
            $0.processID = UInt32(getpid())
            $0.stateDirectory = configuration.stateDirectory
            $0.enclaveKind = enclave.kind.rawValue
            $0.unlocked = session.account.ring.unlockState(of: .whenUnlocked) == .open
            $0.unlockedSinceStart = session.account.ring.wasUnlockedSinceStart
            $0.passcode.isSet = session.account.ring.isPasscodeSet
            if let attempts {
                $0.passcode.failedAttempts = attempts.failedCount
                $0.passcode.lockedOutSeconds = attempts.remaining / .seconds(1)
            }
            if let progress = session.account.life.progress.current {
                $0.passcode.changing = .with {
                    $0.done = UInt32(clamping: progress.done)
                    $0.total = UInt32(clamping: progress.total)
                }
            }
            $0.rights = rights
            $0.factors = factorStatus(session.account, isCounterReadable: attempts != nil)
            // The factor's state is this one: services that are slow to answer are asked once.
            $0.biometry = session.account.biometry.map { WireBiometryStatus($0.lastState ?? $0.state()) }
            $0.logRecordCount = trail.audit.recordCount
            $0.caller.program = session.caller.program.displayName.text
            $0.caller.label = session.caller.label
            $0.caller.applicationID = session.caller.identity.applicationID?.text ?? ""
            $0.caller.accessGroups = session.caller.accessGroups.texts
        }
    }

    /// A list that does not verify is no reason to say nothing: the status leads to the doctor.
    private func rightStatus(of session: Session) throws -> WireRightStatus {
        do {
            let counts = try session.account.rights.counts(application: session.caller.application)
            return .with {
                $0.count = UInt32(clamping: counts.readable)
                $0.unreadableCount = UInt32(clamping: counts.unreadable)
            }
        } catch VaultError.corrupt(let reference, _) {
            log.error("the rights cannot be counted", metadata: ["list": "\(reference)"])
            return .with { $0.isUnknown = true }
        }
    }

    /// Wrong passcodes in a row and what is left of the delay; nil when the counter cannot be used. That is no counter
    /// at zero: every check of a passcode reads it again and is refused.
    func knownAttempts(of account: OwnerAccount) -> AttemptStatus? {
        do { return try account.keeper.attempts() } catch {
            log.error("the counter of wrong passcodes cannot be used", metadata: ["cause": "\(error)"])
            return nil
        }
    }

    /// - Parameter isCounterReadable: whether it is known how many wrong passcodes were entered.
    private func factorStatus(_ account: OwnerAccount, isCounterReadable: Bool) -> [WireFactorStatus] {
        Factor.allCases.filter { $0 != .biometryCurrentSet }.map { factor in
            let authenticator = account.evaluator.authenticators[factor]
            return .with {
                $0.factor = factor.name
                $0.strength = authenticator.strength(of: factor).rawValue
                do {
                    switch try authenticator.availability(of: factor, for: nil) {
                    case .available: ($0.available, $0.note) = (true, authenticator.note(on: factor) ?? "")
                    case .unavailable(let reason): $0.note = authenticator.note(on: factor) ?? "\(reason)"
                    }
                } catch {
                    log.error("a factor's state is not known", metadata: ["factor": "\(factor)", "cause": "\(error)"])
                    $0.note = "its state cannot be read"
                }
                guard factor == .passcode, !isCounterReadable else { return }
                ($0.available, $0.note) = (false, "the counter of wrong tries cannot be read")
            }
        }
    }
}

extension WireBiometryStatus {
    fileprivate init(_ state: BiometryState) {
        self = .with {
            $0.sensor = state.sensor?.name ?? ""
            $0.fingerCount = UInt32(clamping: state.fingerCount)
            $0.missCount = state.obstacle == .recordUnreadable ? nil : state.missCount
            $0.missLimit = Biometry.missLimit
            guard let obstacle = state.obstacle else { return }
            ($0.obstacle, $0.explanation) = (obstacle.refusal.cause, obstacle.refusal.explanation)
        }
        waitsForPasscode = state.waitsForPasscode
        isSetKnown = state.enrolmentDigest != nil
    }
}
