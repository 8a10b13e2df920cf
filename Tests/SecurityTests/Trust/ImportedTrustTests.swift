import Foundation
import IndependentTools
@testable import Security
import Testing

/// The trust of an identity that comes out of a PKCS #12 file.
@Suite struct ImportedTrustTests {
    private static let passphrase = "open sesame"
    private let chains: OpenSSLChains

    init() throws { chains = try OpenSSLChains() }

    private func item(of file: Data) throws -> [String: Any] {
        let options: [CFString: Any] = [kSecImportExportPassphrase: Self.passphrase]
        var items: CFArray?
        try #require(SecPKCS12Import(file as CFData, options as CFDictionary, &items) == errSecSuccess)
        return try #require((items as? [[String: Any]])?.first)
    }

    private func importedTrust(of file: Data) throws -> SecTrust {
        try #require(item(of: file)[kSecImportItemTrust as String] as? SecTrust)
    }

    /// A file of `door` and its key, with certificates in that order.
    private func file(with others: [String]) throws -> Data {
        let bundle = try others.map { try chains.openssl.data("\($0).pem") }.reduce(Data(), +)
        try chains.openssl.write("others.pem", bundle)
        return try chains.openssl.run(
            "pkcs12", "-export", "-inkey", "@door.key", "-in", "@door.pem", "-certfile", "@others.pem", "-passout",
            "pass:" + Self.passphrase)
    }

    private func nameAnchor(_ name: String, of trust: SecTrust) throws {
        #expect(SecTrustSetAnchorCertificates(trust, [try chains.certificate(name)] as NSArray) == errSecSuccess)
    }

    @Test func `a trust is evaluated already, with the basic policy and this machine's anchors`() throws {
        let trust = try importedTrust(of: file(with: ["Middle", "Root"]))
        var result = SecTrustResultType.invalid
        #expect(SecTrustGetTrustResult(trust, &result) == errSecSuccess)
        #expect(result == .recoverableTrustFailure, "an authority in the file is none of this machine's")
        #expect(chains.verdict(of: trust) == errSecNotTrusted)
        var policies: CFArray?
        #expect(SecTrustCopyPolicies(trust, &policies) == errSecSuccess)
        #expect(policies == [SecPolicyCreateBasicX509()] as NSArray)
    }

    @Test func `the certificates of a file link its identity to the program's anchor`() throws {
        let trust = try importedTrust(of: file(with: ["Root", "Middle"]))
        try nameAnchor("Root", of: trust)
        #expect(chains.verdict(of: trust) == errSecSuccess)
        let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate]
        #expect(try chain == chains.certificates(["door", "Middle", "Root"]))
        let lone = try importedTrust(of: file(with: ["Root"]))
        try nameAnchor("Root", of: lone)
        #expect(chains.verdict(of: lone) == errSecCreateChainFailed)
    }

    /// The chain of the result goes by names, and takes the first of both.
    @Test(arguments: [["Former", "Middle"], ["Middle", "Former"]])
    func `of two authorities of one name the one that signed is found`(others: [String]) throws {
        let authority = OpenSSLChains.authority + "\nsubjectKeyIdentifier=hash"
        try chains.issue("Former", by: "Root", extensions: authority, commonName: "Middle")
        try chains.issue("Middle", by: "Root", extensions: authority)
        try chains.issue("door", by: "Middle", extensions: "authorityKeyIdentifier=keyid:always")
        let trust = try importedTrust(of: file(with: others))
        try nameAnchor("Root", of: trust)
        #expect(chains.verdict(of: trust) == errSecSuccess)
    }

    @Test func `a file of many certificates gives a trust of no more than a question may have`() throws {
        let key = try chains.openssl.run("pkcs8", "-topk8", "-nocrypt", "-in", "@door.key", "-outform", "DER")
        let (door, middle) = (try chains.certificate("door"), try chains.certificate("Middle"))
        // Copies with another last byte of the signature, which nobody has verified yet.
        let copies = (UInt8(1)...150).map { change -> Data in
            var copy = door.bytes
            copy[copy.endIndex - 1] ^= change
            return copy
        }
        let bags = ([door.bytes] + copies + [middle.bytes]).map { PKCS12Maker.certificateBag($0) }
        let maker = try PKCS12Maker(passphrase: Self.passphrase)
        let trust = try importedTrust(of: maker.file(PKCS12Maker.contents([[PKCS12Maker.keyBag(key)] + bags])))
        #expect(trust.question.certificates.count == 100)
        #expect(trust.question.certificates.prefix(2) == [door, middle], "the chain comes first")
    }
}
