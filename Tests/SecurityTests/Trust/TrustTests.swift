import Foundation
import IndependentTools
@testable import Security
import Testing

/// Apple's calls around a chain: what they take, what they keep, and what they refuse.
@Suite(.serialized) struct TrustTests {
    private let chains: OpenSSLChains

    init() throws { chains = try OpenSSLChains() }

    private func result(_ trust: SecTrust) -> SecTrustResultType {
        var result = SecTrustResultType.deny
        #expect(SecTrustGetTrustResult(trust, &result) == errSecSuccess)
        return result
    }

    @Test func `an answer is kept until something is set`() throws {
        let trust = try chains.trust(["door", "Middle"])
        #expect(result(trust) == .invalid && SecTrustCopyResult(trust) == nil)
        #expect(chains.verdict(of: trust) == errSecSuccess)
        #expect(result(trust) == .unspecified)
        let kept = try #require(SecTrustCopyResult(trust) as? [String: Any])
        #expect(kept["TrustResultValue"] as? Int == 4 && kept["TrustEvaluationDate"] is Date)
        #expect(SecTrustSetPolicies(trust, server("window.example.org")) == errSecSuccess)
        #expect(result(trust) == .invalid)
        var evaluated = SecTrustResultType.invalid
        #expect(SecTrustEvaluate(trust, &evaluated) == errSecSuccess)
        #expect(evaluated == .recoverableTrustFailure && result(trust) == .recoverableTrustFailure)
        #expect(SecTrustSetAnchorCertificates(trust, []) == errSecSuccess)
        #expect(result(trust) == .invalid)
        #expect(chains.verdict(of: trust) == errSecCreateChainFailed)
    }

    @Test func `an error says which certificate, and what is wrong with it`() throws {
        var error: CFError?
        #expect(!SecTrustEvaluateWithError(try chains.trust(["door", "Middle"], server("window.example.org")), &error))
        #expect(CFErrorCopyDescription(error)! as String == "“door” certificate is not for “window.example.org”.")
        #expect(!SecTrustEvaluateWithError(try chains.trust(["door"]), nil))
    }

    @Test func `all policies must be satisfied`() throws {
        let trust = try chains.trust(["door", "Middle"])
        let both = [SecPolicyCreateBasicX509(), server("window.example.org")] as NSArray
        #expect(SecTrustSetPolicies(trust, both) == errSecSuccess)
        #expect(chains.verdict(of: trust) == errSecHostNameMismatch)
        var policies: CFArray?
        #expect(SecTrustCopyPolicies(trust, &policies) == errSecSuccess)
        #expect(policies == both)
    }

    @Test func `what is no certificate or no policy is refused`() throws {
        let door = try chains.certificate("door")
        var trust: SecTrust? = try chains.trust(["door"])
        let unfit: [CFTypeRef] = [[] as NSArray, [door, "x"] as NSArray, "door" as NSString, Data() as NSData]
        for certificates in unfit {
            #expect(SecTrustCreateWithCertificates(certificates, nil, &trust) == errSecParam)
            #expect(trust == nil)
        }
        let many = NSArray(array: Array(repeating: door, count: 101))
        #expect(SecTrustCreateWithCertificates(many, nil, &trust) == errSecParam)
        for policies in [[] as NSArray, "basic" as NSString, [door] as NSArray] as [CFTypeRef] {
            #expect(SecTrustCreateWithCertificates(door, policies, &trust) == errSecParam)
        }
        #expect(SecTrustCreateWithCertificates(door, SecPolicyCreateBasicX509(), &trust) == errSecSuccess)
        let made = try #require(trust)
        #expect(SecTrustSetPolicies(made, door) == errSecParam)
        #expect(SecTrustSetAnchorCertificates(made, ["Root"] as NSArray) == errSecParam)
        #expect(SecTrustSetVerifyDate(made, NSDate(timeIntervalSinceReferenceDate: .infinity)) == errSecParam)
        #expect(CFGetTypeID(made) == SecTrustGetTypeID())
    }

    @Test func `what is not looked at is refused`() throws {
        let trust = try chains.trust(["door"])
        #expect(SecPolicyCreateRevocation(1) == nil)
        #expect(SecTrustSetOCSPResponse(trust, Data() as NSData) == errSecUnimplemented)
        #expect(SecTrustSetSignedCertificateTimestamps(trust, []) == errSecUnimplemented)
        #expect(SecTrustCopyExceptions(trust) == nil)
        #expect(!SecTrustSetExceptions(trust, Data() as NSData) && SecTrustSetExceptions(trust, nil))
    }

    // MARK: policies

    @Test func `a policy is known by its properties`() throws {
        #expect(
            SecPolicyCopyProperties(SecPolicyCreateBasicX509()) == [kSecPolicyOid: kSecPolicyAppleX509Basic]
                as NSDictionary)
        let named = SecPolicyCreateWithProperties(
            kSecPolicyAppleSSL, [kSecPolicyName: "door.example.org"] as NSDictionary)
        #expect(named == server("door.example.org"))
        let properties = try #require(named.flatMap(SecPolicyCopyProperties) as? [String: Any])
        #expect(properties["SecPolicyName"] as? String == "door.example.org")
        #expect(
            SecPolicyCreateWithProperties(kSecPolicyAppleSSL, [kSecPolicyClient: true] as NSDictionary)
                == SecPolicyCreateSSL(false, nil))
        #expect(CFGetTypeID(SecPolicyCreateBasicX509()) == SecPolicyGetTypeID())
    }

    @Test func `a policy that would be weaker than what was asked for is none`() {
        let unfit: [(CFTypeRef, NSDictionary?)] = [
            (kSecPolicyAppleX509Basic, [kSecPolicyName: "x"]), (kSecPolicyAppleSSL, [kSecPolicyName: 1]),
            (kSecPolicyAppleSSL, [kSecPolicyClient: "yes"]), (kSecPolicyAppleSSL, ["SecPolicyTeamIdentifier": "x"]),
            ("1.2.840.113635.100.1.8" as NSString, nil), (NSNumber(value: 3), nil), (kSecPolicyAppleSSL, [1: 2]),
        ]
        for (oid, properties) in unfit { #expect(SecPolicyCreateWithProperties(oid, properties) == nil) }
    }

    // MARK: the system's anchors

    @Test func `the system's anchors count until the program names its own, and again when it says so`() throws {
        let trust = try chains.trust(["door", "Middle"], anchors: nil)
        trust.change { $0.systemAnchors = chains.openssl.path("Root.pem") }
        #expect(chains.verdict(of: trust) == errSecSuccess)
        try chains.issue("Other", extensions: OpenSSLChains.authority)
        #expect(SecTrustSetAnchorCertificates(trust, [try chains.certificate("Other")] as NSArray) == errSecSuccess)
        #expect(chains.verdict(of: trust) == errSecCreateChainFailed)
        #expect(SecTrustSetAnchorCertificatesOnly(trust, false) == errSecSuccess)
        #expect(chains.verdict(of: trust) == errSecSuccess)
        #expect(SecTrustSetAnchorCertificatesOnly(trust, true) == errSecSuccess)
        #expect(chains.verdict(of: trust) == errSecCreateChainFailed)
        var anchors: CFArray?
        #expect(SecTrustCopyCustomAnchorCertificates(trust, &anchors) == errSecSuccess)
        #expect(anchors?.count == 1)
        #expect(SecTrustSetAnchorCertificates(trust, nil) == errSecSuccess)
        #expect(chains.verdict(of: trust) == errSecSuccess)
        #expect(SecTrustCopyCustomAnchorCertificates(trust, &anchors) == errSecSuccess)
        #expect(anchors == nil)
    }

    /// A bundle that is read in part would trust less, or more, than the administrator decided.
    @Test(arguments: ["absent", "empty", "cut", "garbage"])
    func `anchors that cannot be read are an error of their own`(damage: String) throws {
        let root = try chains.openssl.data("Root.pem")
        let bundles = [
            "empty": Data(), "cut": root + root.prefix(200),
            "garbage": root + Data("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".utf8),
        ]
        if let bundle = bundles[damage] { try chains.openssl.write("\(damage).crt", bundle) }
        let trust = try chains.trust(["door", "Middle"], anchors: nil)
        trust.change { $0.systemAnchors = chains.openssl.path("\(damage).crt") }
        #expect(chains.verdict(of: trust) == (damage == "empty" ? errSecCreateChainFailed : errSecTrustNotAvailable))
        #expect(result(trust) == (damage == "empty" ? .recoverableTrustFailure : .otherError))
    }

    @Test func `this machine's anchors are read, and trust themselves`() throws {
        var anchors: CFArray?
        #expect(SecTrustCopyAnchorCertificates(&anchors) == errSecSuccess)
        let certificates = try #require(anchors as? [SecCertificate])
        #expect(certificates.count > 20)
        var trust: SecTrust?
        #expect(SecTrustCreateWithCertificates(try #require(certificates.first), nil, &trust) == errSecSuccess)
        #expect(chains.verdict(of: try #require(trust)) == errSecSuccess)
        #expect(try chains.verdict(["door", "Middle", "Root"], anchors: nil) == errSecNotTrusted)
    }
}
