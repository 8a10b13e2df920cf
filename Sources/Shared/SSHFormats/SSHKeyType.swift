/// The kinds of public keys that these formats know.
public enum SSHKeyType: String, Hashable, Sendable, CaseIterable {
    case ed25519 = "ssh-ed25519"
    case p256 = "ecdsa-sha2-nistp256"
    case p384 = "ecdsa-sha2-nistp384"
    case p521 = "ecdsa-sha2-nistp521"
    case rsa = "ssh-rsa"
    /// Of security keys (`PROTOCOL.u2f`).
    case securityKeyEd25519 = "sk-ssh-ed25519@openssh.com"
    case securityKeyP256 = "sk-ecdsa-sha2-nistp256@openssh.com"

    /// The name in a key's blob (RFC 4253, section 6.6).
    public var name: String { rawValue }

    /// The name in a certificate's blob (`PROTOCOL.certkeys`).
    public var certificateName: String {
        switch self {
        case .ed25519, .p256, .p384, .p521, .rsa: "\(rawValue)-cert-v01@openssh.com"
        case .securityKeyEd25519: "sk-ssh-ed25519-cert-v01@openssh.com"
        case .securityKeyP256: "sk-ecdsa-sha2-nistp256-cert-v01@openssh.com"
        }
    }

    /// The name of the curve in a blob (RFC 5656, section 10.1); nil for keys without one.
    var curveName: String? {
        switch self {
        case .p256, .securityKeyP256: "nistp256"
        case .p384: "nistp384"
        case .p521: "nistp521"
        case .ed25519, .rsa, .securityKeyEd25519: nil
        }
    }

    /// Length of a coordinate of the curve, and of each number of a signature; nil for keys without a curve.
    var fieldByteCount: Int? {
        switch self {
        case .p256, .securityKeyP256: 32
        case .p384: 48
        case .p521: 66
        case .ed25519, .rsa, .securityKeyEd25519: nil
        }
    }

    /// The names by which a login says how a key of this kind signs. RSA signs with SHA-2 only (RFC 8332): its name `ssh-rsa` stands for
    /// SHA-1.
    func signatureNames(certified: Bool) -> [String] {
        guard self == .rsa else { return [certified ? certificateName : name] }
        let names = ["rsa-sha2-256", "rsa-sha2-512"]
        return certified ? names.map { "\($0)-cert-v01@openssh.com" } : names
    }
}
