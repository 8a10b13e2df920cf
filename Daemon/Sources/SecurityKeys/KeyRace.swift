import AuthenticatorRequests
import Cancellations
import Glibc
import HelperProcesses
import SecretMemory
import SecurityKeyProtocol
import UnixSocket

/// One task, and all keys that are plugged in or come meanwhile. The key that the person touches first does it; the others
/// are cancelled.
///
/// Everything happens on the caller's thread. Each key has a helper of its own, so a key that lies or hangs disturbs no
/// other. All wait until each has described itself; one that does not do so in time is left out.
final class KeyRace<Task: KeyTask> {
    private let task: Task
    private let question: any CredentialQuestion
    private let helper: HelperRoad
    private let ports: any SecurityKeyPorts
    /// The user whose keys take part; nil for the user of this process.
    private let userID: UInt32?
    private let turns: KeyTurns
    private let deadline: ContinuousClock.Instant
    private var keys: [PluggedKey] = []
    /// Ports whose key takes no part any more.
    private var refused: Set<SecurityKeyPort> = []
    /// How many helpers could not open the key of a port.
    private var failedOpenings: [SecurityKeyPort: Int] = [:]
    private var shown: CredentialStep?
    /// Why a key could not be opened or spoken to. It counts only when nothing else comes.
    private var startFailure: String?
    /// Whether another question uses a key that is plugged in.
    private var isWaiting = false

    /// How long keys that come and go may stay unnoticed.
    private static var lookMilliseconds: CInt { 250 }
    /// How long a key may take to describe itself.
    private static var descriptionLimit: Duration { .seconds(10) }
    /// The greatest number of keys at once.
    private static var keyCount: Int { 8 }
    /// How many helpers may fail to open a key.
    private static var openingCount: Int { 8 }
    /// How long keys get to stop blinking.
    private static var endMilliseconds: CInt { 700 }

    init(
        _ task: Task, _ question: any CredentialQuestion, helper: HelperRoad, ports: any SecurityKeyPorts,
        of userID: UInt32?, turns: KeyTurns, limit: Duration
    ) {
        self.task = task
        self.question = question
        self.helper = helper
        self.ports = ports
        self.userID = userID
        self.turns = turns
        deadline = .now.advanced(by: limit)
    }

    func run(until cancellation: Cancellation) throws -> Task.Outcome {
        guard !cancellation.isCancelled else { throw CredentialRefusal.cancelled }
        let stop: PollableCancellation
        do { stop = try PollableCancellation() } catch { throw CredentialRefusal.helperFailed(reason: "\(error)") }
        guard let ending = cancellation.register({ stop.cancel() }) else { throw CredentialRefusal.cancelled }
        defer { cancellation.remove(ending) }
        defer { endAll() }
        while true {
            try plugIn(stop)
            leaveOutSilent()
            decide()
            try continueAlone()
            showStep()
            for key in try wait(stop) {
                if let outcome = try take(key) { return outcome }
            }
        }
    }

    // MARK: keys come and go

    private func plugIn(_ stop: PollableCancellation) throws {
        // The person has chosen: a key that comes now is too late.
        guard !keys.contains(where: \.isChosen) else { return }
        let present = ports.present(to: userID)
        refused.formIntersection(present)
        failedOpenings = failedOpenings.filter { present.contains($0.key) }
        isWaiting = false
        for port in present where !refused.contains(port) && !keys.contains(where: { $0.port == port }) {
            guard keys.count < Self.keyCount else { return }
            do throws(KeyStartFailure) {
                guard
                    let key = try PluggedKey(
                        port, of: userID, helper: helper, ports: ports, turns: turns, stoppedBy: stop.descriptor)
                else {
                    isWaiting = true
                    continue
                }
                keys.append(key)
                startFailure = nil
            } catch {
                switch error {
                case .helper(.stopped): throw CredentialRefusal.cancelled
                // Without the helper no key will ever work; a key that cannot be opened is one of possibly several. While others
                // have their helpers, the person can use those.
                case .helper:
                    guard !keys.isEmpty else { throw CredentialRefusal.helperFailed(reason: "\(error)") }
                    refused.insert(port)
                case .key: if !error.mayPass { refused.insert(port) }
                // Each try is a process.
                case .refusedByHelper:
                    failedOpenings[port, default: 0] += 1
                    if !error.mayPass || failedOpenings[port] == Self.openingCount { refused.insert(port) }
                }
                startFailure = "\(error)"
            }
        }
    }

    /// A key may answer while it is opened, and then nothing more. One whose answer lies unread has answered: the wait for another key's
    /// helper may have taken the time.
    private func leaveOutSilent() {
        for key in keys {
            guard case .describing(.decide) = key.state,
                key.describingSince.duration(to: .now) > Self.descriptionLimit, !key.hasSaidSomething
            else { continue }
            remove(key)
        }
    }

    private func remove(_ key: PluggedKey) {
        refused.insert(key.port)
        key.end()
        keys.removeAll { $0 === key }
    }

    // MARK: decisions

    /// Begins when each key has told its abilities.
    private func decide() {
        // All descriptions must be here: they show whether a key is the only one.
        guard !keys.contains(where: { if case .describing(.decide) = $0.state { true } else { false } }) else { return }
        for key in keys {
            guard case .described = key.state else { continue }
            switch task.plan(for: key.description) {
            case .ask(let request): begin(request, on: key)
            case .askWithPIN: select(key, .askForPIN)
            case .askWithNewPIN: select(key, .setFirstPIN)
            case .refuse(let refusal): select(key, .refuse(refusal))
            }
        }
    }

    private func begin(_ request: KeyRequest, on key: PluggedKey, pin: KeyPIN? = nil) {
        key.state = .working
        key.pin = pin
        key.send(request, pin: pin)
    }

    /// Waits for a touch. The only key needs none: it is ``continueAlone()`` that goes on.
    private func select(_ key: PluggedKey, _ next: PluggedKey.Next) {
        key.state = .selecting(next)
        if keys.count > 1 || next.isRefusal || task.choosesByTouch { key.send(.select) } else { key.isChosen = true }
    }

    /// Asks at once for the PIN of the only key.
    private func continueAlone() throws {
        guard keys.count == 1, let key = keys.first, key.isChosen, case .selecting(let next) = key.state else { return }
        try proceed(key, next)
    }

    private func proceed(_ key: PluggedKey, _ next: PluggedKey.Next) throws {
        switch next {
        case .refuse(let refusal): throw refusal
        case .askForPIN: try askForPIN(key, wasWrong: false)
        case .setFirstPIN:
            give(try typedPIN(for: key, isNew: true, wasWrong: false), to: key, replacing: nil)
        }
    }

    /// The person has chosen this key.
    private func choose(_ chosen: PluggedKey) {
        chosen.isChosen = true
        for key in keys where key !== chosen {
            if key.isBusy { key.send(.cancel) }
            key.state = key.isBusy ? .cancelled : .out
        }
    }

    // MARK: PINs

    private func askForPIN(_ key: PluggedKey, wasWrong: Bool) throws {
        let tries = key.description.pinTries
        guard tries != 0 else { throw CredentialRefusal.pinBlocked }
        guard !task.choosesByTouch else { throw KeyNeedsPIN(port: key.port) }
        if tries == 1, !key.insists {
            guard try question.insists(onLastPINTryOf: key.name) else { throw CredentialRefusal.lastPINTry }
            key.insists = true
        }
        let pin = try typedPIN(for: key, isNew: false, wasWrong: wasWrong)
        guard key.description.features.contains(.needsNewPIN) || task.changesPIN else {
            guard let request = task.plan(for: key.description).withPIN().request else { return }
            return begin(request, on: key, pin: pin)
        }
        give(try typedPIN(for: key, isNew: true, wasWrong: false), to: key, replacing: pin)
    }

    /// - Parameter current: the present PIN; nil for a key without one.
    private func give(_ new: KeyPIN, to key: PluggedKey, replacing current: KeyPIN?) {
        key.state = .settingPIN(new, replacing: current)
        if let current {
            key.send(.changePIN(currentByteCount: UInt8(current.byteCount)), pin: current.joined(with: new))
        } else {
            key.send(.setPIN, pin: new)
        }
    }

    /// Asks again until a key would look at the PIN: an ill-formed PIN must not cost a try.
    private func typedPIN(for key: PluggedKey, isNew: Bool, wasWrong: Bool) throws -> KeyPIN {
        var wasWrong = wasWrong
        while true {
            let tries = isNew ? nil : key.description.pinTries.map(Int.init)
            let typed = try question.pin(for: key.name, triesLeft: tries, isNew: isNew, wasWrong: wasWrong)
            let pin = KeyPIN(typed.inNormalizationFormC())
            if pin.isWellFormed { return pin }
            wasWrong = true
        }
    }

    // MARK: waiting

    private func showStep() {
        let busy = keys.filter(\.isBusy)
        let step: CredentialStep
        if busy.isEmpty {
            step = isWaiting ? .waiting : ports.absence(for: userID)
        } else if let key = keys.first(where: \.isChosen) ?? (busy.count == 1 ? busy.first : nil) {
            step = self.step(for: key)
        } else {
            step = .touch(device: nil)
        }
        guard step != shown else { return }
        shown = step
        question.show(step)
    }

    private func step(for key: PluggedKey) -> CredentialStep {
        switch key.state {
        case .describing, .described, .settingPIN, .cancelled, .out: return .working
        // A key at a reader has been touched: it was brought there.
        case .selecting where key.port.road == .nfc: return .hold(device: key.name)
        case .working where key.port.road == .nfc: return .hold(device: key.name)
        case .selecting: return .touch(device: key.name)
        case .working:
            guard task.plan(for: key.description).verifiesUser else { return .touch(device: key.name) }
            let tries = key.description.verificationTries.map(Int.init)
            return .verifyOnDevice(device: key.name, triesLeft: tries)
        }
    }

    /// The keys that have said something.
    private func wait(_ stop: PollableCancellation) throws -> [PluggedKey] {
        var polled = [pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0)]
        polled += keys.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        _ = unsafe poll(&polled, nfds_t(polled.count), Self.lookMilliseconds)
        guard !stop.isCancelled else { throw CredentialRefusal.cancelled }
        guard ContinuousClock.now < deadline else {
            guard keys.isEmpty, let startFailure else { throw CredentialRefusal.timedOut }
            throw CredentialRefusal.helperFailed(reason: startFailure)
        }
        return zip(keys, polled.dropFirst()).filter { $0.1.revents != 0 }.map(\.0)
    }

    /// Ends all keys at once: a helper that does not end costs its time limit once, however many do so.
    private func endAll() {
        let busy = keys.filter(\.isBusy)
        for key in busy { key.send(.cancel) }
        let end = ContinuousClock.now.advanced(by: .milliseconds(Int(Self.endMilliseconds)))
        for key in busy {
            let left = ContinuousClock.now.duration(to: end)
            var polled = pollfd(fd: key.descriptor, events: Int16(POLLIN), revents: 0)
            if left > .zero { _ = unsafe poll(&polled, 1, CInt(left / .milliseconds(1))) }
        }
        for key in keys { key.beginEnd() }
        let gone = ContinuousClock.now.advanced(by: HelperProcessLimits.end)
        for key in keys { key.finishEnd(by: gone) }
        keys = []
    }

    // MARK: answers

    /// Takes the answer of a key.
    ///
    /// - Returns: the outcome, when the answer brings it.
    private func take(_ key: PluggedKey) throws -> Task.Outcome? {
        guard let answer = key.receive() else {
            let isChosen = key.isChosen
            remove(key)
            startFailure = "the helper ended"
            guard !isChosen else { throw CredentialRefusal.helperFailed(reason: "the helper ended") }
            return nil
        }
        let state = key.state
        if case .cancelled = state {
            key.state = .out
            return nil
        }
        key.state = .described
        let report = answer.report
        let secret = answer.takeSecret()
        switch (report, state) {
        case (.failed(let failure), _): try fail(key, failure, during: state)
        case (.description(let description), .describing(let then)):
            key.description = description
            try proceed(key, after: then)
        case (.touched, .selecting(let next)):
            choose(key)
            try proceed(key, next)
        case (.done, .settingPIN(let pin, _)):
            key.description.features.subtract(.needsNewPIN)
            guard let request = task.plan(for: key.description).withPIN().request else { return nil }
            begin(request, on: key, pin: pin)
        case (let report, .working):
            choose(key)
            question.show(.working)
            shown = .working
            if let request = try task.next(after: report, from: key.description) {
                begin(request, on: key, pin: key.pin)
                return nil
            }
            return try task.outcome(of: report, secret: secret, from: key.description, question)
        default: throw CredentialRefusal.malformedAnswer
        }
        return nil
    }

    /// Whether a key answers so only after a touch: the credential is excluded, the person said no, or no place is left (CTAP 2.1,
    /// 6.1.2 and 8.2).
    private static func saysTouched(_ code: Int32) -> Bool { [0x19, 0x27, 0x28].contains(code) }

    private func proceed(_ key: PluggedKey, after then: PluggedKey.Then) throws {
        switch then {
        case .decide: key.state = .described
        case .askForPIN(let wasWrong): try askForPIN(key, wasWrong: wasWrong)
        case .verifyAgain:
            let plan = task.plan(for: key.description)
            switch plan {
            case .ask(let request): begin(request, on: key)
            case .askWithPIN: try askForPIN(key, wasWrong: false)
            case .askWithNewPIN: throw CredentialRefusal.userVerificationBlocked
            case .refuse(let refusal): throw refusal
            }
        }
    }

    private func fail(_ key: PluggedKey, _ failure: KeyFailure, during state: PluggedKey.State) throws {
        let refusal = CredentialRefusal(failure)
        guard !failure.isGone else {
            let isChosen = key.isChosen
            remove(key)
            guard !isChosen else { throw CredentialRefusal.removed }
            return
        }
        switch (failure.code, state) {
        // A wrong PIN, or a sensor that did not recognise the person.
        case (0x31, .working), (0x31, .settingPIN):
            choose(key)
            key.describe(then: .askForPIN(wasWrong: true))
        case (0x3F, .working): key.describe(then: .verifyAgain)
        case (0x3C, .working) where key.description.features.contains(.hasPIN):
            choose(key)
            key.description.verificationTries = 0
            key.describe(then: .askForPIN(wasWrong: false))
        // The key wants its PIN for a request that seemed to need none.
        case (0x36, .working) where !key.isChosen: select(key, .askForPIN)
        // The new PIN breaks a rule of the key, which has accepted its present one.
        case (0x37, .settingPIN(_, let current)):
            give(try typedPIN(for: key, isNew: true, wasWrong: true), to: key, replacing: current)
        // Nobody touched it; there is time left.
        case (0x2F, .working) where !key.isChosen, (0x3A, .working) where !key.isChosen,
            (0x2F, .selecting), (0x3A, .selecting):
            key.describe(then: .decide)
        case (0x2E, .working) where !key.isAskedOtherwise && task.otherRequest(for: key.description) != nil:
            guard let request = task.otherRequest(for: key.description) else { return }
            key.isAskedOtherwise = true
            begin(request, on: key)
        // Only a person who holds the key may learn that it has no credential.
        case (0x2E, .working) where !key.isChosen: select(key, .refuse(refusal))
        // A broken key takes no part, and another may still come.
        case (_, .describing(.decide)): remove(key)
        // Nobody touched it: it says why when somebody does, and the others go on.
        case (let code, .working) where !key.isChosen && keys.count > 1 && !Self.saysTouched(code):
            select(key, .refuse(refusal))
        case (_, .selecting(.refuse(let refusal))) where keys.count == 1: throw refusal
        case (_, .selecting) where !key.isChosen: remove(key)
        default: throw refusal
        }
    }
}

extension PluggedKey.Next {
    fileprivate var isRefusal: Bool { if case .refuse = self { true } else { false } }
}
