import Foundation
public import Security

@c(SecCertificateCreateWithData)
public func createCertificate(_ allocator: Handle?, _ data: Handle?) -> Handle? {
    Handle(owning: data.object(NSData.self).flatMap { SecCertificateCreateWithData(nil, $0) })
}

@c(SecCertificateCopyData)
public func copyCertificateData(_ certificate: Handle?) -> Handle? {
    Handle(owning: certificate.object(SecCertificate.self).map(SecCertificateCopyData))
}

@c(SecCertificateCopySubjectSummary)
public func copySubjectSummary(_ certificate: Handle?) -> Handle? {
    Handle(owning: certificate.object(SecCertificate.self).flatMap(SecCertificateCopySubjectSummary))
}

@c(SecCertificateCopyCommonName)
public func copyCommonName(_ certificate: Handle?, _ commonName: HandlePlace) -> OSStatus {
    copying(to: commonName) { name in
        certificate.object(SecCertificate.self).map { SecCertificateCopyCommonName($0, name) } ?? errSecParam
    }
}

@c(SecCertificateCopyEmailAddresses)
public func copyEmailAddresses(_ certificate: Handle?, _ emailAddresses: HandlePlace) -> OSStatus {
    copying(to: emailAddresses) { addresses in
        certificate.object(SecCertificate.self).map { SecCertificateCopyEmailAddresses($0, addresses) } ?? errSecParam
    }
}

@c(SecCertificateCopyNormalizedIssuerSequence)
public func copyIssuer(_ certificate: Handle?) -> Handle? {
    Handle(owning: certificate.object(SecCertificate.self).flatMap(SecCertificateCopyNormalizedIssuerSequence))
}

@c(SecCertificateCopyNormalizedSubjectSequence)
public func copySubject(_ certificate: Handle?) -> Handle? {
    Handle(owning: certificate.object(SecCertificate.self).flatMap(SecCertificateCopyNormalizedSubjectSequence))
}

@c(SecCertificateCopyKey)
public func copyCertificateKey(_ certificate: Handle?) -> Handle? {
    Handle(owning: certificate.object(SecCertificate.self).flatMap(SecCertificateCopyKey))
}

@c(SecCertificateCopySerialNumberData)
public func copySerialNumber(_ certificate: Handle?, _ error: HandlePlace) -> Handle? {
    reporting(to: error) { error throws(UnusableArgument) in
        SecCertificateCopySerialNumberData(try certificate.object(SecCertificate.self).required(), error)
    }
}

@c(SecIdentityCreate)
public func createIdentity(_ allocator: Handle?, _ certificate: Handle?, _ privateKey: Handle?) -> Handle? {
    guard let certificate = certificate.object(SecCertificate.self), let key = privateKey.object(SecKey.self) else {
        return nil
    }
    return Handle(owning: SecIdentityCreate(nil, certificate, key))
}

@c(SecIdentityCopyCertificate)
public func copyIdentityCertificate(_ identity: Handle?, _ certificate: HandlePlace) -> OSStatus {
    copying(to: certificate) { certificate in
        identity.object(SecIdentity.self).map { SecIdentityCopyCertificate($0, certificate) } ?? errSecParam
    }
}

@c(SecIdentityCopyPrivateKey)
public func copyIdentityPrivateKey(_ identity: Handle?, _ privateKey: HandlePlace) -> OSStatus {
    copying(to: privateKey) { key in
        identity.object(SecIdentity.self).map { SecIdentityCopyPrivateKey($0, key) } ?? errSecParam
    }
}
