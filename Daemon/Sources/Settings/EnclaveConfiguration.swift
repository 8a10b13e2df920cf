/// Where the daemon makes the keys of a new store, and how it reaches a TPM. A store that exists keeps the enclave that it
/// was made in.
public struct EnclaveConfiguration: Equatable, Sendable {
    /// The kinds of enclaves, by their names in the file.
    public enum Kind: String, Equatable, Sendable, CaseIterable {
        case software
        case tpm
    }

    /// The enclave of a new store.
    public var kind = Kind.software
    /// The TPM, as tpm2-tss names it: `device:/dev/tpmrm0`, `swtpm:host=127.0.0.1,port=2321`.
    public var tpm = Self.kernelTPM

    /// The kernel's TPM with its resource manager.
    public static let kernelTPM = "device:/dev/tpmrm0"

    /// The ways to a TPM that can be configured. tpm2-tss would take any text for the name of a library that it loads.
    static let transports = ["device", "swtpm", "mssim", "tabrmd"]

    public init() {}

    /// Whether `text` names a TPM.
    static func isTPM(_ text: String) -> Bool {
        let parts = text.split(separator: ":", maxSplits: 1)
        guard let transport = parts.first, transports.contains(String(transport)) else { return false }
        return transport != "device" || (parts.count == 2 && parts[1].hasPrefix("/"))
    }
}
