package import CertificateReading
public import Foundation

/// An X.509 certificate (Apple's `SecCertificate`). Equal to another one with the same bytes. Nothing here says whether it is
/// trusted.
public final class SecCertificate: NSObject, Sendable {
    /// The certificate, DER.
    package let bytes: Data

    /// The parts that attributes and calls are made of.
    package let fields: CertificateFields

    /// Reads a certificate; `errSecDecode` for anything but exactly one in DER.
    package init(_ bytes: Data) throws(StatusError) {
        do { fields = try CertificateFields(der: bytes) } catch {
            throw StatusError(errSecDecode, "The bytes are not a certificate.")
        }
        self.bytes = bytes
        super.init()
    }

    public override func isEqual(_ object: Any?) -> Bool {
        (object as? SecCertificate)?.bytes == bytes
    }

    public override var hash: Int { bytes.hashValue }

    public override var description: String { "<SecCertificateRef: \(fields.subjectSummary)>" }
}

/// Reads a certificate in DER; nil for anything else.
@discardableResult
public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData) -> SecCertificate? {
    do { return try SecCertificate(Data(copying: data)) } catch {
        return nil
    }
}

/// The certificate, DER.
@discardableResult
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData { certificate.bytes as CFData }

/// A short name for a person: the common name of the subject; without one its unit, its organization, or its last part.
@discardableResult
public func SecCertificateCopySubjectSummary(_ certificate: SecCertificate) -> CFString? {
    certificate.fields.subjectSummary as CFString
}

/// The common name of the subject, in `commonName`; nil for a subject without one.
@discardableResult
public func SecCertificateCopyCommonName(
    _ certificate: SecCertificate, _ commonName: UnsafeMutablePointer<CFString?>
) -> OSStatus {
    unsafe commonName.pointee = certificate.fields.subject.commonName.map { $0 as CFString }
    return errSecSuccess
}

/// The addresses of electronic mail, in `emailAddresses`: those among the alternative names of the subject, then those
/// in its name. An empty array if there are none; `errSecDecode`, and nil, if the alternative names cannot be read.
@discardableResult
public func SecCertificateCopyEmailAddresses(
    _ certificate: SecCertificate, _ emailAddresses: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    do {
        unsafe emailAddresses.pointee = try certificate.fields.emailAddresses() as CFArray
        return errSecSuccess
    } catch {
        unsafe emailAddresses.pointee = nil
        return errSecDecode
    }
}

/// The issuer as ``kSecAttrIssuer`` has it: the Name in DER. As it stands in the certificate: Apple's folds case and
/// blanks.
@discardableResult
public func SecCertificateCopyNormalizedIssuerSequence(_ certificate: SecCertificate) -> CFData? {
    certificate.fields.issuer as CFData
}

/// The subject as ``kSecAttrSubject`` has it: the Name in DER. As it stands in the certificate: Apple's folds case and
/// blanks.
@discardableResult
public func SecCertificateCopyNormalizedSubjectSequence(_ certificate: SecCertificate) -> CFData? {
    certificate.fields.subjectDER as CFData
}

/// The public key; nil if it is of a kind that has no ``SecKey`` here.
@discardableResult
public func SecCertificateCopyKey(_ certificate: SecCertificate) -> SecKey? {
    do { return SecKey(try certificate.fields.publicKey()) } catch {
        return nil
    }
}

/// The serial number, big-endian, as it is encoded.
@discardableResult
public func SecCertificateCopySerialNumberData(
    _ certificate: SecCertificate, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    certificate.fields.serialNumber as CFData
}

/// The type id of ``SecCertificate``, for comparison with ``CFGetTypeID(_:)``.
@discardableResult
public func SecCertificateGetTypeID() -> CFTypeID { TypeID.certificate.rawValue }
