public import AssociationFiles
package import Authenticators
import Callers
import EnrolledTemplates
import ExactNames
import FingerprintReader
import PAMProtocol
public import Prompting
import TemplateAnswers
import UnixSocket

/// Where the daemon keeps its state and how it asks people.
public struct BrokerConfiguration: Sendable {
    /// The user whom the daemon runs as and serves; the state folder and all in it must belong to them.
    public let user: SystemUser
    /// Folder with mode 0700 that holds the device secret, the store and the audit log.
    public let stateDirectory: String
    /// Absolute path of `ostiary-prompt`.
    public let promptProgram: String
    /// `ostiary-fido` lies beside it.
    var securityKeyProgram: String { PathName.folder(of: promptProgram) + "/ostiary-fido" }
    public let prompts: PromptConfiguration
    /// How long what is proved in a context counts there.
    var contextLifetime: Duration { .seconds(prompts.contextSeconds) }
    public let version: String
    /// Folder of the administrator's registrations of programs.
    public let applicationsDirectory: String
    /// Where the administrator registers programs for all users.
    public static let systemApplicationsDirectory = "/etc/ostiary/apps.d"
    /// Absolute path of `ostiary-association`.
    let associationProgram: String
    /// Folder of the administrator's association files.
    let associationsDirectory: String
    /// The user to whom these files must belong; root, except in tests.
    let associationsUserID: UInt32
    /// Where the administrator confirms programs in place of domains.
    public static let systemAssociationsDirectory = "/etc/ostiary/associations.d"
    /// Where the files of domains are fetched, in tests.
    let associationServer: AssociationServer
    /// Programs that share access groups without being registered; nil for none.
    private(set) var sharedPrograms: ProgramFolder?
    /// Path of the system bus's socket, which knows who sits at this machine; nil for the usual one.
    let systemBus: String?
    /// Where fingers are known; nil for nowhere.
    let fingers: FingerSources?
    /// What knows faces; it counts only beside `fingers`. Nil where no face is looked for.
    let face: FaceSource?
    /// The name under which the store knows its user from before they were renamed; nil when nothing is to be taken over.
    public let adoptedUserName: String?
    /// The names of the options for tests that the daemon was started with.
    let testOptions: [String]
    /// Whether the opening of the store asks for the password of the TPM's owner, where it needs one. If not, it throws
    /// `EnclaveError.ownerPassword`, and the caller asks.
    var asksOwnerPassword = true

    public init(
        user: SystemUser, stateDirectory: String, promptProgram: String, prompts: PromptConfiguration,
        version: String,
        applicationsDirectory: String = Self.systemApplicationsDirectory, systemBus: String? = nil,
        fingers: FingerSources? = nil, face: FaceSource? = nil,
        associationProgram: String = "/nonexistent",
        associationsDirectory: String = Self.systemAssociationsDirectory,
        associationsUserID: UInt32 = 0, associationServer: AssociationServer = AssociationServer(),
        adoptedUserName: String? = nil, testOptions: [String] = []
    ) {
        self.associationProgram = associationProgram
        self.associationsDirectory = associationsDirectory
        self.associationsUserID = associationsUserID
        self.associationServer = associationServer
        self.user = user
        self.applicationsDirectory = applicationsDirectory
        self.stateDirectory = stateDirectory
        self.promptProgram = promptProgram
        self.prompts = prompts
        self.version = version
        self.systemBus = systemBus
        self.fingers = fingers
        self.face = face
        self.adoptedUserName = adoptedUserName
        self.testOptions = testOptions
    }

    /// Lets all programs below a folder use access groups, the first of them for new items. For test runs.
    ///
    /// - Parameter folder: an absolute path, without links in it.
    /// - Throws: the rule that the folder or a group breaks; its description says which.
    public mutating func share(_ groups: [String], below folder: String) throws {
        sharedPrograms = try ProgramFolder(path: folder, accessGroups: groups.map { ExactName($0) })
    }

    /// The buses that know the user's session.
    var sessionBuses: SessionBuses {
        let standard = SessionBuses.standard(of: user.id)
        return SessionBuses(system: systemBus ?? standard.system, user: standard.user)
    }
}

/// Where the fingerprint service and the helper that digests templates are reached.
public struct FingerSources: Sendable {
    /// Makes the sources for one owner. The key digests the owner's templates for this store alone.
    let make: @Sendable (_ key: [UInt8]) -> BiometrySources

    /// - Parameters:
    ///   - systemBus: path of the system bus's socket.
    ///   - serviceUserID: the user as whom the fingerprint service runs: root, except in tests.
    ///   - templatesSocket: path of the socket of `ostiary-templates`; nil for where it is installed.
    ///   - templatesUserID: who must have made that socket: root, except in tests.
    public init(
        systemBus: String, serviceUserID: UInt32 = 0, templatesSocket: String? = nil, templatesUserID: UInt32 = 0
    ) {
        make = { key in
            BiometrySources(
                reader: FingerprintReader(socketPath: systemBus, serviceUserID: serviceUserID),
                templates: EnrolledTemplates(
                    socketPath: templatesSocket ?? TemplateSocket.path, key: key, serverUserID: templatesUserID))
        }
    }

    init(make: @escaping @Sendable (_ key: [UInt8]) -> BiometrySources) { self.make = make }

    /// Sources that another part of this package made.
    package init(_ sources: BiometrySources) { make = { _ in sources } }
}

/// The PAM service that knows faces, and the helper that asks it.
public struct FaceSource: Sendable {
    /// The name of the service.
    let service: String
    /// Absolute path of `ostiary-pam`.
    let program: String
    /// Path of the system bus's socket, for the service's module.
    let systemBus: String
    /// The folder of service files.
    let folder: String
    /// The user to whom the service file must belong.
    let trustedUserID: UInt32

    /// - Parameters:
    ///   - folder: nil for where services are configured.
    ///   - trustedUserID: root, except in tests.
    public init(
        service: String, program: String, systemBus: String, folder: String? = nil, trustedUserID: UInt32 = 0
    ) {
        self.service = service
        self.program = program
        self.systemBus = systemBus
        self.folder = folder ?? PAMServiceFile.standardFolder
        self.trustedUserID = trustedUserID
    }
}
