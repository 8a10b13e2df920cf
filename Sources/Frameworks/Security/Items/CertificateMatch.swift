import CertificateReading
import Foundation
import OstiaryClient
import OstiaryMessages

/// What the match keys of a search ask of certificates, beyond their attributes. It is compared with the certificates' bytes,
/// because a program may give attributes any value.
struct CertificateMatch {
    /// Names of which one must be that of an issuer in the certificate's chain; nil for any.
    var issuers: Set<Data>?
    var emailAddress: String?
    /// A text that one value of the subject's name must have, and where in it.
    var subject: [(text: String, place: String.CompareOptions, isWhole: Bool)] = []
    /// How texts of the subject are compared.
    var options: String.CompareOptions = []
    var date: Date?

    var isEmpty: Bool { issuers == nil && emailAddress == nil && subject.isEmpty && date == nil }

    /// Whether a certificate is what is looked for.
    ///
    /// - Parameter chain: knows the issuers of issuers.
    func admits(_ bytes: Data?, _ chain: IssuerChain) throws -> Bool {
        // Bytes that are no certificate have no name, no dates and no issuer.
        guard let certificate = bytes.flatMap({ try? SecCertificate($0) }) else { return false }
        return try admitsSubject(certificate) && admitsAddresses(certificate) && admitsDates(certificate)
            && admitsIssuer(certificate, chain)
    }

    private func admitsSubject(_ certificate: SecCertificate) -> Bool {
        let values = certificate.fields.subject.values
        return subject.allSatisfy { text, place, isWhole in
            values.contains { value in
                guard let range = value.range(of: text, options: options.union(place)) else { return false }
                return !isWhole || range == value.startIndex..<value.endIndex
            }
        }
    }

    /// As Apple's, upper and lower case are alike, and a certificate without addresses is left out.
    private func admitsAddresses(_ certificate: SecCertificate) -> Bool {
        guard let emailAddress else { return true }
        guard let addresses = try? certificate.fields.emailAddresses() else { return false }
        return addresses.contains { $0.compare(emailAddress, options: .caseInsensitive) == .orderedSame }
    }

    private func admitsDates(_ certificate: SecCertificate) -> Bool {
        guard let date else { return true }
        guard let validity = try? certificate.fields.validity() else { return false }
        return validity.contains(date)
    }

    private func admitsIssuer(_ certificate: SecCertificate, _ chain: IssuerChain) throws -> Bool {
        guard let issuers else { return true }
        return try chain.contains(anyOf: issuers, above: certificate)
    }
}

/// The issuers above certificates, as far as the program sees their certificates in the keychain.
final class IssuerChain {
    /// How far up is looked, as on Apple's systems.
    private static let depth = 10
    private let service: any ItemService
    /// What was looked up, by the name of the certificate's subject.
    private var known: [Data: Set<Data>] = [:]

    init(service: any ItemService) { self.service = service }

    func contains(anyOf names: Set<Data>, above certificate: SecCertificate) throws -> Bool {
        var (seen, level): (Set<Data>, Set<Data>) = ([], [certificate.fields.issuer])
        for _ in 0...Self.depth {
            guard names.isDisjoint(with: level) else { return true }
            seen.formUnion(level)
            level = try level.reduce(into: Set<Data>()) { try $0.formUnion(issuers(of: $1)) }.subtracting(seen)
            guard !level.isEmpty else { return false }
        }
        return false
    }

    /// Who issued the certificates of this subject. Those that would ask somebody are left out.
    private func issuers(of subject: Data) throws -> Set<Data> {
        if let issuers = known[subject] { return issuers }
        let selection = ItemSelection(
            itemClass: KeychainClass.certificate.rawValue, attributes: [AttributeName.subject.rawValue: .data(subject)],
            synchronizable: .any)
        var issuers: Set<Data> = []
        do {
            try service.findItems(
                selection, limit: nil, returningData: true, returningAttributes: false,
                use: ItemUse(skipsProtected: true)
            ) { _, data in
                guard let certificate = ItemCalls.exposed(data).flatMap({ try? SecCertificate($0) }),
                    certificate.fields.subjectDER == subject
                else { return }
                issuers.insert(certificate.fields.issuer)
            }
        } catch let error as OstiaryError where error.isFailure(.notFound) {}
        known[subject] = issuers
        return issuers
    }
}
