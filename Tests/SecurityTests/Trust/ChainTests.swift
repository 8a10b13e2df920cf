import Foundation
import IndependentTools
@testable import Security
import Testing

/// Which chains are trusted, and which are not, with openssl as the maker of both.
@Suite(.serialized) struct ChainTests {
    private let chains: OpenSSLChains

    init() throws { chains = try OpenSSLChains() }

    @Test func `a chain to an anchor is trusted, in whatever order it is given`() throws {
        let trust = try chains.trust(["door", "Middle"], server("door.example.org"))
        #expect(chains.verdict(of: trust) == errSecSuccess)
        let chain = try #require(SecTrustCopyCertificateChain(trust) as? [SecCertificate])
        #expect(try chain == chains.certificates(["door", "Middle", "Root"]))
        #expect(SecTrustGetCertificateCount(trust) == 3)
        #expect(try SecTrustGetCertificateAtIndex(trust, 2) == chains.certificate("Root"))
        #expect(SecTrustGetCertificateAtIndex(trust, 3) == nil && SecTrustGetCertificateAtIndex(trust, -1) == nil)
        #expect(SecTrustCopyKey(trust) == SecCertificateCopyKey(chain[0]))
        #expect(try chains.verdict(["door", "Root", "Middle", "Middle"]) == errSecSuccess)
    }

    // MARK: where it ends

    @Test func `a chain with a hole in it is not trusted`() throws {
        #expect(try chains.verdict(["door"]) == errSecCreateChainFailed)
        #expect(try chains.verdict(["door", "Root"]) == errSecCreateChainFailed)
        #expect(try chains.verdict(["Middle", "door"]) == errSecSuccess)
    }

    @Test func `a chain to another anchor is not trusted`() throws {
        try chains.issue("Other", extensions: OpenSSLChains.authority)
        #expect(try chains.verdict(["door", "Middle"], anchors: ["Other"]) == errSecCreateChainFailed)
        #expect(try chains.verdict(["door", "Middle", "Root"], anchors: ["Other"]) == errSecNotTrusted)
        #expect(try chains.verdict(["door", "Middle", "Root"], anchors: []) == errSecNotTrusted)
    }

    @Test func `an anchor with the right name and another key is not the anchor`() throws {
        try chains.issue("Impostor", extensions: OpenSSLChains.authority, commonName: "Root")
        let verdict = try chains.verdict(["door", "Middle"], anchors: ["Impostor"])
        #expect([errSecInvalidSignature, errSecCreateChainFailed].contains(verdict))
    }

    @Test func `a certificate that signed itself is trusted by nobody but who names it`() throws {
        try chains.issue("alone", extensions: OpenSSLChains.server)
        #expect(try chains.verdict(["alone"]) == errSecNotTrusted)
        #expect(try chains.verdict(["alone"], anchors: ["alone"]) == errSecSuccess)
        #expect(try chains.verdict(["alone"], anchors: ["alone"], server("door.example.org")) == errSecSuccess)
    }

    @Test func `an anchor ends the chain wherever it stands`() throws {
        let trust = try chains.trust(["door", "Middle", "Root"], anchors: ["Middle"])
        #expect(chains.verdict(of: trust) == errSecSuccess)
        #expect(SecTrustGetCertificateCount(trust) == 2)
        #expect(try chains.verdict(["door"], anchors: ["door"], server("door.example.org")) == errSecSuccess)
    }

    /// BoringSSL looks at the purpose of certificates below an anchor alone.
    @Test func `a certificate that is an anchor itself is asked for its host and its purpose too`() throws {
        #expect(try chains.verdict(["door"], anchors: ["door"], server("window.example.org")) == errSecHostNameMismatch)
        #expect(
            try chains.verdict(["door"], anchors: ["door"], SecPolicyCreateSSL(false, nil))
                == errSecInvalidExtendedKeyUsage)
    }

    // MARK: signatures and keys

    @Test func `a changed certificate is not trusted`() throws {
        var bytes = try chains.certificate("door").bytes
        bytes[bytes.count - 1] ^= 1
        let changed = try SecCertificate(bytes)
        var trust: SecTrust?
        let certificates = try [changed, chains.certificate("Middle")] as NSArray
        #expect(SecTrustCreateWithCertificates(certificates, nil, &trust) == errSecSuccess)
        let made = try #require(trust)
        #expect(SecTrustSetAnchorCertificates(made, [try chains.certificate("Root")] as NSArray) == errSecSuccess)
        #expect(chains.verdict(of: made) == errSecInvalidSignature)
    }

    @Test func `a server's chain has no SHA-1 and no short RSA key in it`() throws {
        try chains.issue("old", by: "Root", extensions: OpenSSLChains.server, digest: "-sha1")
        #expect(try chains.verdict(["old"], server(nil)) == errSecInvalidDigestAlgorithm)
        #expect(try chains.verdict(["old"]) == errSecSuccess)
        let short = ["RSA", "-pkeyopt", "rsa_keygen_bits:1024"]
        try chains.issue("short", by: "Root", extensions: OpenSSLChains.server, key: short)
        #expect(try chains.verdict(["short"], server(nil)) == errSecUnsupportedKeySize)
        #expect(try chains.verdict(["short"]) == errSecSuccess)
        try chains.issue("Short", by: "Root", extensions: OpenSSLChains.authority, key: short)
        try chains.issue("below", by: "Short", extensions: OpenSSLChains.server)
        #expect(try chains.verdict(["below", "Short"], server(nil)) == errSecUnsupportedKeySize)
    }

    // MARK: dates

    @Test func `a chain counts from the first to the last moment at which all of it is valid`() throws {
        let trust = try chains.trust(["door", "Middle"])
        for (seconds, verdict) in [(-86_400.0, errSecCertificateNotValidYet), (3 * 86_400, errSecCertificateExpired)] {
            #expect(SecTrustSetVerifyDate(trust, NSDate(timeIntervalSinceNow: seconds)) == errSecSuccess)
            #expect(chains.verdict(of: trust) == verdict)
        }
        #expect(SecTrustSetVerifyDate(trust, NSDate(timeIntervalSinceNow: 86_400)) == errSecSuccess)
        #expect(chains.verdict(of: trust) == errSecSuccess)
        for seconds in [-Double.greatestFiniteMagnitude, .greatestFiniteMagnitude] {
            #expect(SecTrustSetVerifyDate(trust, NSDate(timeIntervalSinceReferenceDate: seconds)) == errSecSuccess)
            #expect(chains.verdict(of: trust) != errSecSuccess)
        }
    }

    @Test func `an authority that has expired trusts nobody`() throws {
        try chains.issue("Brief", by: "Root", extensions: OpenSSLChains.authority, days: 1)
        try chains.issue("outlives", by: "Brief", extensions: OpenSSLChains.server, days: 2)
        let trust = try chains.trust(["outlives", "Brief"])
        #expect(SecTrustSetVerifyDate(trust, NSDate(timeIntervalSinceNow: 1.5 * 86_400)) == errSecSuccess)
        #expect(chains.verdict(of: trust) == errSecCertificateExpired)
    }

    @Test func `a server's certificate is not valid for years`() throws {
        try chains.issue("years", by: "Root", extensions: OpenSSLChains.server, days: 826)
        #expect(try chains.verdict(["years"], server(nil)) == errSecCertificateValidityPeriodTooLong)
        #expect(try chains.verdict(["years"]) == errSecSuccess)
        try chains.issue("year", by: "Root", extensions: OpenSSLChains.server, days: 400)
        #expect(try chains.verdict(["year"], server(nil)) == errSecSuccess)
        let trust = try chains.trust(["year"], anchors: nil, server(nil))
        trust.change { $0.systemAnchors = chains.openssl.path("Root.pem") }
        #expect(chains.verdict(of: trust) == errSecCertificateValidityPeriodTooLong)
    }

    // MARK: what authorities may do

    @Test func `only an authority issues certificates`() throws {
        try chains.issue("child", by: "door", extensions: OpenSSLChains.server)
        #expect(try chains.verdict(["child", "door", "Middle"]) == errSecNoBasicConstraintsCA)
        let unable = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,digitalSignature"
        try chains.issue("Unable", by: "Root", extensions: unable)
        try chains.issue("unsigned", by: "Unable", extensions: OpenSSLChains.server)
        #expect(try chains.verdict(["unsigned", "Unable"]) == errSecCreateChainFailed)
    }

    @Test func `an authority has no more authorities below it than it permits`() throws {
        try chains.issue(
            "Last", by: "Root", extensions: "basicConstraints=critical,CA:TRUE,pathlen:0\nkeyUsage=critical,keyCertSign"
        )
        try chains.issue("Beyond", by: "Last", extensions: OpenSSLChains.authority)
        try chains.issue("far", by: "Beyond", extensions: OpenSSLChains.server)
        try chains.issue("near", by: "Last", extensions: OpenSSLChains.server)
        #expect(try chains.verdict(["near", "Last"]) == errSecSuccess)
        #expect(try chains.verdict(["far", "Beyond", "Last"]) == errSecPathLengthConstraintExceeded)
    }

    @Test(arguments: [
        "permitted;DNS:example.com", "excluded;DNS:example.org", "permitted;IP:192.0.2.8/255.255.255.255",
    ])
    func `an authority certifies only names that are left to it`(constraint: String) throws {
        try chains.issue(
            "Local", by: "Root", extensions: OpenSSLChains.authority + "\nnameConstraints=critical,\(constraint)")
        try chains.issue("named", by: "Local", extensions: OpenSSLChains.server)
        #expect(try chains.verdict(["named", "Local"]) == errSecCertificateNameNotAllowed)
        #expect(try chains.verdict(["named", "Local"], server("door.example.org")) == errSecCertificateNameNotAllowed)
    }

    @Test func `names within what is left to an authority are good`() throws {
        try chains.issue(
            "Local", by: "Root",
            extensions: OpenSSLChains.authority + "\nnameConstraints=critical,permitted;DNS:example.org")
        try chains.issue(
            "named", by: "Local", extensions: "subjectAltName=DNS:door.example.org\nextendedKeyUsage=serverAuth")
        #expect(try chains.verdict(["named", "Local"], server("door.example.org")) == errSecSuccess)
    }

    @Test func `an extension that must be understood and is not refuses the certificate`() throws {
        let unknown = "\n1.3.6.1.4.1.55555.1=critical,ASN1:UTF8String:unknown"
        try chains.issue("odd", by: "Root", extensions: OpenSSLChains.server + unknown)
        #expect(try chains.verdict(["odd"]) == errSecUnknownCriticalExtensionFlag)
        try chains.issue(
            "fine", by: "Root", extensions: OpenSSLChains.server + unknown.replacing("critical,", with: ""))
        #expect(try chains.verdict(["fine"]) == errSecSuccess)
    }

    // MARK: TLS

    @Test(arguments: [
        ("door.example.org", true), ("DOOR.example.org", true), ("door.example.org.", true),
        ("a.wild.example.org", true),
        ("192.0.2.7", true), ("window.example.org", false), ("example.org", false), ("a.b.wild.example.org", false),
        ("wild.example.org", false), ("*.wild.example.org", false), (".wild.example.org", false),
        ("a*.wild.example.org", false), ("a b.wild.example.org", false), ("a-9.wild.example.org", true),
        ("A.WILD.example.org.", true), ("a.wild.example.org..", false), ("a..wild.example.org", false), ("*", false),
        ("ä.wild.example.org", false), ("a.wild.example.org/", false), ("a.wild.example.org:443", false),
        ("xdoor.example.org", false), ("192.0.2.8", false), ("door", false), ("", false),
        ("::1", false), (".", false), ("door.example.org\0.evil.example", false), ("192.0.2.7\0.evil.example", false),
    ])
    func `a server's certificate is for its host alone`(host: String, isGood: Bool) throws {
        let verdict = try chains.verdict(["door", "Middle"], server(host))
        #expect(verdict == (isGood ? errSecSuccess : errSecHostNameMismatch))
    }

    @Test func `a common name is no host`() throws {
        try chains.issue(
            "named", by: "Root", extensions: "extendedKeyUsage=serverAuth", commonName: "door.example.org")
        #expect(try chains.verdict(["named"], server("door.example.org")) == errSecHostNameMismatch)
        #expect(try chains.verdict(["named"], server(nil)) == errSecSuccess)
    }

    @Test func `servers and clients are told apart by their purpose`() throws {
        try chains.issue("client", by: "Root", extensions: "extendedKeyUsage=clientAuth")
        #expect(try chains.verdict(["client"], server(nil)) == errSecInvalidExtendedKeyUsage)
        #expect(try chains.verdict(["client"], SecPolicyCreateSSL(false, nil)) == errSecSuccess)
        #expect(
            try chains.verdict(["door", "Middle"], SecPolicyCreateSSL(false, nil)) == errSecInvalidExtendedKeyUsage)
        try chains.issue("any", by: "Root", extensions: "subjectAltName=DNS:door.example.org")
        #expect(try chains.verdict(["any"], server("door.example.org")) == errSecInvalidExtendedKeyUsage)
        try chains.issue(
            "signer", by: "Root", extensions: "keyUsage=critical,cRLSign\nextendedKeyUsage=serverAuth")
        #expect(try chains.verdict(["signer"], server(nil)) == errSecInvalidExtendedKeyUsage)
    }
}
