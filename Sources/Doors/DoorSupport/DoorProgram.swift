import CLinuxShims
import Glibc

/// The programs that Ostiary's packages register as doors, and the owner's command, which shares their group.
package struct DoorProgram: Equatable, Sendable {
    /// The file's name, for example `ostiary-ssh-agent`.
    package let name: String
    /// The name that a registration gives it.
    package let applicationID: String
    /// Whether it may make requests for its clients.
    package let isDoor: Bool
    /// The name of its socket in the runtime folder, without `.sock`; nil where none is served.
    package let socket: String?
    /// The names under which other software starts it, which are links.
    package let otherNames: [String]

    private init(
        _ name: String, _ applicationID: String, isDoor: Bool = true, socket: String? = nil, otherNames: [String] = []
    ) {
        (self.name, self.applicationID, self.isDoor) = (name, applicationID, isDoor)
        (self.socket, self.otherNames) = (socket, otherNames)
    }

    /// The access group that all of them have in common: keys and items that the owner's command makes are there for the doors.
    package static let accessGroup = "ostiary.doors"

    package static let sshAgent = DoorProgram("ostiary-ssh-agent", "org.ostiary.ssh-agent", socket: "ssh-agent")
    package static let credentialHelper = DoorProgram(
        "ostiary-credential-helper", "org.ostiary.credential-helper",
        otherNames: ["git-credential-ostiary", "docker-credential-ostiary"])
    package static let agePlugin = DoorProgram("age-plugin-ostiary", "org.ostiary.age-plugin")
    package static let unitCredentials = DoorProgram(
        "ostiary-credentials", "org.ostiary.credentials", socket: "credentials")
    package static let secrets = DoorProgram("ostiary-secrets", "org.ostiary.secrets")
    package static let pkcs11 = DoorProgram("ostiary-pkcs11d", "org.ostiary.pkcs11", socket: "pkcs11")
    package static let command = DoorProgram("ostiary", "org.ostiary.command", isDoor: false)

    package static let doors = [sshAgent, credentialHelper, agePlugin, unitCredentials, secrets, pkcs11]
    package static let all = doors + [command]

    /// The first thing that each door does, before it opens anything or starts a thread. Ends the process if that fails.
    package static func begin() {
        guard ostiary_occupy_standard_descriptors() == 0 else { exit(EXIT_FAILURE) }
        // A backtrace would print memory. The process stays dumpable: the daemon could not see its program otherwise.
        ostiary_silence_crashes()
        // A client that goes while it is answered ends no door.
        signal(SIGPIPE, SIG_IGN)
    }
}
