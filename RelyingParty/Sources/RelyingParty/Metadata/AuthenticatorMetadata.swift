import Crypto
public import Foundation
import SwiftASN1
import X509

/// The list of authenticators that the FIDO Alliance publishes ("Metadata Service", version 3): which certificates a model's
/// attestations lead to, and which models were broken.
///
/// It is read from a file; fetch it from `https://mds3.fidoalliance.org/` with a program of your own, each month at least. The
/// certificates of the list's signer are not checked for revocation.
public struct AuthenticatorMetadata: Sendable {
    /// Each list has a greater number than the one before. Keep the greatest and give it to the next initializer.
    public let number: Int
    /// Until when the list is the newest one.
    public let dueDate: Date
    /// The conditions of its use.
    public let legalHeader: String?
    private let models: [Data: AuthenticatorModel]
    private let modelsByKey: [Data: AuthenticatorModel]

    /// Reads a list and verifies who signed it.
    ///
    /// - Parameters:
    ///   - jwt: the file's content, some ten megabytes.
    ///   - roots: certificates in DER that the signer's certificate may lead to: today that of "GlobalSign Root CA - R3".
    ///   - signer: the name in the signer's certificate.
    ///   - greatestNumber: the number of the newest list that was read before, so that nobody brings an old one back.
    ///   - tolerance: how many seconds the list may be overdue. A site that requires attestations registers nobody with a list
    ///     that is overdue for longer.
    ///   - date: the time at which certificates and list must be valid.
    /// - Throws: ``MetadataError``.
    public init(
        jwt: Data, roots: [Data], signer: String = "mds.fidoalliance.org", greatestNumber: Int? = nil,
        tolerance: TimeInterval = 0, at date: Date = Date()
    ) async throws(MetadataError) {
        let signature = try MetadataSignature(jwt)
        try await signature.verify(signer: signer, roots: roots, at: date)
        guard let content = try? JSONDecoder().decode(MetadataContent.self, from: signature.payload),
            let dueDate = content.dueDate
        else { throw .contentUnreadable }
        if let greatestNumber, content.no < greatestNumber { throw .older(content.no) }
        guard date <= dueDate.addingTimeInterval(tolerance) else { throw .outdated(dueDate) }
        number = content.no
        self.dueDate = dueDate
        legalHeader = content.legalHeader
        (models, modelsByKey) = try Self.models(content.entries)
    }

    private static func models(
        _ entries: [MetadataContent.Entry]
    ) throws(MetadataError) -> ([Data: AuthenticatorModel], [Data: AuthenticatorModel]) {
        var (models, modelsByKey): ([Data: AuthenticatorModel], [Data: AuthenticatorModel]) = ([:], [:])
        for entry in entries {
            let model = AuthenticatorModel(
                aaguid: try entry.aaguid.map { text throws(MetadataError) in try bytes(text, count: 16) },
                name: entry.metadataStatement?.description, reports: try reports(entry.statusReports),
                // A root that cannot be read anchors nothing.
                roots: (entry.metadataStatement?.attestationRootCertificates ?? []).compactMap {
                    Data(base64Encoded: $0, options: .ignoreUnknownCharacters)
                        .flatMap { try? Certificate(derEncoded: [UInt8]($0)) }
                })
            if let aaguid = model.aaguid { models[aaguid] = model }
            for key in entry.attestationCertificateKeyIdentifiers ?? [] {
                modelsByKey[try bytes(key, count: 20)] = model
            }
        }
        return (models, modelsByKey)
    }

    private static func reports(
        _ list: [MetadataContent.Entry.Report]
    ) throws(MetadataError) -> [AuthenticatorStatusReport] {
        var reports: [AuthenticatorStatusReport] = []
        for report in list {
            let certificate = report.certificate.map {
                [UInt8](Data(base64Encoded: $0, options: .ignoreUnknownCharacters) ?? Data())
            }
            reports.append(
                AuthenticatorStatusReport(
                    status: AuthenticatorStatus(rawValue: report.status), effectiveDate: report.effectiveDate,
                    certificate: certificate))
        }
        return reports
    }

    /// The bytes of hexadecimal digits; an AAGUID has hyphens between them.
    private static func bytes(_ text: String, count: Int) throws(MetadataError) -> Data {
        let digits = text.utf8.filter { $0 != UInt8(ascii: "-") }.compactMap {
            Character(Unicode.Scalar($0)).hexDigitValue
        }
        guard digits.count == 2 * count, text.utf8.count - digits.count <= 4 else { throw .contentUnreadable }
        return Data((0..<count).map { UInt8(digits[2 * $0] << 4 | digits[2 * $0 + 1]) })
    }

    /// The model with these 16 bytes, if the list has it.
    public func model(_ aaguid: Data) -> AuthenticatorModel? { models[aaguid] }

    /// The model with this AAGUID or, for U2F, which has none, with this attestation certificate.
    func model(aaguid: ArraySlice<UInt8>?, certificate: Certificate?) -> AuthenticatorModel? {
        if let aaguid { return models[Data(aaguid)] }
        guard let certificate else { return nil }
        // The first way of RFC 5280, section 4.2.1.2.
        let identifier = Insecure.SHA1.hash(data: certificate.publicKey.subjectPublicKeyInfoBytes)
        return modelsByKey[Data(identifier)]
    }
}
