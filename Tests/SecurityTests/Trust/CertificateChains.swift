import Foundation
import IndependentTools
@testable import Security
import Testing

/// Certificates that openssl makes, in a folder of the test's own: `Root`, which signed itself, `Middle` below it, and `door` below
/// that, a server. Tests add others.
final class OpenSSLChains {
    let folder: URL
    let openssl: OpenSSLFolder
    private var serial = 0

    static let authority = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign"
    static let server =
        "subjectAltName=DNS:door.example.org,DNS:*.wild.example.org,IP:192.0.2.7\nextendedKeyUsage=serverAuth"

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("chains-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        openssl = OpenSSLFolder(folder)
        try issue("Root", extensions: Self.authority)
        try issue("Middle", by: "Root", extensions: Self.authority)
        try issue("door", by: "Middle", extensions: Self.server)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// A certificate for a new key; by itself without an issuer.
    @discardableResult
    func issue(
        _ name: String, by issuer: String? = nil, extensions: String, days: Int = 2, digest: String = "-sha256",
        key: [String] = ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"], commonName: String? = nil
    ) throws -> SecCertificate {
        serial += 1
        try openssl.run(["genpkey", "-algorithm"] + key + ["-out", "@\(name).key"])
        try openssl.run("pkey", "-in", "@\(name).key", "-pubout", "-out", "@\(name).pub")
        try openssl.write("extensions", Data(extensions.utf8))
        let signing = issuer.map { ["-CA", "@\($0).pem", "-CAkey", "@\($0).key"] } ?? ["-key", "@\(name).key"]
        try openssl.run(
            [
                "x509", "-new", "-force_pubkey", "@\(name).pub", "-subj", "/O=Gate/CN=\(commonName ?? name)",
                "-set_serial", "\(serial)", digest, "-days", "\(days)", "-extfile", "@extensions", "-out",
                "@\(name).pem",
            ] + signing)
        return try certificate(name)
    }

    func certificate(_ name: String) throws -> SecCertificate {
        try SecCertificate(openssl.run("x509", "-in", "@\(name).pem", "-outform", "DER"))
    }

    func certificates(_ names: [String]) throws -> [SecCertificate] { try names.map(certificate) }

    /// A question about the first of the certificates.
    ///
    /// - Parameter anchors: nil for those of the system.
    func trust(
        _ names: [String], anchors: [String]? = ["Root"], _ policy: SecPolicy = SecPolicyCreateBasicX509()
    ) throws -> SecTrust {
        var trust: SecTrust?
        try #require(
            SecTrustCreateWithCertificates(certificates(names) as NSArray, policy, &trust) == errSecSuccess)
        let made = try #require(trust)
        guard let anchors else { return made }
        #expect(SecTrustSetAnchorCertificates(made, NSArray(array: try certificates(anchors))) == errSecSuccess)
        return made
    }

    /// Why the first of the certificates is not trusted; 0 if it is.
    func verdict(
        _ names: [String], anchors: [String]? = ["Root"], _ policy: SecPolicy = SecPolicyCreateBasicX509()
    ) throws -> OSStatus {
        verdict(of: try trust(names, anchors: anchors, policy))
    }

    func verdict(of trust: SecTrust) -> OSStatus {
        var error: CFError?
        let isTrusted = SecTrustEvaluateWithError(trust, &error)
        #expect(isTrusted == (error == nil))
        guard let error else { return errSecSuccess }
        #expect(CFErrorGetDomain(error)! as String == NSOSStatusErrorDomain)
        return OSStatus(CFErrorGetCode(error))
    }
}

/// The policy of a server with that name.
func server(_ host: String?) -> SecPolicy { SecPolicyCreateSSL(true, host.map { $0 as CFString }) }
