import AccessControl
import Foundation
import OstiaryClient
import OstiaryMessages

/// The doors' programs, and what a daemon has to know of them.
struct DoorPrograms {
    /// What this program makes in the group is there for the doors.
    static let accessGroup = "ostiary.doors"
    private static let interaction = Interaction(reason: "measure doors")

    let folder: String

    /// The path without links, as the daemon sees it.
    func path(_ name: String) -> String {
        URL(fileURLWithPath: folder + "/" + name).resolvingSymlinksInPath().path
    }

    /// Sets a passcode, and registers this program and these doors. The person is asked for each.
    func register(_ names: [String], with client: OstiaryClient) throws {
        try client.passcode(.set, interaction: Self.interaction)
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        for (number, program) in ([own] + names.map(path)).enumerated() {
            _ = try client.registerApplication(
                path: program, applicationID: "org.ostiary.benchmark.\(number)", accessGroups: [Self.accessGroup],
                isDoor: program != own, interaction: Self.interaction)
        }
    }

    /// A rule that asks for the passcode once.
    static func ruledByPasscode() throws -> AccessControl {
        AccessControl(availability: .whenUnlocked, using: try Requirement(Rule(parsing: "passcode")))
    }
}
