/// Where a TPM is, and who shares it.
public struct TPMLocation: Equatable, Sendable {
    /// The kernel's TPM with its resource manager. It keeps the objects of each program apart.
    public static let device = TPMLocation("device:/dev/tpmrm0")

    /// What the loader of tpm2-tss is told: `device:/dev/tpmrm0`, `swtpm:host=127.0.0.1,port=2321`.
    let configuration: String
    /// Whether the key in use and the sessions stay in the chip between two requests, so that a signature is one
    /// command. Without a resource manager they would take the few slots from all other programs.
    let keepsLoaded: Bool

    /// - Parameter configuration: comes from the daemon's configuration, never from its environment: it names a
    ///   library that is loaded.
    public init(_ configuration: String) {
        self.init(configuration, keepsLoaded: configuration.hasPrefix("device:/dev/tpmrm"))
    }

    init(_ configuration: String, keepsLoaded: Bool) {
        self.configuration = configuration
        self.keepsLoaded = keepsLoaded
    }
}
