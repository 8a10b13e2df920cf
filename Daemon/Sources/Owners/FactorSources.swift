package import Authenticators
import EnrolledTemplates
import FingerprintReader
import PAMProtocol
import TemplateAnswers

/// Where the fingerprint service and the helper that digests templates are reached.
package struct FingerSources: Sendable {
    /// Makes the sources for one owner. The key digests the owner's templates for this store alone.
    package let make: @Sendable (_ key: [UInt8], _ owner: SystemUser) -> BiometrySources

    /// - Parameters:
    ///   - systemBus: path of the system bus's socket.
    ///   - serviceUserID: the user as whom the fingerprint service runs: root, except in tests.
    ///   - templatesSocket: path of the socket of `ostiary-templates`; nil for where it is installed.
    ///   - templatesUserID: the user who must have made that socket: root, except in tests.
    package init(
        systemBus: String, serviceUserID: UInt32 = 0, templatesSocket: String? = nil, templatesUserID: UInt32 = 0
    ) {
        make = { key, owner in
            BiometrySources(
                reader: OwnerReader(
                    FingerprintReader(socketPath: systemBus, serviceUserID: serviceUserID), for: owner.nameToOthers),
                templates: EnrolledTemplates(
                    socketPath: templatesSocket ?? TemplateSocket.path, key: key, of: owner.id,
                    serverUserID: templatesUserID))
        }
    }

    package init(make: @escaping @Sendable (_ key: [UInt8], _ owner: SystemUser) -> BiometrySources) {
        self.make = make
    }

    /// Sources that another part of this package made.
    package init(_ sources: BiometrySources) { make = { _, _ in sources } }
}

/// The PAM service that knows faces, and the helper that asks it.
package struct FaceSource: Sendable {
    /// The name of the service.
    package let service: String
    /// Absolute path of `ostiary-pam`.
    package let program: String
    /// Path of the system bus's socket, for the service's module.
    package let systemBus: String
    /// The folder of service files.
    package let folder: String
    /// The user to whom the service file must belong.
    package let trustedUserID: UInt32

    /// - Parameters:
    ///   - folder: nil for where services are configured.
    ///   - trustedUserID: root, except in tests.
    package init(
        service: String, program: String, systemBus: String, folder: String? = nil, trustedUserID: UInt32 = 0
    ) {
        self.service = service
        self.program = program
        self.systemBus = systemBus
        self.folder = folder ?? PAMServiceFile.standardFolder
        self.trustedUserID = trustedUserID
    }
}
