package import Authenticators
import EnrolledTemplates
import FingerprintReader
package import HelperProcesses
import PAMProtocol

/// Where the fingerprint service and the helper that digests templates are reached.
package struct FingerSources: Sendable {
    /// Makes the sources for one owner. The key digests the owner's templates for this store alone.
    package let make: @Sendable (_ key: [UInt8], _ owner: SystemUser) -> BiometrySources

    /// - Parameters:
    ///   - systemBus: path of the system bus's socket.
    ///   - serviceUserID: the user as whom the fingerprint service runs: root, except in tests.
    ///   - templates: the socket of `ostiary-templates`.
    ///   - follows: whether changes of a user's fingers are to be followed now, beside a look at each question. It must have a time
    ///     limit of its own.
    package init(
        systemBus: String, serviceUserID: UInt32 = 0, templates: HelperSocketAddress,
        follows: @escaping @Sendable (SystemUser) -> Bool = { _ in true }
    ) {
        make = { key, owner in
            BiometrySources(
                reader: OwnerReader(
                    FingerprintReader(socketPath: systemBus, serviceUserID: serviceUserID), for: owner.nameToOthers),
                templates: EnrolledTemplates(
                    socketPath: templates.path, key: key, of: owner.id, serverUserID: templates.managerUserID,
                    isFollowed: { follows(owner) }),
                templatesUnit: templates.unit)
        }
    }

    package init(make: @escaping @Sendable (_ key: [UInt8], _ owner: SystemUser) -> BiometrySources) {
        self.make = make
    }

    /// Sources that another part of this package made.
    package init(_ sources: BiometrySources) { make = { _, _ in sources } }
}

/// The PAM service that knows faces.
package struct FaceSource: Sendable {
    /// The name of the service.
    package let service: String
    /// Path of the system bus's socket, for the service's module.
    package let systemBus: String
    /// The folder of service files.
    package let folder: String
    /// The user to whom the service file must belong.
    package let trustedUserID: UInt32

    /// - Parameters:
    ///   - folder: nil for where services are configured.
    ///   - trustedUserID: root, except in tests.
    package init(service: String, systemBus: String, folder: String? = nil, trustedUserID: UInt32 = 0) {
        self.service = service
        self.systemBus = systemBus
        self.folder = folder ?? PAMServiceFile.standardFolder
        self.trustedUserID = trustedUserID
    }
}
