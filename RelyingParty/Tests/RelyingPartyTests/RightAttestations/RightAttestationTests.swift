import AccessControl
import CanonicalCBOR
import Crypto
import Foundation
import RelyingParty
import Testing

@testable import AttestationVerification

/// Each check of the verifier, with a statement that is wrong in nothing else.
@Suite struct RightAttestationTests {
    // MARK: recordings

    @Test(arguments: Recording.Right.allCases)
    func `a recorded statement is verified`(_ right: Recording.Right) throws {
        let attestation = try RightAttestation(
            verifying: Recording.statement(on: right), challenge: Recording.challenge(), by: Recording.knownKey())
        let rules: [Recording.Right: String] = [
            .passcode: "passcode", .open: "unrestricted", .either: "passcode or biometry", .confirming: "passcode",
        ]
        #expect(Rule.means(attestation.accessControl.keyRequirement.description, try #require(rules[right])))
        #expect(attestation.accessControl.confirmsEachSignature == (right == .confirming))
        let needsPasscode = right == .passcode || right == .confirming
        #expect(
            attestation.passcode == (needsPasscode ? RightAttestation.CountedPasscode(wrongCount: 0, limit: 10) : nil))
        #expect(attestation.publicKey.count == 65 && attestation.publicKey.first == 0x04)
        #expect(attestation.chip.clock > 0 && attestation.chip.firmwareVersion > 0)
        let certificate = try #require(try Recording.document("enrollment.cbor")["ekCert"])
        #expect(attestation.certificateDigest == Data(SHA256.hash(data: certificate)))
    }

    @Test(arguments: Recording.Right.allCases)
    func `the same words are verified when another known key signs them`(_ right: Recording.Right) throws {
        let statement = try TestRightStatement(right)
        let recorded = try RightAttestation(
            verifying: Recording.statement(on: right), challenge: Recording.challenge(), by: Recording.knownKey())
        #expect(try statement.verify().sentences == recorded.sentences)
    }

    @Test(arguments: Recording.Right.allCases)
    func `no recorded statement with a flipped bit is verified`(_ right: Recording.Right) throws {
        let (statement, challenge, key) = try (
            Recording.statement(on: right), Recording.challenge(), Recording.knownKey()
        )
        for place in statement.indices {
            var changed = statement
            changed[place] ^= 1 << UInt8(place % 8)
            #expect(throws: RightAttestationError.self, "byte \(place)") {
                try RightAttestation(verifying: changed, challenge: challenge, by: key)
            }
        }
    }

    @Test func `the recorded chip answers no other challenge`() throws {
        let challenge = try Recording.challenge()
        for other in [Data(), challenge.dropLast(), challenge + [0], Data(SHA256.hash(data: challenge))] {
            #expect(throws: RightAttestationError.challenge(.key)) {
                try RightAttestation(
                    verifying: Recording.statement(on: .passcode), challenge: other, by: Recording.knownKey())
            }
        }
    }

    @Test func `the attestation key of another chip did not sign`() throws {
        #expect(throws: RightAttestationError.signature(.key)) {
            try RightAttestation(
                verifying: Recording.statement(on: .passcode), challenge: Recording.challenge(),
                by: Recording.knownKey(of: .p384))
        }
    }

    @Test func `a key of software does not sign for the chip`() throws {
        let statement = try TestRightStatement()
        #expect(throws: RightAttestationError.signature(.key)) {
            try RightAttestation(
                verifying: statement.signed().encoded, challenge: Recording.challenge(), by: Recording.knownKey())
        }
        // Nor for the index alone.
        var mixed = try TestDocument(Recording.statement(on: .passcode))
        mixed["indexSig"] = try statement.signed()["indexSig"]
        #expect(throws: RightAttestationError.signature(.index)) {
            try RightAttestation(
                verifying: mixed.encoded, challenge: Recording.challenge(), by: Recording.knownKey())
        }
    }

    // MARK: the words that the chip signs

    @Test func `each part answers the challenge`() throws {
        let hashes: [[UInt8]] = try [
            [], Array(Recording.challenge()), Array(SHA256.hash(data: Recording.challenge())),
            Array(SHA256.hash(data: Data("ostiary.attestation.v1".utf8))),
        ]
        for hash in hashes {
            try expectRefusal(.challenge(.key)) { $0.changeKeyInfo = { $0.extraData = hash } }
            try expectRefusal(.challenge(.index)) { $0.changeIndexInfo = { $0.extraData = hash } }
        }
        try expectRefusal(.challenge(.key)) { $0.challenge += [0] }
    }

    @Test func `a signature belongs to its part, and has 64 bytes`() throws {
        let statement = try TestRightStatement()
        let signed = try statement.signed()
        for (member, part) in [("sig", AttestedPart.key), ("indexSig", .index)] {
            let signature = try #require(signed[member])
            let wrong: [[UInt8]] = [
                [], signature.dropLast(), signature + [0], [UInt8](repeating: 0, count: 64),
                Array(try P256.Signing.ECDSASignature(rawRepresentation: signature).derRepresentation),
                try statement.signer.signature(of: [1]),
            ]
            for bytes in wrong {
                var changed = signed
                changed[member] = bytes
                #expect(throws: RightAttestationError.signature(part)) { try statement.verify(changed) }
            }
        }
    }

    @Test func `the signer lies in the endorsement hierarchy, as it was enrolled`() throws {
        let known = try TestRightStatement().signer.known
        var wrong: [[UInt8]] = [[], Array(known.qualifiedName.dropLast()), known.qualifiedName + [0]]
        let area = try #require(try TestDocument(known.stored)["ak"])
        let parent = try #require(try TestDocument(known.stored)["akParent"])
        wrong.append(TPMName.of(area))
        wrong.append(
            TPMName.qualified(TPMName.of(area), below: TPMName.qualified(parent, below: TPMName.ownerHierarchy)))
        wrong.append(TPMName.qualified(TPMName.of(area), below: TPMName.endorsementHierarchy))
        for name in wrong {
            try expectRefusal(.signer(.key)) { $0.changeKeyInfo = { $0.signer = name } }
            try expectRefusal(.signer(.index)) { $0.changeIndexInfo = { $0.signer = name } }
        }
    }

    @Test func `the chip made the words itself, and they are of a kind that is read`() throws {
        let magic = RightAttestationError.structure(.statement, .tpmStatement(.magic))
        let type = RightAttestationError.structure(.statement, .tpmStatement(.type))
        for wrong: [UInt8] in [[0, 0, 0, 0], [0xFF, 0x54, 0x43, 0x46], [0x47, 0x43, 0x54, 0xFF]] {
            try expectRefusal(magic) { $0.changeKeyInfo = { $0.magic = wrong } }
            try expectRefusal(magic) { $0.changeIndexInfo = { $0.magic = wrong } }
        }
        // A quote, statements on time, on a creation, on sessions and commands, and none at all.
        for wrong: [UInt8] in [[0x80, 0x18], [0x80, 0x19], [0x80, 0x1A], [0x80, 0x15], [0x80, 0x16], [0, 0]] {
            try expectRefusal(type) { $0.changeKeyInfo = { $0.type = wrong } }
            try expectRefusal(type) { $0.changeIndexInfo = { $0.type = wrong } }
        }
    }

    @Test func `words on a key are none on an index`() throws {
        let statement = try TestRightStatement()
        let signed = try statement.signed()
        var swapped = signed
        (swapped["certInfo"], swapped["sig"]) = (signed["indexInfo"], signed["indexSig"])
        #expect(throws: RightAttestationError.subject(.key)) { try statement.verify(swapped) }
        swapped = signed
        (swapped["indexInfo"], swapped["indexSig"]) = (signed["certInfo"], signed["sig"])
        #expect(throws: RightAttestationError.subject(.index)) { try statement.verify(swapped) }
    }

    @Test func `signed words are read to their end and not beyond`() throws {
        let unreadable = RightAttestationError.structure(.statement, .tpmStructureUnreadable(.certInfo))
        let signed = try TestRightStatement().signed()
        for count in 0..<(try #require(signed["certInfo"]).count) {
            try expectRefusal(unreadable) { $0.changeKeyBytes = { $0 = Array($0.prefix(count)) } }
        }
        for count in 0..<(try #require(signed["indexInfo"]).count) {
            try expectRefusal(unreadable) { $0.changeIndexBytes = { $0 = Array($0.prefix(count)) } }
        }
        for more in [1, 2, 1000] {
            let bytes = [UInt8](repeating: 0, count: more)
            try expectRefusal(unreadable) { $0.changeKeyBytes = { $0 += bytes } }
            try expectRefusal(unreadable) { $0.changeIndexBytes = { $0 += bytes } }
        }
    }

    // MARK: the key

    @Test func `the words are on the key that is shown`() throws {
        let other = try TestRightStatement(.open)
        let name = TPMName.of(try #require(other.document["key"]))
        for name in [[], name, Array(name.dropLast()), name + [0]] {
            try expectRefusal(.subject(.key)) { $0.changeKeyInfo = { $0.name = name } }
        }
        let another = P256.Signing.PrivateKey().publicKey.rawRepresentation
        let statement = try TestRightStatement()
        var signed = try statement.signed()
        try signed.change("key") { $0.setPoint(another) }
        #expect(throws: RightAttestationError.subject(.key)) { try statement.verify(signed) }
    }

    @Test func `a key that the server does not expect is refused`() throws {
        let statement = try TestRightStatement()
        let own = try statement.verify().publicKey
        #expect(try statement.verify(publicKey: own).publicKey == own)
        for other in [P256.Signing.PrivateKey().publicKey.x963Representation, own.dropFirst(), own + [0], Data()] {
            #expect(throws: RightAttestationError.otherKey) { try statement.verify(publicKey: other) }
        }
    }

    @Test(arguments: [Recording.Right.passcode, .open, .either, .confirming])
    func `the key was made in the chip, stays there, and does only its work`(_ right: Recording.Right) throws {
        for attribute in KeyArea.Attributes.each {
            try expectRefusal(.key, of: right) { try $0.document.change("key") { $0.toggle(attribute) } }
        }
        // Another hash of the name, a cipher, a scheme, another curve, a derivation.
        let others: [(Range<Int>, [UInt8])] = [
            (2..<4, [0x00, 0x0C]), (42..<44, [0x00, 0x06, 0x00, 0x80, 0x00, 0x43]),
            (44..<46, [0x00, 0x18, 0x00, 0x0B]), (46..<48, [0x00, 0x04]), (48..<50, [0x00, 0x20, 0x00, 0x0B]),
        ]
        for (place, bytes) in others {
            try expectRefusal(.key, of: right) {
                try $0.document.change("key") { $0.replaceSubrange(place, with: bytes) }
            }
        }
        // Numbers that are no point.
        try expectRefusal(.key, of: right) { try $0.document.change("key") { $0.setPoint(Data(count: 64)) } }
    }

    @Test func `areas are read to their end and not beyond`() throws {
        let unreadable = RightAttestationError.structure(.statement, .tpmStructureUnreadable(.pubArea))
        for (right, member) in [(.passcode, "key"), (.passcode, "parent"), (.confirming, "approver")]
            as [(Recording.Right, String)]
        {
            let area = try #require(try TestRightStatement(right).document[member])
            for count in area.indices {
                try expectRefusal(unreadable, of: right) { $0.document[member] = Array(area.prefix(count)) }
            }
            for more in [1, 34, 1000] {
                try expectRefusal(unreadable, of: right) {
                    $0.document[member] = area + [UInt8](repeating: 0, count: more)
                }
            }
        }
    }

    // MARK: the rule

    @Test func `the rule is the one that the key was made for`() throws {
        let unrestricted = Requirement.unrestricted
        let finger = try Requirement(anyOf: [.biometry])
        let rules = try [
            AccessControl(availability: .whenUnlocked, using: unrestricted),
            AccessControl(availability: .whenUnlocked, using: finger),
            AccessControl(availability: .whenUnlocked, using: Requirement(anyOf: [.passcode, .biometry])),
            AccessControl(availability: .always, using: Requirement(anyOf: [.passcode])),
        ]
        for rule in rules { try expectRefusal(.accessControl) { try $0.setAccessControl(rule) } }
        try expectRefusal(.accessControl, of: .confirming) {
            try $0.setAccessControl(AccessControl(availability: .whenUnlocked, confirmingEachSignatureWith: finger))
        }
    }

    @Test func `the rest of the header is fixed too`() throws {
        let header = try #require(try TestRightStatement().document["header"])
        for place in header.indices {
            try expectRefusal(.accessControl) { try $0.document.change("header") { $0[place] ^= 0x40 } }
        }
        for count in header.indices {
            try expectRefusal(.accessControl) { $0.document["header"] = Array(header.prefix(count)) }
        }
        try expectRefusal(.accessControl) { $0.document["header"] = header + [0] }
    }

    @Test func `an approver is shown if and only if the rule confirms each signature`() throws {
        let approver = try #require(try TestRightStatement(.confirming).document["approver"])
        for right in [Recording.Right.passcode, .open, .either] {
            try expectRefusal(.approver, of: right) { $0.document["approver"] = approver }
        }
        try expectRefusal(.approver, of: .confirming) { $0.document.members["approver"] = nil }
    }

    @Test func `the approver only signs, outside the chip, and is the key's own`() throws {
        for attribute in [KeyArea.Attributes.fixedTPM, .userWithAuth, .restricted, .decrypt, .sign] {
            try expectRefusal(.approver, of: .confirming) {
                try $0.document.change("approver") { $0.toggle(attribute) }
            }
        }
        try expectRefusal(.approver, of: .confirming) {
            try $0.document.change("approver") { $0.setPoint(Data(count: 64)) }
        }
        let other = P256.Signing.PrivateKey().publicKey.rawRepresentation
        try expectRefusal(.accessControl, of: .confirming) {
            try $0.document.change("approver") { $0.setPoint(other) }
        }
    }

    // MARK: the place

    @Test func `the key lies where the statement shows`() throws {
        for right in [Recording.Right.passcode, .open, .either, .confirming] {
            try expectRefusal(.parent, of: right) { $0.changeKeyInfo = { $0.rest[5] ^= 1 } }
            try expectRefusal(.parent, of: right) { $0.changeKeyInfo = { $0.rest = sized([]) } }
        }
        // Below another hierarchy, whose owner could be another.
        let statement = try TestRightStatement(.open)
        let (key, storageKey) = (
            TPMName.of(try #require(statement.document["key"])), try #require(statement.document["storageKey"])
        )
        let platform: [UInt8] = [0x40, 0x00, 0x00, 0x0C]
        for hierarchy in [TPMName.endorsementHierarchy, platform, [0x40, 0x00, 0x00, 0x07]] {
            let name = TPMName.qualified(key, below: TPMName.qualified(storageKey, below: hierarchy))
            try expectRefusal(.parent, of: .open) { $0.changeKeyInfo = { $0.rest = sized(name) } }
        }
        try expectRefusal(.parent, of: .open) {
            $0.changeKeyInfo = { $0.rest = sized(TPMName.qualified(key, below: TPMName.ownerHierarchy)) }
        }
    }

    @Test func `a key whose rule needs the passcode does not lie beside the parent that asks for it`() throws {
        let statement = try TestRightStatement()
        let (key, storageKey) = (
            TPMName.of(try #require(statement.document["key"])), try #require(statement.document["storageKey"])
        )
        let root = TPMName.qualified(storageKey, below: TPMName.ownerHierarchy)
        try expectRefusal(.parent) { $0.changeKeyInfo = { $0.rest = sized(TPMName.qualified(key, below: root)) } }
        for right in [Recording.Right.passcode, .confirming] {
            try expectRefusal(.passcodeParent, of: right) {
                for member in TestRightStatement.passcodeMembers { $0.document.members[member] = nil }
            }
        }
    }

    @Test func `a key whose rule can do without the passcode does not lie below that parent`() throws {
        let below = try TestRightStatement()
        for right in [Recording.Right.open, .either] {
            try expectRefusal(.passcodeParent, of: right) {
                for member in TestRightStatement.passcodeMembers { $0.document[member] = below.document[member] }
            }
        }
    }

    @Test func `the parent asks for the index's value, and for nothing less`() throws {
        for attribute in KeyArea.Attributes.each {
            try expectRefusal(.passcodeParent) { try $0.document.change("parent") { $0.toggle(attribute) } }
        }
        let index = TPMName.of(try #require(try TestRightStatement().document["index"]))
        let policies = [
            TPMPolicy(digest: [UInt8](repeating: 0, count: 32)), .creation, .secret(of: index),
            .any(of: [.creation, .secret(of: TPMName.ownerHierarchy)]),
            .any(of: [.secret(of: index), .creation]), .any(of: [.creation, .secret(of: index), .changeOfValue]),
        ]
        for policy in policies {
            try expectRefusal(.passcodeParent) { try $0.document.change("parent") { $0.setPolicy(policy.digest) } }
        }
    }

    // MARK: the index

    @Test func `the words are on the index that is shown, from its beginning`() throws {
        try expectRefusal(.subject(.index)) { $0.changeIndexInfo = { $0.name[5] ^= 1 } }
        try expectRefusal(.subject(.index)) { $0.changeIndexInfo = { $0.name = [] } }
        let ten: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 10]
        try expectRefusal(.subject(.index)) { $0.changeIndexInfo = { $0.rest = [0, 1] + sized(ten) } }
        for content in [[], Array(ten.dropLast()), ten + [0]] {
            try expectRefusal(.subject(.index)) { $0.changeIndexInfo = { $0.rest = [0, 0] + sized(content) } }
        }
    }

    @Test func `the index counts, at most ten, and tells its count`() throws {
        for limit in [1, 10] as [UInt8] {
            var statement = try TestRightStatement()
            statement.changeIndexInfo = { $0.rest = [0, 0] + sized([0, 0, 0, 3, 0, 0, 0, limit]) }
            #expect(
                try statement.verify().passcode
                    == RightAttestation.CountedPasscode(wrongCount: 3, limit: UInt32(limit)))
        }
        for limit in [[0, 0, 0, 0], [0, 0, 0, 11], [1, 0, 0, 0], [0xFF, 0xFF, 0xFF, 0xFF]] as [[UInt8]] {
            try expectRefusal(.index) { $0.changeIndexInfo = { $0.rest = [0, 0] + sized([0, 0, 0, 0] + limit) } }
        }
    }

    @Test func `the index is one that counts wrong values, and that nobody else can write`() throws {
        // Handle (4), hash (2), attributes (4), policy with its size (34), size (2).
        for bit in 0..<32 {
            try expectRefusal(.index) { try $0.changeIndex { $0[6 + bit / 8] ^= 1 << UInt8(bit % 8) } }
        }
        for handle: [UInt8] in [
            [0x01, 0x00, 0, 0], [0x01, 0x7F, 0xFF, 0xFF], [0x01, 0xC0, 0, 0], [0x81, 0x80, 0, 0],
        ] {
            try expectRefusal(.index) { try $0.changeIndex { $0.replaceSubrange(0..<4, with: handle) } }
        }
        try expectRefusal(.index) { try $0.changeIndex { $0[5] = 0x0C } }
        try expectRefusal(.index) { try $0.changeIndex { $0[12] ^= 1 } }
        try expectRefusal(.index) { try $0.changeIndex { $0[45] = 9 } }
        try expectRefusal(.index) { try $0.document.change("writing") { $0[0] ^= 1 } }
        for count in [0, 31] {
            try expectRefusal(.index) { try $0.document.change("writing") { $0 = Array($0.prefix(count)) } }
        }
        try expectRefusal(.index) { try $0.document.change("writing") { $0.append(0) } }
        let area = try #require(try TestRightStatement().document["index"])
        for count in area.indices {
            try expectRefusal(.index) { try $0.changeIndex { $0 = Array($0.prefix(count)) } }
        }
        try expectRefusal(.index) { try $0.changeIndex { $0.append(0) } }
    }

    @Test func `an index of either version is taken, and no mixture of the two`() throws {
        let writing = TPMPolicy(digest: try #require(try TestRightStatement().document["writing"]))
        let former = TPMPolicy.any(of: [writing, .changeOfValue])
        let present = TPMPolicy.any(of: [writing, .changeOfValue] + TPMPolicy.reading)
        // Byte 7 has the bits 16 to 23 of the attributes. Bit 19 lets a policy read.
        func change(_ isReadByPolicy: Bool, _ policy: TPMPolicy) -> (inout TestRightStatement) throws -> Void {
            { statement in
                try statement.changeIndex {
                    $0[7] = isReadByPolicy ? $0[7] | 0x08 : $0[7] & ~0x08
                    $0.replaceSubrange(12..<44, with: policy.digest)
                }
            }
        }
        for (isReadByPolicy, policy) in [(false, former), (true, present)] {
            var statement = try TestRightStatement()
            try change(isReadByPolicy, policy)(&statement)
            try statement.verify()
        }
        let others = [
            present, .any(of: [writing] + TPMPolicy.reading), .any(of: TPMPolicy.reading),
            .any(of: TPMPolicy.reading + [writing, .changeOfValue]),
            .any(of: [writing, .changeOfValue, .creation] + TPMPolicy.reading),
            .any(of: [writing, .changeOfValue, TPMPolicy.reading[0]]),
        ]
        for policy in others { try expectRefusal(.index, change(false, policy)) }
        for policy in [former] + others.dropFirst() { try expectRefusal(.index, change(true, policy)) }
    }

    @Test func `the chip was not restarted between its words`() throws {
        // Milliseconds, resets, restarts.
        for place in [11, 15] { try expectRefusal(.restarted) { $0.changeIndexInfo = { $0.clock[place] &+= 1 } } }
        var later = try TestRightStatement()
        later.changeIndexInfo = { $0.clock[7] &+= 1 }
        try later.verify()
    }

    // MARK: documents

    @Test(arguments: Recording.Right.allCases)
    func `members are there, of their types, and no others`(_ right: Recording.Right) throws {
        let statement = try TestRightStatement(right)
        let signed = try statement.signed()
        for defect in signed.defects() where !(right == .confirming && defect.name == "approver is absent") {
            #expect(throws: RightAttestationError.unreadable(.statement), "\(defect.name)") {
                try RightAttestation(
                    verifying: defect.bytes, challenge: Recording.challenge(), by: statement.signer.known)
            }
        }
        for version in [0, 2, -1] {
            var other = signed
            other.members["ver"] = .number(version)
            #expect(throws: RightAttestationError.version(.statement)) { try statement.verify(other) }
        }
    }
}

extension Rule {
    /// Whether both texts make the same requirement.
    fileprivate static func means(_ left: String, _ right: String) -> Bool {
        guard let left = try? Requirement(Rule(parsing: left)), let right = try? Requirement(Rule(parsing: right))
        else { return false }
        return left == right
    }
}
