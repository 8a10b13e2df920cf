import AccessControl
package import EnrolledTemplates
import FingerprintReader
package import Foundation
import HelperProcesses
import KeySlots
import OstiaryMessages
package import OwnerKeys
package import Refusals
import Synchronization
import Threading

/// Where an owner's fingers are known.
package struct BiometrySources: Sendable {
    let reader: any FingerSensor
    let templates: any EnrolledSetSource
    /// The service manager's name for what tells the set, for words.
    let templatesUnit: String

    package init(
        reader: any FingerSensor, templates: any EnrolledSetSource,
        templatesUnit: String = HelperSocketAddress.unitOfUsers
    ) {
        self.reader = reader
        self.templates = templates
        self.templatesUnit = templatesUnit
    }
}

/// One owner's biometry: whether it can be used now, how many fingers and faces were wrong, and whether the enrolled set is the
/// one that was there when the passcode was entered last.
///
/// It connects to nothing before somebody asks. Calls block: for the fingerprint service, the helper and the disk.
package final class Biometry: Sendable {
    /// Wrong fingers and faces in a row that lock biometry until the passcode is entered.
    package static let missLimit: UInt32 = 5

    let sources: BiometrySources
    /// Nil where no face is looked for.
    package let face: FaceService?
    let turn = ReaderTurn()
    private let ring: KeyRing
    private let storage: BiometryRecordStorage
    private let onFault: @Sendable (any Error) -> Void
    /// Passcode entries of which the consequences are not stored yet.
    private let entries = DispatchGroup()
    /// Misses that may not be on disk. It is held while the record is read and written, so that each miss counts.
    private let unsavedMisses = Mutex<UInt32>(0)
    private let memory = Mutex(Memory())

    private struct Memory {
        var follower: (any EnrolledSetFollower)?
        var handlers: [@Sendable (BiometryChange) -> Void] = []
        var lastState: BiometryState?
        /// Whether the last look found that `ostiary-templates` is installed.
        var hasHelper = false
        /// No follower begins any more.
        var isStopped = false
    }

    /// - Parameters:
    ///   - face: what knows the owner's face; nil where no face is looked for.
    ///   - onFault: told about what cannot be stored.
    package init(
        _ sources: BiometrySources, face: FaceService? = nil, ring: KeyRing, storage: BiometryRecordStorage,
        onFault: @escaping @Sendable (any Error) -> Void
    ) {
        self.sources = sources
        self.face = face
        self.ring = ring
        self.storage = storage
        self.onFault = onFault
    }

    // MARK: state

    /// What is known now. Asks the service and the helper; arms nothing and asks nobody.
    package func state() -> BiometryState {
        entries.wait()
        let seen = look()
        var state = BiometryState()
        switch seen.reader {
        case .ready(let reader, let fingers): (state.sensor, state.fingerCount) = (reader, fingers.count)
        case .nothingEnrolled(let reader): state.sensor = reader
        case .unusable: break
        }
        if case .digest(let digest) = seen.set { state.enrolmentDigest = Data(digest) }
        // Nil is an obstacle of its own.
        let record = try? judged(seen.mark)
        state.missCount = record?.missCount ?? 0
        state.obstacle = obstacle(seen, record)
        state.face = face.map { FaceState(service: $0.name, obstacle: obstacle(of: $0, record)) }
        let former = memory.withLock { memory in
            memory.hasHelper = seen.set != .absent
            defer { memory.lastState = state }
            return memory.lastState
        }
        if let former, former != state { tell(.state) }
        return state
    }

    /// The state that was found last; nil before anybody asked.
    package var lastState: BiometryState? { memory.withLock { $0.lastState } }

    private func obstacle(_ seen: Look, _ record: BiometryRecord?) -> BiometryObstacle? {
        if case .unusable(let failure) = seen.reader { return .reader(failure) }
        guard ring.isPasscodeSet else { return .passcodeNotSet }
        if case .nothingEnrolled = seen.reader { return .notEnrolled }
        guard let record else { return .recordUnreadable }
        if record.missCount >= Self.missLimit { return .lockedOut }
        if record.isDowngraded(by: seen.mark) { return .templatesGone(unit: sources.templatesUnit) }
        guard let mark = seen.mark else { return .templatesUnreadable }
        let rests = record.isResting || record.enrolledSet != mark || ring.privateHalf(.biometry) == nil
        return rests ? .rests : nil
    }

    /// Why no face can be recognised now. A change of the fingers makes all biometry rest, as there is one key for it.
    ///
    /// - Parameter record: nil when it cannot be read.
    private func obstacle(of face: FaceService, _ record: BiometryRecord?) -> BiometryObstacle? {
        let look = face.look()
        // What was recognised by another service counts no longer.
        if look.isNews { tell(.enrolledSet) }
        if let failure = look.failure { return .face(failure) }
        guard ring.isPasscodeSet else { return .passcodeNotSet }
        guard let record else { return .recordUnreadable }
        if record.missCount >= Self.missLimit { return .lockedOut }
        let rests = record.isResting || !look.isAdopted || ring.privateHalf(.biometry) == nil
        return rests ? .rests : nil
    }

    /// Throws unless a face may be recognised now. Asked before each attempt and after it. It does not ask the fingerprint
    /// service: a finger that was enrolled meanwhile is noticed when somebody asks for the state, or by the helper.
    func requireUsable(_ face: FaceService) throws {
        entries.wait()
        if let obstacle = obstacle(of: face, try judged(nil)) { throw obstacle.refusal }
    }

    /// What reader and helper say.
    struct Look {
        let reader: ReaderState
        let set: EnrolledSet
        let mark: EnrolledSetMark?
    }

    /// - Parameter known: the reader's state, where it was asked for while the reader was claimed. While it is claimed, fprintd lets
    ///   nobody enrol or delete a finger at it. Only the helper notices changes past fprintd (decision 0056).
    func look(knowing known: ReaderState? = nil) -> Look {
        if let known {
            let set = sources.templates.enrolledSet()
            return Look(reader: known, set: set, mark: EnrolledSetMark(set, fingers: known))
        }
        let reader = sources.reader.readerState()
        // Where there is no service nobody can have enrolled a finger.
        if case .unusable(.withoutBus) = reader { return Look(reader: reader, set: .absent, mark: nil) }
        if case .unusable(.withoutService) = reader { return Look(reader: reader, set: .absent, mark: nil) }
        if case .unusable(.serviceNotStarted) = reader { return Look(reader: reader, set: .absent, mark: nil) }
        let set = sources.templates.enrolledSet()
        return Look(reader: reader, set: set, mark: EnrolledSetMark(set, fingers: reader))
    }

    // MARK: the enrolled set

    /// What `ostiary-templates` says of the enrolled set now.
    package func enrolledSet() -> EnrolledSet { sources.templates.enrolledSet() }

    /// The id of the set that is enrolled now, for objects of the current set.
    package func enrolmentID() throws(Refusal) -> Data {
        switch sources.templates.enrolledSet() {
        case .digest(let digest): return Data(digest)
        case .none: throw BiometryObstacle.notEnrolled.refusal
        case .absent: throw Refusal.templatesMissing
        case .unreadable, .refused, .untrusted, .silent: throw BiometryObstacle.templatesUnreadable.refusal
        }
    }

    /// The record after a look at the enrolled set: when the set is not the one of the last passcode entry, biometry rests from
    /// then on, and that is stored.
    private func judged(_ mark: EnrolledSetMark?) throws -> BiometryRecord {
        let (record, isNews) = try unsavedMisses.withLock { unsaved in
            var record = try storage.load()
            let isNews = record.isUntold(mark)
            if isNews {
                record.isResting = true
                // One that cannot be stored is seen again at the next look.
                do { try storage.save(record) } catch { onFault(error) }
            }
            record.missCount = max(record.missCount, unsaved)
            return (record, isNews)
        }
        if isNews { tell(.enrolledSet) }
        return record
    }

    /// The set that a finger is about to be compared with.
    struct Comparison: Equatable {
        let mark: EnrolledSetMark
        /// Nil where nobody digests the templates.
        let enrolmentID: Data?
        let reader: ReaderState
    }

    /// Throws unless a finger may be verified now, and tells with which set it is compared. Called with the reader claimed,
    /// before the touch and after it.
    ///
    /// - Parameter earlier: the comparison before the touch.
    func comparison(for wanted: Set<Data>, _ factor: Factor, after earlier: Comparison? = nil) throws -> Comparison {
        entries.wait()
        let seen = look(knowing: earlier?.reader)
        if let obstacle = obstacle(seen, try judged(seen.mark)) { throw obstacle.refusal }
        guard let mark = seen.mark else { throw BiometryObstacle.templatesUnreadable.refusal }
        var id: Data?
        if case .digest(let digest) = seen.set { id = Data(digest) }
        guard factor == .biometryCurrentSet else {
            return Comparison(mark: mark, enrolmentID: nil, reader: seen.reader)
        }
        guard let id else { throw Refusal.templatesMissing }
        guard wanted.isSubset(of: [id]) else { throw Refusal.setChanged }
        return Comparison(mark: mark, enrolmentID: id, reader: seen.reader)
    }

    // MARK: misses

    /// Counts a finger or face that was not recognised, on disk. Returns how many there are in a row.
    func noteMiss() throws -> UInt32 {
        defer { tell(unsavedMisses.withLock { $0 } >= Self.missLimit ? .lockout : .state) }
        return try unsavedMisses.withLock { unsaved in
            unsaved += 1
            var record = try storage.load()
            unsaved = max(unsaved, record.missCount + 1)
            record.missCount = unsaved
            try storage.save(record)
            return unsaved
        }
    }

    /// Forgives the misses: the finger or face was recognised, and its proof is used.
    ///
    /// - Throws: when so many were wrong meanwhile that only the passcode forgives them.
    func noteMatch() throws {
        try unsavedMisses.withLock { unsaved in
            var record = try storage.load()
            guard max(record.missCount, unsaved) < Self.missLimit else { throw BiometryObstacle.lockedOut.refusal }
            if record.missCount > 0 {
                record.missCount = 0
                try storage.save(record)
            }
            unsaved = 0
        }
    }

    /// The biometry key, of which an evaluation may have what a finger opens; nil while biometry rests.
    var privateHalf: PrivateHalf? { ring.privateHalf(.biometry) }

    // MARK: the passcode

    /// The passcode was entered: misses are forgiven, and the set that is enrolled now is the one that counts. Returns at once;
    /// a call that asks for the state waits until that is stored.
    package func passcodeWasEntered() {
        entries.enter()
        Threads.startEventually("ostiary-biometry") { [self] in
            adopt()
            entries.leave()
            tell(.state)
        }
    }

    private func adopt() {
        let seen = look()
        face?.adopt()
        let isUntold = unsavedMisses.withLock { unsaved in
            let stored = try? storage.load()
            var record = stored ?? BiometryRecord()
            let isUntold = record.isUntold(seen.mark)
            (record.missCount, record.isResting, unsaved) = (0, false, 0)
            // Of a set that nobody tells now, the former one is compared later on.
            if let mark = seen.mark, !record.isDowngraded(by: mark) { record.enrolledSet = mark }
            // A machine without fingers has no record.
            guard record != (stored ?? BiometryRecord()) else { return false }
            do { try storage.save(record) } catch { onFault(error) }
            return isUntold
        }
        // Nobody had looked since the change: what the former fingers proved counts no longer, as at a look.
        if isUntold { tell(.enrolledSet) }
        memory.withLock { $0.hasHelper = seen.set != .absent }
        follow()
    }

    // MARK: changes

    /// Has `handler` told, on any thread, when something changed: a wrong finger, a lockout and its end, a new enrolled set. A
    /// new set is noticed at once after the first passcode entry or ``follow()``, and before when somebody asks for the state. A
    /// reader that is plugged in or out is noticed when somebody asks for the state; `Broker.followReaders` asks while programs
    /// watch. The handler must not block.
    package func onChange(_ handler: @escaping @Sendable (BiometryChange) -> Void) {
        memory.withLock { $0.handlers.append(handler) }
    }

    private func tell(_ change: BiometryChange) {
        for handler in memory.withLock({ $0.handlers }) { handler(change) }
    }

    /// Follows the enrolled set from now on, on a thread that sleeps until it changes. Where the last look found no helper nothing
    /// is followed: it would have to be tried again and again. Does not block.
    package func follow() {
        memory.withLock { memory in
            guard memory.hasHelper, memory.follower == nil, !memory.isStopped else { return }
            memory.follower = sources.templates.followEnrolledSet { [weak self] _ in
                // A set that came and went is noticed too.
                _ = self?.state()
            }
        }
    }

    /// Tells about nothing any more. Waits for what is being stored.
    package func stop() {
        memory.withLock { memory in
            memory.follower?.stop()
            (memory.follower, memory.handlers, memory.isStopped) = (nil, [], true)
        }
        _ = entries.wait(timeout: .now() + 5)
    }
}

/// What changed about biometry.
package enum BiometryChange: Equatable, Sendable {
    /// The enrolled set, or the service that knows faces, is not the one of the last passcode entry; biometry rests.
    case enrolledSet
    /// Too many fingers and faces were wrong.
    case lockout
    /// Something else.
    case state
}

extension EnrolledSetMark {
    /// The templates themselves where the helper digests them, else the names of the fingers as the service tells them. Nil when
    /// neither is known. What it is made of comes first, so that one kind is never taken for the other.
    init?(_ set: EnrolledSet, fingers: ReaderState) {
        switch (set, fingers) {
        case (.digest(let digest), _): self.init(Data([1] + digest))
        case (.none, _): self.init(Data([2]))
        case (.absent, .ready(_, let fingers)):
            self.init(Data([3]) + Data(fingers.map(\.rawValue).sorted().joined(separator: "\n").utf8))
        case (.absent, .nothingEnrolled): self.init(Data([3]))
        default: return nil
        }
    }
}

extension EnrolledSetMark {
    fileprivate var isDigest: Bool { bytes.first == 1 }
    fileprivate var isOfNames: Bool { bytes.first == 3 }
}

extension BiometryRecord {
    /// Whether `mark` is made of names, and the set that was there at the last passcode entry was digested. Names never take a
    /// digest's place: a finger that was replaced under its name would go unnoticed from then on.
    func isDowngraded(by mark: EnrolledSetMark?) -> Bool {
        enrolledSet?.isDigest == true && mark?.isOfNames == true
    }

    /// Whether another set is enrolled than at the last passcode entry, and nobody was told so yet.
    func isUntold(_ mark: EnrolledSetMark?) -> Bool {
        guard let mark, let enrolledSet, !isDowngraded(by: mark) else { return false }
        return mark != enrolledSet && !isResting
    }
}

extension Refusal {
    static let templatesMissing = Refusal(
        .biometryNotAvailable,
        "The rule names the current set of fingers, and nobody can tell this set: ostiary-templates does not run. `ostiary doctor` "
            + "says how to start it. Or name any finger instead.", cause: "biometry.templates-missing")

    static let setChanged = unavailable(.biometryCurrentSet, because: .biometrySetChanged)
}
