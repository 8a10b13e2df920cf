import CertificateReading
public import Foundation

/// A certificate with its private key (Apple's `SecIdentity`).
public final class SecIdentity: NSObject, Sendable {
    package let certificate: SecCertificate
    package let privateKey: SecKey

    package init(certificate: SecCertificate, privateKey: SecKey) {
        self.certificate = certificate
        self.privateKey = privateKey
        super.init()
    }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SecIdentity else { return false }
        return certificate == other.certificate && privateKey == other.privateKey
    }

    public override var hash: Int { certificate.hash }

    public override var description: String { "<SecIdentityRef: \(certificate.fields.subjectSummary)>" }
}

/// Joins a certificate and the private key of its public key; nil if they do not belong together.
@discardableResult
public func SecIdentityCreate(
    _ allocator: CFAllocator?, _ certificate: SecCertificate, _ privateKey: SecKey
) -> SecIdentity? {
    guard
        privateKey.backing.keyClass == .privateKey, let key = SecCertificateCopyKey(certificate),
        SecKeyCopyPublicKey(privateKey) == key
    else { return nil }
    return SecIdentity(certificate: certificate, privateKey: privateKey)
}

/// The certificate, in `certificateRef`.
@discardableResult
public func SecIdentityCopyCertificate(
    _ identityRef: SecIdentity, _ certificateRef: UnsafeMutablePointer<SecCertificate?>
) -> OSStatus {
    unsafe certificateRef.pointee = identityRef.certificate
    return errSecSuccess
}

/// The private key, in `privateKeyRef`.
@discardableResult
public func SecIdentityCopyPrivateKey(
    _ identityRef: SecIdentity, _ privateKeyRef: UnsafeMutablePointer<SecKey?>
) -> OSStatus {
    unsafe privateKeyRef.pointee = identityRef.privateKey
    return errSecSuccess
}

/// The type id of ``SecIdentity``, for comparison with ``CFGetTypeID(_:)``.
@discardableResult
public func SecIdentityGetTypeID() -> CFTypeID { TypeID.identity.rawValue }
