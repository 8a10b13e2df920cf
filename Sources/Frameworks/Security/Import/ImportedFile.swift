import CertificateReading
import Foundation
import PKCS12
import SecretMemory

/// The contents of a PKCS #12 file, as objects of this module.
struct ImportedFile {
    private let identity: SecIdentity?
    private let certificates: [SecCertificate]
    private let chain: [SecCertificate]
    /// The file's name for the identity's certificate.
    private let label: String?

    init(_ bytes: Data, _ options: borrowing ImportOptions) throws(StatusError) {
        let file = try Self.open(bytes, options)
        var certificates: [SecCertificate] = []
        for certificate in file.certificates { certificates.append(try SecCertificate(certificate.der)) }
        var identity: SecIdentity?
        if let privateKey = try Self.privateKey(of: file) {
            identity = certificates.lazy.compactMap { SecIdentityCreate(nil, $0, privateKey) }.first
        }
        self.certificates = certificates
        self.identity = identity
        chain = identity.map { Self.chain($0.certificate, certificates) } ?? []
        label = file.certificates.first { $0.der == identity?.certificate.bytes }?.friendlyName
    }

    private static func open(
        _ bytes: Data, _ options: borrowing ImportOptions
    ) throws(StatusError) -> PKCS12File {
        do throws(PKCS12Error) { return try PKCS12File(bytes, passphrase: options.passphrase) } catch {
            throw refusal(of: error)
        }
    }

    private static func privateKey(of file: borrowing PKCS12File) throws(StatusError) -> SecKey? {
        switch file.privateKey {
        case .none: return nil
        case .some(let key):
            var bytes = Data(exposing: key.bytes)
            defer { bytes.wipe() }
            do throws(StatusError) {
                return SecKey(try SoftwareKeys.read(bytes, key.kind == .rsa ? .rsa : .ellipticCurve, .privateKey))
            } catch { throw StatusError(errSecUnimplemented, "Keys of this curve or size do not exist here.") }
        }
    }

    private static func refusal(of error: PKCS12Error) -> StatusError {
        switch error {
        case .wrongPassphrase: StatusError(errSecAuthFailed, "The passphrase is wrong, or the file was changed.")
        case .damaged: StatusError(errSecDecode, "The bytes are no PKCS #12 file.")
        case .unsupported:
            StatusError(errSecUnimplemented, "The file has a protection, a key or a name that cannot be read here.")
        case .tooLarge: StatusError(errSecDataTooLarge, "The file has more than \(PKCS12File.maximumByteCount) bytes.")
        }
    }

    // MARK: results

    /// One dictionary for the identity, and one for the certificates that are not in its chain.
    var items: [[String: Any]] {
        var items: [[String: Any]] = []
        if let identity {
            let fields = identity.certificate.fields
            items.append([
                kSecImportItemIdentity as String: identity, kSecImportItemCertChain as String: chain,
                kSecImportItemTrust as String: evaluatedTrust,
                kSecImportItemLabel as String: label ?? fields.subjectSummary,
                kSecImportItemKeyID as String: fields.publicKeyHash,
            ])
        }
        let others = others
        if !others.isEmpty { items.append([kSecImportItemCertChain as String: others]) }
        return items
    }

    /// The certificates that are not in the identity's chain.
    private var others: [SecCertificate] {
        let linked = Set(chain)
        return certificates.filter { !linked.contains($0) }
    }

    /// Whether the identity's certificate is trusted, by the rules of X.509 alone. It is evaluated already, as Apple's is. Each
    /// certificate of the file may stand above it, and none is an anchor.
    private var evaluatedTrust: SecTrust {
        let certificates = (chain + others).prefix(SecTrust.Question.maximumCertificateCount)
        let policies = [SecPolicyCreateBasicX509()]
        let trust = SecTrust(SecTrust.Question(certificates: Array(certificates), policies: policies))
        _ = trust.answer()
        return trust
    }

    /// The identity's certificate and those above it, by the names of their issuers. The signatures are not verified: a
    /// chain says nothing about trust.
    private static func chain(_ first: SecCertificate, _ certificates: [SecCertificate]) -> [SecCertificate] {
        let issuers = Dictionary(grouping: certificates, by: \.fields.subjectDER)
        var (chain, linked) = ([first], Set([first]))
        while let last = chain.last?.fields, last.issuer != last.subjectDER,
            let issuer = issuers[last.issuer]?.first(where: { !linked.contains($0) })
        {
            chain.append(issuer)
            linked.insert(issuer)
        }
        return chain
    }

    // MARK: storing

    /// Adds both parts of the identity or neither, then the certificates above it. Parts that are stored already stay.
    func store(_ calls: ItemCalls, _ options: borrowing ImportOptions) throws {
        guard let identity else { return }
        let query = options.attributes.merging([
            "class": KeychainClass.identity.rawValue, ControlKey.ValueKey.reference.rawValue: identity,
        ]) { $1 }
        // Both parts are stored already. An `OstiaryError` of this kind would mean another certificate of the same
        // number.
        do { _ = try calls.add(query as CFDictionary) } catch let error as StatusError
            where error.status == errSecDuplicateItem
        {}
        // The label belongs to the identity alone.
        let attributes = options.attributes.filter { $0.key != AttributeName.label.rawValue } as CFDictionary
        for certificate in chain.dropFirst() {
            _ = try IdentityCalls(items: calls).addCertificate(
                IdentityParts.new(certificate, of: attributes), certificate)
        }
    }
}
