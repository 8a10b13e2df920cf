package import ExactNames
import Foundation
package import HelperProcesses
public import ProcessFacts
package import PromptProtocol
import Synchronization

/// What the trusted place shows to an owner beside the question.
package protocol PlaceOwners: Sendable {
    /// - Throws: when it cannot be read. Nobody is asked then: without the sign the person could not know the place.
    func options(for owner: OwnerID) throws -> TrustedPlaceOptions
}

/// The console of Ostiary's own, where no program of a user draws, reads or types. One for the machine, so it asks one question at a
/// time, of whichever owner.
package final class TrustedPlace: Sendable {
    /// The seat that has consoles.
    private static let seat = "seat0"
    /// How long logind may take to see that the former session has the screen again.
    private static let returnPatience: Duration = .seconds(3)

    let road: HelperRoad
    private let owners: any PlaceOwners
    private let now: @Sendable () -> ContinuousClock.Instant
    private let lastUse = Mutex<ContinuousClock.Instant?>(nil)

    /// - Parameter owners: tells what each of them sees.
    package init(
        _ road: HelperRoad, showing owners: any PlaceOwners,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        (self.road, self.owners, self.now) = (road, owners, now)
    }

    /// Why the user cannot be asked there for this process now; nil when they can.
    ///
    /// While it is used, no session has the screen. So right after a use logind is asked again for a moment.
    func refusal(
        ofProcess processID: Int32, of userID: UInt32, _ sessions: any SessionRecords,
        pause: () -> Void = { Thread.sleep(forTimeInterval: 0.05) }
    ) -> PlaceRefusal? {
        while true {
            guard let refusal = Self.refusal(ofProcess: processID, of: userID, sessions) else { return nil }
            guard refusal.mayEnd, isBeingLeft else { return refusal }
            pause()
        }
    }

    private static func refusal(
        ofProcess processID: Int32, of userID: UInt32, _ sessions: any SessionRecords
    ) -> PlaceRefusal? {
        if let refusal = sessions.refusal(ofProcess: processID, of: userID) { return .session(refusal) }
        return sessions.desktop(of: userID)?.seat == seat ? nil : .notAtConsole
    }

    private var isBeingLeft: Bool {
        lastUse.withLock { last in last.map { $0.duration(to: now()) < Self.returnPatience } ?? false }
    }

    /// To be called when a question has left the place.
    func noteUse() { lastUse.withLock { $0 = now() } }

    func options(for owner: OwnerID?) -> Result<TrustedPlaceOptions, PlaceRefusal> {
        guard let owner else { return .failure(.absent) }
        do { return .success(try owners.options(for: owner)) } catch { return .failure(.signUnreadable) }
    }
}

/// Why a question cannot be put at the trusted place.
public enum PlaceRefusal: Error, Equatable, Sendable {
    /// The daemon has none, as every daemon of one user.
    case absent
    /// The user has no session in the foreground of the seat with the consoles.
    case notAtConsole
    /// The session of the program does not permit it.
    case session(SensorRefusal)
    /// The owner's sign cannot be read.
    case signUnreadable
    /// The console did not get the screen, or its service does not run.
    case notReached

    /// The refusal as the rest of a sentence for a person.
    public var words: String {
        switch self {
        case .absent: "this daemon has none; a daemon for the whole machine has one"
        case .notAtConsole: "you have no session in the foreground of this machine's own screen"
        case .session(let refusal): refusal.words
        case .signUnreadable: "your sign cannot be read; see `ostiary doctor`"
        case .notReached: "its console did not come to the screen; see `systemctl status ostiary-vt.socket`"
        }
    }

    /// For causes of refusals.
    public var name: String {
        switch self {
        case .absent: "absent"
        case .notAtConsole: "notAtConsole"
        case .session(let refusal): "session-\(refusal)"
        case .signUnreadable: "signUnreadable"
        case .notReached: "notReached"
        }
    }

    /// Whether the end of another question's turn may end it.
    fileprivate var mayEnd: Bool { self == .notAtConsole || self == .session(.notActive) }
}
