package import AssociationFiles
import Authenticators
import Callers
import EnrolledTemplates
import ExactNames
import FingerprintReader
package import HelperProcesses
package import Owners
import PAMProtocol
package import ProcessFacts
package import Prompting
package import Settings

/// Where the daemon keeps its state and how it asks people.
package struct BrokerConfiguration: Sendable {
    /// The user whom the daemon runs as; the state folder and all in it must belong to them.
    package let runsAs: SystemUser
    /// The users of the store.
    package let serves: ServedUsers
    /// Folder with mode 0700 that holds the device secret, the store and the audit log.
    package let stateDirectory: String
    /// How the daemon comes to its helpers.
    package let helpers: HelperRoads
    /// What the machine says about callers.
    package let facts: any CallerFacts
    /// Tells who sits at this machine.
    package let sessionRecords: any SessionRecords
    package let prompts: PromptConfiguration
    /// How long what is proved in a context counts there.
    package var contextLifetime: Duration { .seconds(prompts.contextSeconds) }
    package let version: String
    /// Folder of the administrator's registrations of programs.
    package let applicationsDirectory: String
    /// Where the administrator registers programs for all users.
    package static let systemApplicationsDirectory = "/etc/ostiary/apps.d"
    /// Folder of the administrator's association files.
    package let associationsDirectory: String
    /// The user to whom these files must belong; root, except in tests.
    package let associationsUserID: UInt32
    /// Where the administrator confirms programs in place of domains.
    package static let systemAssociationsDirectory = "/etc/ostiary/associations.d"
    /// Where the files of domains are fetched, in tests.
    package let associationServer: AssociationServer
    /// Programs that share access groups without being registered; nil for none.
    private(set) var sharedPrograms: ProgramFolder?
    /// Path of the system bus's socket, which knows who sits at this machine; nil for the usual one.
    package let systemBus: String?
    /// Accepts older copies of a store of many users; nil where the person who starts the daemon does.
    package let acceptanceFile: AcceptanceFile?
    /// Where fingers are known; nil for nowhere.
    package let fingers: FingerSources?
    /// What knows faces; it counts only beside `fingers`. Nil where no face is looked for.
    package let face: FaceSource?
    /// The name under which the store knows its user from before they were renamed; nil when nothing is to be taken over.
    package let adoptedUserName: String?
    /// The names of the options for tests that the daemon was started with.
    package let testOptions: [String]
    /// Whether the opening of the store asks for the password of the TPM's owner, where it needs one. If not, it throws
    /// `EnclaveError.ownerPassword`, and the caller asks.
    package var asksOwnerPassword = true

    /// - Parameter serves: nil for the user whom the daemon runs as.
    package init(
        runsAs: SystemUser, serves: ServedUsers? = nil, stateDirectory: String, helpers: HelperRoads,
        facts: any CallerFacts, sessionRecords: any SessionRecords, prompts: PromptConfiguration, version: String,
        applicationsDirectory: String = Self.systemApplicationsDirectory, systemBus: String? = nil,
        fingers: FingerSources? = nil, face: FaceSource? = nil,
        associationsDirectory: String = Self.systemAssociationsDirectory,
        associationsUserID: UInt32 = 0, associationServer: AssociationServer = AssociationServer(),
        adoptedUserName: String? = nil, acceptanceFile: AcceptanceFile? = nil, testOptions: [String] = []
    ) {
        self.associationsDirectory = associationsDirectory
        self.associationsUserID = associationsUserID
        self.associationServer = associationServer
        self.runsAs = runsAs
        self.serves = serves ?? .only(runsAs)
        self.applicationsDirectory = applicationsDirectory
        self.stateDirectory = stateDirectory
        (self.helpers, self.facts, self.sessionRecords) = (helpers, facts, sessionRecords)
        self.prompts = prompts
        self.version = version
        self.systemBus = systemBus
        self.fingers = fingers
        self.face = face
        self.adoptedUserName = adoptedUserName
        self.acceptanceFile = acceptanceFile
        self.testOptions = testOptions
    }

    /// Lets all programs below a folder use access groups, the first of them for new items. For test runs.
    ///
    /// - Parameter folder: an absolute path, without links in it.
    /// - Throws: the rule that the folder or a group breaks; its description says which.
    package mutating func share(_ groups: [String], below folder: String) throws {
        sharedPrograms = try ProgramFolder(path: folder, accessGroups: groups.map { ExactName($0) })
    }

    /// The buses that know a user's session.
    package func sessionBuses(of userID: UInt32) -> SessionBuses {
        let standard = SessionBuses.standard(of: userID)
        return SessionBuses(system: systemBus ?? standard.system, user: standard.user)
    }

    /// How a user is asked. A configured display is that of the user whom the daemon runs as; anybody else's is found in their own
    /// session.
    package func prompts(of userID: UInt32) -> PromptConfiguration {
        userID == runsAs.id ? prompts : prompts.withoutDisplay
    }
}
