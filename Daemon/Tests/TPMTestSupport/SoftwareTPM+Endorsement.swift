import Foundation

extension SoftwareTPM {
    /// The endorsement keys that makers certify (TCG EK Credential Profile, templates L-1, L-2 and H-3).
    public enum CertifiedKey: String, CaseIterable, Sendable {
        case rsa2048, p256, p384

        fileprivate var certificateHandle: String {
            switch self {
            case .rsa2048: "0x01c00002"
            case .p256: "0x01c0000a"
            case .p384: "0x01c00016"
            }
        }
    }

    /// Leaves the chip with the certificate of one key. `swtpm_setup` writes those for RSA and P-384.
    public func keepCertificate(of key: CertifiedKey, by maker: SoftwareTPMMaker) throws {
        for other in [CertifiedKey.rsa2048, .p384] where other != key {
            try tool("tpm2_nvundefine", "-C", "p", other.certificateHandle)
        }
        guard key == .p256 else { return }
        try tool("tpm2_createek", "-G", "ecc", "-c", "endorsement.ctx", "-u", "endorsement.pub")
        try tool("tpm2_flushcontext", "-t")
        let certificate = try maker.certify(try tool("tpm2_print", "-t", "TPM2B_PUBLIC", "endorsement.pub"))
        try tool(
            "tpm2_nvdefine", "-C", "p", key.certificateHandle, "-s", "\(certificate.count)", "-a",
            "ppwrite|ppread|ownerread|authread|no_da|platformcreate")
        try write(certificate, named: "endorsement.der")
        try tool("tpm2_nvwrite", "-C", "p", key.certificateHandle, "-i", "endorsement.der")
    }
}
