import Callers
import OstiaryMessages
import Refusals

/// Why a door cannot make a request for a client. Its connection goes on.
enum DoorRefusal {
    static let notRegistered = Refusal(
        .missingEntitlement,
        "Only a door may make requests for other programs, and this program is not registered. `ostiary doors register` "
            + "registers those of Ostiary, and `ostiary app register --door` another one.", cause: "door.not-registered"
    )

    static let notADoor = Refusal(
        .missingEntitlement,
        "The program is registered, but not as a door. Register it again with `ostiary app register --door`.",
        cause: "door.not-a-door")

    static let request = Refusal(
        .operationNotPermitted, "A door cannot make this request for a client.", cause: "door.request")

    static let label = Refusal(
        .invalidParameter, "The door's name for the client has more than \(WireLimits.clientLabelByteCount) bytes.",
        cause: "door.label")

    static let descriptors = Refusal(
        .malformed, "The passed descriptors are not those that the request names.", cause: "door.descriptors")

    static let terminal = Refusal(.malformed, "The request takes no terminal.", cause: "door.descriptors")

    static let tooManyClients = Refusal(
        .tooMany, "The doors act for too many clients at once; try again when some have ended.",
        cause: "door.too-many-clients")

    /// A door that has places of its own must know whose share is full: it sends nobody else away for that.
    static let tooManyClientsOfProgram = Refusal(
        .tooMany, "The doors act for too many processes of this program at once; try again when some have ended.",
        cause: "door.too-many-clients-of-program")

    /// - Parameter refusal: the quota's.
    static func noPlace(because refusal: Refusal) -> Refusal {
        refusal.cause == SlowRequestQuota.shareIsFull ? tooManyClientsOfProgram : tooManyClients
    }

    static let tooManyReadings = Refusal(
        .tooMany, "Too many requests that read much run already; try again when one has ended.",
        cause: "door.too-many-readings")

    /// The client is no longer the program that its first request was made for.
    static func changed(_ error: CallerError) -> Refusal {
        Refusal(
            .clientChanged, "The client ended or executed another program; it has to connect to the door again.",
            cause: "client.\(error)")
    }

    static func refusal(for error: any Error) -> Refusal {
        switch error {
        case let refusal as Refusal: refusal
        case let error as ClientError: refusal(for: error)
        case CallerError.unreadable, CallerError.refused, CallerError.changing: refusal(for: ClientError.unreadable)
        case let error as CallerError: changed(error)
        default: changed(.gone)
        }
    }

    private static func refusal(for error: ClientError) -> Refusal {
        let words: String
        switch error {
        case .gone: return changed(.gone)
        case .noConnection: words = "The passed socket is no connection that a client made."
        case .noProcess: words = "The kernel names no process of the connection; the door must pass a pidfd, too."
        case .mismatch: words = "The passed process did not make the passed connection."
        case .foreignUser: words = "The client belongs to another user."
        case .itself: words = "The client is the door or the daemon."
        case .door: words = "The client is a door, and doors act for no doors."
        case .unreadable: words = "The daemon may not see which program the client runs."
        }
        return Refusal(.clientRefused, words, cause: "client.\(error.cause)")
    }
}

extension ClientError {
    fileprivate var cause: String {
        switch self {
        case .noConnection: "no-connection"
        case .noProcess: "no-process"
        case .foreignUser: "foreign-user"
        case .gone, .mismatch, .itself, .door, .unreadable: "\(self)"
        }
    }
}
