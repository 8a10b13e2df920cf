import CommandFailures
package import DoorSupport

extension DoorFailure {
    /// The peer's socket is not bound to a name of a unit.
    package static let unitUnknown = DoorFailure(
        -190, FailureClass("unitUnknown", .refused),
        "A connection does not say for which unit it is, so it got nothing. Only LoadCredential= of systemd asks here.")

    /// No rule gives the unit the credential.
    static func noRule(_ request: UnitRequest, _ path: String) -> DoorFailure {
        DoorFailure(
            -191, FailureClass("noRule", .refused),
            "\(request.unit) asked for \(request.credential), and no rule gives it that. To permit it, add a line to \(path): "
                + "\(request.unit) \(request.credential) = ITEM")
    }

    static func rulesAbsent(_ path: String) -> DoorFailure {
        DoorFailure(
            -192, FailureClass("rulesAbsent", .failed),
            "There is no file of rules, so no unit gets anything. Write \(path).")
    }

    static func rulesUnusable(_ explanation: String) -> DoorFailure {
        DoorFailure(-193, FailureClass("rulesUnusable", .failed), explanation + " Until then no unit gets anything.")
    }

    /// - Parameter unit: that of the process; nil where it runs in none.
    static func otherUnit(_ request: UnitRequest, _ unit: String?) -> DoorFailure {
        DoorFailure(
            -194, FailureClass("otherUnit", .refused),
            "A process of \(unit ?? "no unit") asked in the name of \(request.unit), and got nothing. Each unit asks for itself."
        )
    }

    static func noItem(_ request: UnitRequest) -> DoorFailure {
        DoorFailure(
            -195, FailureClass("notFound", .failed),
            "The rule of \(request.unit) for \(request.credential) names no item that this program sees. Add one to the group "
                + "\(DoorProgram.accessGroup), or correct the rule.")
    }

    static func ambiguousItem(_ request: UnitRequest) -> DoorFailure {
        DoorFailure(
            -196, FailureClass("ambiguousItem", .failed),
            "The rule of \(request.unit) for \(request.credential) names several items. Name one by its id.")
    }

    static func noData(_ request: UnitRequest) -> DoorFailure {
        DoorFailure(
            -197, FailureClass("noData", .failed),
            "The item of \(request.unit) for \(request.credential) holds no secret. Name another one.")
    }

    /// This program ends while somebody is asked. It is noted and never reported, so it has no number of its own.
    static func ending(_ request: UnitRequest) -> DoorFailure {
        DoorFailure(
            FailureDocument.unclassified, .unknown,
            "\(request.unit) did not get \(request.credential), because this program ends. Start the unit again.")
    }
}
