import AccessControl
import Foundation
import Testing

@testable import KeySlots

@Suite struct SlotSealerTests {
    private let ring = KeyRing.shared

    private func seal(
        _ alternatives: [FactorSet], without missing: KeyRole? = nil, secret: Data = Sample.accessSecretBytes,
        enrolmentID: Data? = Sample.enrolmentID
    ) throws(SlotError) -> [KeySlot] {
        try SlotSealer.seal(
            Sample.secret(secret), alternatives: alternatives, header: Sample.header(),
            publicHalves: { $0 == missing ? nil : ring.publicHalf($0) }, enrolmentID: enrolmentID)
    }

    @Test func `there is one slot per alternative, numbered in order`() throws {
        let slots = try Sample.slots([.passcode, [.biometry, .securityKey], .applicationPassword])
        #expect(slots.map(\.number) == [0, 1, 2])
        #expect(slots.map(\.factors) == [.passcode, [.biometry, .securityKey], .applicationPassword])
    }

    @Test func `layers lie in the order security key, biometry, passcode, class`() throws {
        let slots = try Sample.slots([[.passcode, .biometry, .securityKey, .applicationPassword], []])
        #expect(slots[0].layers.map(\.role) == [.securityKey, .biometry, .passcode, .classKey(.whenUnlocked)])
        #expect(slots[1].layers.map(\.role) == [.classKey(.whenUnlocked)])
    }

    @Test func `only slots that ask for them carry password parameters and enrolment`() throws {
        let slots = try Sample.slots([.applicationPassword, .biometryCurrentSet, .passcode])
        #expect(slots.map(\.passwordParameters) == [Sample.passwordParameters, nil, nil])
        #expect(slots.map(\.enrolmentID) == [nil, Sample.enrolmentID, nil])
    }

    @Test func `the enrolled set has biometry's key`() throws {
        let slot = try Sample.slots([.biometryCurrentSet])[0]
        #expect(slot.layers.map(\.role) == [.biometry, .classKey(.whenUnlocked)])
        #expect(try Sample.open(slot, with: ring(.biometry, .classKey(.whenUnlocked))) == Sample.accessSecretBytes)
    }

    @Test(arguments: [KeyRole.passcode, .biometry, .securityKey, .classKey(.whenUnlocked)])
    func `a missing public half is named and nothing is sealed`(role: KeyRole) {
        #expect(throws: SlotError.missingPublicHalf(role)) {
            _ = try seal([[.passcode, .biometry, .securityKey]], without: role)
        }
    }

    @Test func `slots of an SSH key are bound to its constraints, and other headers keep their bytes`() throws {
        func header(_ constraints: [UInt8]) -> SlotHeader {
            let plain = Sample.header()
            return SlotHeader(
                storeID: plain.storeID, ownerID: plain.ownerID, objectID: plain.objectID,
                availability: plain.availability, accessControl: plain.accessControl, accessGroup: plain.accessGroup,
                sshConstraints: Data(constraints))
        }
        #expect(header([]) == Sample.header() && header([]).encoded.first == 1)
        #expect(header([1, 4]).encoded == Data([2]) + Sample.header().encoded.dropFirst() + [0, 0, 0, 2, 1, 4])
        let slot = try Sample.slots([.passcode], header: header([1, 4]))[0]
        #expect(try Sample.open(slot, header: header([1, 4])) == Sample.accessSecretBytes)
        for other in [[], [1, 0], [1, 4, 0]] as [[UInt8]] {
            #expect(throws: SlotError.refused) { try Sample.open(slot, header: header(other)) }
        }
    }

    @Test func `a public half of another role counts as missing`() {
        #expect(throws: SlotError.missingPublicHalf(.passcode)) {
            _ = try SlotSealer.seal(
                Sample.accessSecret, alternatives: [.passcode], header: Sample.header(),
                publicHalves: { ring.publicHalf($0 == .passcode ? .biometry : $0) })
        }
    }

    @Test func `a public half that is no key is refused`() {
        for bytes in [Data(), Data(count: 1215), Data(count: 1217), Data(repeating: 0xff, count: 1216)] {
            #expect(throws: SlotError.invalidPublicHalf(.passcode), "\(bytes.count) bytes") {
                _ = try SlotSealer.seal(
                    Sample.accessSecret, alternatives: [.passcode], header: Sample.header(),
                    publicHalves: { role in
                        role == .passcode
                            ? PublicHalf(role: role, epoch: 1, bytes: bytes) : ring.publicHalf(role)
                    })
            }
        }
    }

    @Test func `rules that cannot be are not sealed`() {
        let rules: [[FactorSet]] = [
            [], [.passcode, .passcode], [[.biometry, .biometryCurrentSet]], [FactorSet(rawValue: 0x20)],
            [FactorSet(rawValue: 0xff)], (0..<8).map { FactorSet(rawValue: $0) },
        ]
        for rule in rules {
            #expect(throws: SlotError.invalidAlternatives, "\(rule.map(\.rawValue))") { _ = try seal(rule) }
        }
    }

    @Test func `an application password must be there when it is sealed`() {
        #expect(throws: SlotError.missingApplicationPassword) { _ = try seal([[.passcode, .applicationPassword]]) }
    }

    @Test func `the current set cannot be sealed without its identifier`() {
        #expect(throws: SlotError.missingEnrolmentID) { _ = try seal([.biometryCurrentSet], enrolmentID: nil) }
    }

    @Test(arguments: [0, 256])
    func `identifiers and parameters of a size without room are refused`(count: Int) {
        #expect(throws: SlotError.invalidParameterSize) {
            _ = try seal([.biometryCurrentSet], enrolmentID: Data(count: count))
        }
        #expect(throws: SlotError.invalidParameterSize) {
            _ = try SlotSealer.seal(
                Sample.accessSecret, alternatives: [.applicationPassword], header: Sample.header(),
                publicHalves: ring.publicHalf,
                applicationPassword: ApplicationPassword(
                    stretchedKey: Sample.stretchedPassword, parameters: Data(count: count)))
        }
    }

    @Test(arguments: [0, 31, 33])
    func `an access secret has 32 bytes`(count: Int) {
        #expect(throws: SlotError.invalidAccessSecret) { _ = try seal([.passcode], secret: Data(count: count)) }
    }

    @Test func `sealing twice gives different bytes, and the secret is in none of them`() throws {
        let alternatives: [FactorSet] = [.passcode, [.biometryCurrentSet, .applicationPassword], .securityKey, []]
        let first = KeySlot.encode(try Sample.slots(alternatives))
        let second = KeySlot.encode(try Sample.slots(alternatives))
        #expect(first != second)
        for bytes in [first, second] {
            for start in stride(from: 0, through: 24, by: 8) {
                #expect(bytes.range(of: Sample.accessSecretBytes[start..<start + 8]) == nil)
            }
            #expect(bytes.range(of: Data(repeating: 0x5a, count: 8)) == nil)
        }
    }
}
