import CanonicalCBOR
import Crypto
import CryptoExtras
import Foundation
import RelyingParty
import SwiftASN1
import Testing
import X509

@testable import AttestationVerification

/// Each check of an enrolment, with a document that is wrong in nothing else.
@Suite struct AttestationEnrollmentTests {
    private func expectRefusal(
        _ error: RightAttestationError, _ chip: Recording.Chip = .rsa, _ change: (inout TestDocument) throws -> Void,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        var document = try Recording.document("enrollment.cbor", of: chip)
        try change(&document)
        let bytes = document.encoded
        await #expect(throws: error, sourceLocation: location) {
            try await Recording.enrollment(bytes, of: chip)
        }
    }

    // MARK: recordings

    @Test(arguments: Recording.Chip.allCases)
    func `a recorded enrolment is taken, and each challenge is another`(_ chip: Recording.Chip) async throws {
        let enrollment = try await Recording.enrollment(of: chip)
        let (first, second) = try (enrollment.challenge(), enrollment.challenge())
        #expect(first.credential != second.credential && first.pending != second.pending)
        #expect(first.credential.starts(with: [0xBA, 0xDC, 0xC0, 0xDE, 0, 0, 0, 1]))
        #expect(first.credential.count < 1024)
        #expect(throws: RightAttestationError.wrongSecret) {
            try first.pending.confirmed(by: Recording.data("secret", of: chip))
        }
        let pending = try PendingAttestationKey(stored: first.pending.stored)
        #expect(pending == first.pending)
    }

    @Test(arguments: Recording.Chip.allCases)
    func `the secret that the chip opened confirms its key, and no other secret does`(_ chip: Recording.Chip) throws {
        let pending = try PendingAttestationKey(stored: Recording.data("pending.cbor", of: chip))
        let secret = try Recording.data("secret", of: chip)
        let key = try pending.confirmed(by: secret)
        #expect(key == (try Recording.knownKey(of: chip)))
        #expect(key.stored == (try Recording.data("known-key.cbor", of: chip)))
        var flipped = secret
        flipped[31] ^= 1
        for wrong in [Data(), secret.dropLast(), secret + [0], flipped, Data(SHA256.hash(data: secret))] {
            #expect(throws: RightAttestationError.wrongSecret) { try pending.confirmed(by: wrong) }
        }
    }

    // MARK: the maker

    @Test(arguments: Recording.Chip.allCases)
    func `a chip of an unknown maker is refused`(_ chip: Recording.Chip) async throws {
        let other: Recording.Chip = chip == .rsa ? .p384 : .rsa
        let foreign = try Recording.data("maker.der", of: other)
        let lists: [[Data]] = [[foreign], [], [try Data(TestAuthority().certificate.der)]]
        for anchors in lists {
            await #expect(throws: RightAttestationError.untrusted) {
                try await Recording.enrollment(of: chip, anchors: anchors)
            }
        }
        await #expect(throws: RightAttestationError.untrusted) {
            try await Recording.enrollment(of: chip, intermediates: [])
        }
        let strange = try Recording.data("intermediate.der", of: other)
        await #expect(throws: RightAttestationError.untrusted) {
            try await Recording.enrollment(of: chip, intermediates: [strange])
        }
        // Among others the maker is found, and an intermediate one may be trusted itself.
        _ = try await Recording.enrollment(of: chip, anchors: [foreign, Recording.data("maker.der", of: chip)])
        _ = try await Recording.enrollment(
            of: chip, anchors: [Recording.data("intermediate.der", of: chip)], intermediates: [])
    }

    @Test func `a certificate that cannot be read is named by its number`() async throws {
        let maker = try Recording.data("maker.der")
        for wrong in [Data(), maker.dropLast(), maker + [0], Data("-----BEGIN CERTIFICATE-----".utf8)] {
            await #expect(throws: RightAttestationError.anchorUnreadable(1)) {
                try await Recording.enrollment(anchors: [maker, wrong])
            }
        }
        await #expect(throws: RightAttestationError.anchorUnreadable(0)) {
            try await Recording.enrollment(intermediates: [Data([0x30])])
        }
    }

    /// The recorded enrolment with a certificate of a new maker.
    private struct Issued {
        let authority: TestAuthority
        var anchor: Certificate
        var leaf: TestLeaf
        var key: Certificate.PublicKey
        var date = Recording.date

        init(_ chip: Recording.Chip = .rsa) throws {
            authority = try TestAuthority()
            anchor = authority.certificate
            leaf = try TestLeaf()
            leaf.extensions.append(try Certificate.Extension(ExtendedKeyUsage([Self.usage]), critical: false))
            let recorded = try #require(try Recording.document("enrollment.cbor", of: chip)["ekCert"])
            key = try Certificate(derEncoded: recorded).publicKey
        }

        static let usage = ExtendedKeyUsage.Usage(oid: [2, 23, 133, 8, 1])

        func enroll(_ chip: Recording.Chip = .rsa, area: [UInt8]? = nil) async throws {
            var document = try Recording.document("enrollment.cbor", of: chip)
            document["ekCert"] = try authority.issue(leaf, for: key).der
            if let area { document["ek"] = area }
            _ = try await Recording.enrollment(
                document.encoded, of: chip, anchors: [Data(anchor.der)], intermediates: [], at: date)
        }
    }

    private func expectRefusalOfCertificate(
        _ error: RightAttestationError, _ change: (inout Issued) throws -> Void,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let right = try Issued()
        try await right.enroll()
        var changed = right
        try change(&changed)
        let wrong = changed
        await #expect(throws: error, sourceLocation: location) { try await wrong.enroll() }
    }

    @Test func `an expired chain is refused, and one that is not valid yet`() async throws {
        for seconds in [101, 1001, -101, -1001] as [TimeInterval] {
            try await expectRefusalOfCertificate(.untrusted) { $0.date += seconds }
        }
        try await expectRefusalOfCertificate(.untrusted) { $0.leaf.notAfter = $0.date - 1 }
    }

    @Test func `another authority of the maker's name did not sign`() async throws {
        let other = try TestAuthority()
        try await expectRefusalOfCertificate(.untrusted) {
            #expect(other.certificate.subject == $0.anchor.subject)
            $0.anchor = other.certificate
        }
    }

    @Test func `a certificate that is not one of an endorsement key is refused`() async throws {
        try await expectRefusalOfCertificate(.endorsementCertificate) { $0.leaf.extensions.removeLast() }
        try await expectRefusalOfCertificate(.endorsementCertificate) {
            $0.leaf.extensions[1] = try Certificate.Extension(
                ExtendedKeyUsage([ExtendedKeyUsage.Usage(oid: [2, 23, 133, 8, 3]), .serverAuth]), critical: false)
        }
        try await expectRefusalOfCertificate(.endorsementCertificate) {
            $0.leaf.extensions[0] = try TestLeaf.constraints(.isCertificateAuthority(maxPathLength: nil))
        }
        try await expectRefusalOfCertificate(.endorsementCertificate) { $0.leaf.extensions[1].value = [0x05, 0x00] }
        try await expectRefusalOfCertificate(.untrusted) {
            $0.leaf.extensions.append(Certificate.Extension(oid: [1, 2, 3], critical: true, value: [0x05, 0x00]))
        }
        try await expectRefusal(.endorsementCertificate, .rsa) { $0["ekCert"] = [] }
        try await expectRefusal(.endorsementCertificate, .rsa) { try $0.change("ekCert") { $0.removeLast() } }
        try await expectRefusal(.endorsementCertificate, .rsa) { try $0.change("ekCert") { $0.append(0) } }
    }

    // MARK: the endorsement key

    @Test func `a certificate for another endorsement key is refused`() async throws {
        let rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048).publicKey
        for key in [
            Certificate.PublicKey(rsa), Certificate.PublicKey(P256.Signing.PrivateKey().publicKey),
            Certificate.PublicKey(P384.Signing.PrivateKey().publicKey),
        ] {
            try await expectRefusalOfCertificate(.endorsementKey) { $0.key = key }
            var other = try Issued(.p384)
            try await other.enroll(.p384)
            other.key = key
            let wrong = other
            await #expect(throws: RightAttestationError.endorsementKey) { try await wrong.enroll(.p384) }
        }
    }

    @Test(arguments: Recording.Chip.allCases)
    func `an endorsement key that does more than decrypt credentials is refused`(_ chip: Recording.Chip) async throws {
        for attribute in KeyArea.Attributes.each {
            try await expectRefusal(.endorsementKey, chip) { try $0.change("ek") { $0.toggle(attribute) } }
        }
        // Another policy, and another hash of the name.
        try await expectRefusal(.endorsementKey, chip) { try $0.change("ek") { $0[12] ^= 1 } }
        try await expectRefusal(.endorsementKey, chip) { try $0.change("ek") { $0[3] = 0x0D } }
        try await expectRefusal(.endorsementKey, chip) { $0["ek"] = $0["ak"] }
    }

    @Test(arguments: Recording.Chip.allCases)
    func `areas are read to their end and not beyond`(_ chip: Recording.Chip) async throws {
        let unreadable = RightAttestationError.structure(.enrollment, .tpmStructureUnreadable(.pubArea))
        for member in ["ek", "ak"] {
            let area = try #require(try Recording.document("enrollment.cbor", of: chip)[member])
            for count in [0, 1, 9, 41, area.count - 1] {
                try await expectRefusal(unreadable, chip) { $0[member] = Array(area.prefix(count)) }
            }
            try await expectRefusal(unreadable, chip) { $0[member] = area + [0] }
        }
    }

    @Test func `an endorsement key on P-256 is taken with its own certificate only`() async throws {
        let (chip, stranger) = (P256.KeyAgreement.PrivateKey(), P256.KeyAgreement.PrivateKey())
        var issued = try Issued()
        issued.key = Certificate.PublicKey(
            try P256.Signing.PublicKey(x963Representation: chip.publicKey.x963Representation))
        var area: [UInt8] = [0x00, 0x23, 0x00, 0x0B, 0x00, 0x03, 0x00, 0xB2, 0x00, 0x20]
        area += TPMPolicy.secret(of: TPMName.endorsementHierarchy).digest
        area += [0x00, 0x06, 0x00, 0x80, 0x00, 0x43, 0x00, 0x10, 0x00, 0x03, 0x00, 0x10]
        func with(_ key: P256.KeyAgreement.PrivateKey) -> [UInt8] {
            let raw = key.publicKey.rawRepresentation
            return area + sized(Array(raw.prefix(32))) + sized(Array(raw.suffix(32)))
        }
        try await issued.enroll(area: with(chip))
        let wrong = issued
        await #expect(throws: RightAttestationError.endorsementKey) { try await wrong.enroll(area: with(stranger)) }
    }

    // MARK: the attestation key

    @Test func `an attestation key that could sign something else is refused`() async throws {
        for attribute in KeyArea.Attributes.each {
            try await expectRefusal(.attestationKey) { try $0.change("ak") { $0.toggle(attribute) } }
        }
        try await expectRefusal(.attestationKey) { try $0.change("ak") { $0.setPoint(Data(count: 64)) } }
        try await expectRefusal(.attestationKey) { $0["ak"] = $0["ek"] }
        for count in [0, 33] {
            try await expectRefusal(.attestationKey) { try $0.change("akParent") { $0 = Array($0.prefix(count)) } }
        }
        try await expectRefusal(.attestationKey) { try $0.change("akParent") { $0.append(0) } }
    }

    @Test func `the attestation key of a known chip is looked at again`() throws {
        let stored = try Recording.document("known-key.cbor")
        let restricted = try stored.changing("ak") { $0.toggle(.restricted) }
        #expect(throws: RightAttestationError.attestationKey) { try KnownAttestationKey(stored: restricted.encoded) }
        let long = try stored.changing("ak") { $0.append(0) }
        #expect(throws: RightAttestationError.structure(.knownKey, .tpmStructureUnreadable(.pubArea))) {
            try KnownAttestationKey(stored: long.encoded)
        }
        var pending = try Recording.document("pending.cbor")
        pending["key"] = Array(restricted.encoded)
        #expect(throws: RightAttestationError.attestationKey) { try PendingAttestationKey(stored: pending.encoded) }
    }

    // MARK: documents

    @Test func `members are there, of their types, and no others`() async throws {
        for defect in try Recording.document("enrollment.cbor").defects() {
            await #expect(throws: RightAttestationError.unreadable(.enrollment), "\(defect.name)") {
                try await Recording.enrollment(defect.bytes)
            }
        }
        for defect in try Recording.document("known-key.cbor").defects() {
            #expect(throws: RightAttestationError.unreadable(.knownKey), "\(defect.name)") {
                try KnownAttestationKey(stored: defect.bytes)
            }
        }
        for defect in try Recording.document("pending.cbor").defects() {
            #expect(throws: RightAttestationError.unreadable(.pendingKey), "\(defect.name)") {
                try PendingAttestationKey(stored: defect.bytes)
            }
        }
    }

    @Test func `documents of another version say so`() async throws {
        func versioned(_ name: String) throws -> Data {
            var document = try Recording.document(name)
            document.members["ver"] = .number(2)
            return document.encoded
        }
        await #expect(throws: RightAttestationError.version(.enrollment)) {
            try await Recording.enrollment(versioned("enrollment.cbor"))
        }
        #expect(throws: RightAttestationError.version(.knownKey)) {
            try KnownAttestationKey(stored: versioned("known-key.cbor"))
        }
        #expect(throws: RightAttestationError.version(.pendingKey)) {
            try PendingAttestationKey(stored: versioned("pending.cbor"))
        }
    }
}
