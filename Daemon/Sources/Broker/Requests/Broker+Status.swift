import AccessControl
import AuditLog
import Auditing
import Authenticators
import Callers
import Diagnosis
import Enclave
import ExactNames
import FingerprintReader
import Glibc
import Logging
import Opening
import OstiaryMessages
import OwnerKeys
import Owners
import PromptProtocol
import ProtectedObjects
import Refusals
import Sessions
import Vault

/// What the daemon says about itself.
extension Broker {
    /// - Parameter processID: the process that asks.
    func diagnosis(
        for account: OwnerAccount, askedBy processID: Int32 = getpid(), as requester: StretchRequester
    ) -> WireDiagnosis {
        .with { $0.findings = Examination(opened, for: account, askedBy: processID, as: requester).findings() }
    }

    /// Where the starter of the daemon decides its trust, that comes before whom it serves.
    private var mode: WireMode {
        guard configuration.testOptions.isEmpty else { return .userForTests }
        return configuration.serves.sole == nil ? .system : .user
    }

    func status(for exchange: Exchange) throws -> WireStatus {
        let attempts = exchange.account.knownAttempts()
        let rights = try rightStatus(of: exchange)
        return .with {
            $0.mode = mode
            $0.daemonVersion = configuration.version
            $0.processID = UInt32(getpid())
            $0.stateDirectory = configuration.stateDirectory
            $0.enclaveKind = enclave.kind.rawValue
            $0.unlocked = exchange.account.ring.unlockState(of: .whenUnlocked) == .open
            $0.unlockedSinceStart = exchange.account.ring.wasUnlockedSinceStart
            $0.passcode.isSet = exchange.account.ring.isPasscodeSet
            if let attempts {
                $0.passcode.failedAttempts = attempts.failedCount
                $0.passcode.lockedOutSeconds = attempts.remaining / .seconds(1)
            }
            if let progress = exchange.account.life.progress.current {
                $0.passcode.changing = .with {
                    $0.done = UInt32(clamping: progress.done)
                    $0.total = UInt32(clamping: progress.total)
                }
            }
            $0.passcode.login = loginUse(of: exchange.account)
            $0.rights = rights
            $0.factors = factorStatus(exchange.account, isCounterReadable: attempts != nil)
            // The factor's state is this one: services that are slow to answer are asked once.
            $0.biometry = exchange.account.biometry.map { WireBiometryStatus($0.lastState ?? $0.state()) }
            $0.logRecordCount = logRecordCount(
                for: opened.logAudience(of: exchange.account), of: exchange.account.user.id)
            $0.caller.program = exchange.caller.program.logName
            $0.caller.label = exchange.caller.label.rawValue
            $0.caller.applicationID = exchange.caller.identity.applicationID?.text ?? ""
            $0.caller.accessGroups = exchange.accessGroups.texts
        }
    }

    /// Not told where one user is served: no login comes there. Without a passcode none tries anything.
    private func loginUse(of account: OwnerAccount) -> WireLoginUse {
        guard configuration.serves.sole == nil, account.ring.isPasscodeSet else { return .unspecified }
        do { return WireLoginUse(try account.login.state()) } catch {
            services.callerLines.write(
                .error, "the state of a login cannot be read", of: account.user.id, ["cause": "\(error)"])
            return .unreadable
        }
    }

    /// A list that does not verify is no reason to say nothing: the status leads to the doctor.
    private func rightStatus(of exchange: Exchange) throws -> WireRightStatus {
        do {
            let counts = try exchange.account.rights.counts(application: exchange.application, as: exchange.requester)
            return .with {
                $0.count = UInt32(clamping: counts.readable)
                $0.unreadableCount = UInt32(clamping: counts.unreadable)
            }
        } catch VaultError.corrupt(let reference, _) {
            services.callerLines.write(
                .error, "the rights cannot be counted", of: exchange.account.user.id, ["list": "\(reference)"])
            return .with { $0.isUnknown = true }
        }
    }

    /// Nor is a log that does not fit: its verdict says so.
    ///
    /// - Parameter userID: the user whose program asks.
    func logRecordCount(for audience: LogAudience, of userID: UInt32) -> UInt64 {
        do { return try store.log.audit.recordCount(for: audience) } catch {
            services.callerLines.write(
                .error, "the records of the log cannot be counted", of: userID, ["cause": "\(error)"])
            return 0
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
                    services.callerLines.write(
                        .error, "a factor's state is not known", of: account.user.id,
                        ["factor": "\(factor)", "cause": "\(error)"])
                    $0.note = "its state cannot be read"
                }
                guard factor == .passcode, !isCounterReadable else { return }
                ($0.available, $0.note) = (false, "the counter of wrong tries cannot be read")
            }
        }
    }
}

extension WireLoginUse {
    fileprivate init(_ state: LoginState) {
        self =
            switch state {
            case .never: .never
            case .trying(failed: false): .tries
            case .trying(failed: true): .waits
            case .following: .follows
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
