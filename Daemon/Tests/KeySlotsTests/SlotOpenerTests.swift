import AccessControl
import Crypto
import Foundation
import SecretMemory
import Testing

@testable import KeySlots

@Suite struct SlotOpenerTests {
    private let ring = KeyRing.shared
    private let everything: FactorSet = [.passcode, .biometryCurrentSet, .securityKey, .applicationPassword]

    private func rebuilt(
        _ slot: KeySlot, number: UInt16? = nil, factors: FactorSet? = nil, parameters: Data? = nil,
        enrolmentID: Data? = nil, layers: [KeySlot.Layer]? = nil, ciphertext: Data? = nil
    ) throws -> KeySlot {
        try #require(
            KeySlot(
                binding: SlotBinding(
                    number: number ?? slot.number, factors: factors ?? slot.factors,
                    passwordParameters: parameters ?? slot.passwordParameters,
                    enrolmentID: enrolmentID ?? slot.enrolmentID),
                layers: layers ?? slot.layers, ciphertext: ciphertext ?? slot.ciphertext))
    }

    // MARK: what is missing

    @Test func `the outermost missing key is named, and nothing is tried`() throws {
        let slot = try Sample.slots([everything])[0]
        let order: [KeyRole] = [.classKey(.whenUnlocked), .passcode, .biometry, .securityKey]
        for (index, role) in order.enumerated() {
            let held = order[..<index].compactMap { ring.halves[$0] }
            #expect(throws: SlotError.missingKey(role, epoch: 1)) { _ = try Sample.open(slot, with: held) }
        }
    }

    @Test func `a key of another epoch is not the key`() throws {
        let slot = try Sample.slots([.passcode])[0]
        let newer = try PrivateHalf(generating: .passcode, epoch: 2)
        #expect(throws: SlotError.missingKey(.passcode, epoch: 1)) {
            _ = try Sample.open(slot, with: ring(.classKey(.whenUnlocked)) + [newer])
        }
    }

    @Test func `a missing application password is missing, a wrong one is refused`() throws {
        let slot = try Sample.slots([.applicationPassword])[0]
        #expect(throws: SlotError.missingApplicationPassword) { _ = try Sample.open(slot, password: false) }
        #expect(throws: SlotError.refused) {
            _ = try SlotOpener.open(
                slot, header: Sample.header(), privateHalves: ring.all, applicationPassword: Sample.otherPassword)
        }
    }

    @Test func `a password that no factor asks for changes nothing`() throws {
        let slot = try Sample.slots([.passcode])[0]
        #expect(try Sample.open(slot, password: true) == Sample.accessSecretBytes)
    }

    // MARK: what does not fit

    @Test func `other keys of the same roles and epochs are refused`() throws {
        let slot = try Sample.slots([everything])[0]
        for role in slot.layers.map(\.role) {
            let halves = ring.all.filter { $0.role != role } + [KeyRing.foreign.halves[role]].compactMap { $0 }
            #expect(throws: SlotError.refused, "\(role)") { _ = try Sample.open(slot, with: halves) }
        }
    }

    @Test(arguments: [
        Sample.header(store: "store2"), Sample.header(owner: "owner2"), Sample.header(object: "object2"),
        Sample.header(accessControl: Data([1, 3, 1])), Sample.header(accessControl: Data()),
        Sample.header(group: "group2"), Sample.header(group: ""),
        // The same bytes in a row, cut differently.
        Sample.header(store: "stor", owner: "eowner"),
    ])
    func `a slot does not open for another object`(header: SlotHeader) throws {
        for alternative in [everything, .passcode, []] {
            let slot = try Sample.slots([alternative])[0]
            #expect(throws: SlotError.refused) { _ = try Sample.open(slot, header: header) }
        }
    }

    @Test(arguments: AvailabilityClass.allCases.filter { $0 != .whenUnlocked })
    func `a slot of another class than the object's is malformed`(availability: AvailabilityClass) throws {
        let slot = try Sample.slots([.passcode])[0]
        #expect(throws: SlotError.malformed) {
            _ = try Sample.open(slot, header: Sample.header(availability: availability))
        }
    }

    @Test func `a class key that claims to be another class's opens nothing`() throws {
        let slot = try Sample.slots([.passcode])[0]
        let always = try #require(ring.halves[.classKey(.always)])
        let claimed =
            slot.layers.dropLast() + [
                KeySlot.Layer(
                    role: .classKey(.always), epoch: 1, encapsulatedKey: slot.layers[1].encapsulatedKey)
            ]
        let forged = try rebuilt(slot, layers: Array(claimed))
        #expect(throws: SlotError.refused) {
            _ = try Sample.open(
                forged, header: Sample.header(availability: .always), with: [always] + ring(.passcode))
        }
    }

    @Test func `slots swapped between two objects do not open`() throws {
        let header = Sample.header(object: "another object")
        let mine = try Sample.slots([everything])[0]
        let theirs = try Sample.slots([everything], header: header)[0]
        #expect(throws: SlotError.refused) { _ = try Sample.open(theirs) }
        #expect(throws: SlotError.refused) { _ = try Sample.open(mine, header: header) }
    }

    @Test func `slots swapped within an object do not open`() throws {
        let slots = try Sample.slots([.passcode, .biometry])
        let swapped = try rebuilt(slots[0], number: 1)
        #expect(throws: SlotError.refused) { _ = try Sample.open(swapped) }
    }

    @Test func `every changed field of a slot is refused`() throws {
        let slot = try Sample.slots([everything])[0]
        var forged = [
            try rebuilt(slot, number: 7),
            try rebuilt(slot, parameters: Sample.passwordParameters + [0]),
            try rebuilt(slot, enrolmentID: Data("another set".utf8)),
        ]
        for index in slot.layers.indices {
            var layers = slot.layers
            var key = layers[index].encapsulatedKey
            key[700] ^= 1
            layers[index] = KeySlot.Layer(role: layers[index].role, epoch: 1, encapsulatedKey: key)
            forged.append(try rebuilt(slot, layers: layers))
        }
        for index in slot.ciphertext.indices {
            var ciphertext = slot.ciphertext
            ciphertext[index] ^= 0x10
            forged.append(try rebuilt(slot, ciphertext: ciphertext))
        }
        for slot in forged {
            #expect(throws: SlotError.refused) { _ = try Sample.open(slot) }
        }
    }

    @Test func `a changed epoch in any layer is refused even by the key that claims it`() throws {
        let slot = try Sample.slots([everything])[0]
        for index in slot.layers.indices {
            var layers = slot.layers
            layers[index] = KeySlot.Layer(
                role: layers[index].role, epoch: 2, encapsulatedKey: layers[index].encapsulatedKey)
            let forged = try rebuilt(slot, layers: layers)
            let half = try #require(ring.halves[layers[index].role])
            let relabelled = try half.withSeed { seed in
                try PrivateHalf(
                    seed: SecretBytes(copying: seed),
                    publicHalf: PublicHalf(role: half.role, epoch: 2, bytes: half.publicHalf.bytes))
            }
            #expect(throws: SlotError.refused) { _ = try Sample.open(forged, with: ring.all + [relabelled]) }
        }
    }

    @Test func `other factors with the same layers are refused`() throws {
        let biometry = try Sample.slots([.biometry])[0]
        let claimed = try rebuilt(biometry, factors: .biometryCurrentSet, enrolmentID: Sample.enrolmentID)
        #expect(throws: SlotError.refused) { _ = try Sample.open(claimed) }
    }

    @Test func `parts that do not belong together make no slot`() throws {
        let slot = try Sample.slots([[.passcode, .biometry]])[0]
        let binding = slot.binding
        let other = SlotBinding(number: 0, factors: .passcode, passwordParameters: nil, enrolmentID: nil)
        let missingSet = SlotBinding(
            number: 0, factors: [.passcode, .biometryCurrentSet], passwordParameters: nil, enrolmentID: nil)
        #expect(KeySlot(binding: other, layers: slot.layers, ciphertext: slot.ciphertext) == nil)
        #expect(KeySlot(binding: missingSet, layers: slot.layers, ciphertext: slot.ciphertext) == nil)
        #expect(KeySlot(binding: binding, layers: slot.layers.reversed(), ciphertext: slot.ciphertext) == nil)
        #expect(KeySlot(binding: binding, layers: slot.layers.dropLast(), ciphertext: slot.ciphertext) == nil)
        #expect(KeySlot(binding: binding, layers: [], ciphertext: slot.ciphertext) == nil)
        #expect(KeySlot(binding: binding, layers: slot.layers, ciphertext: slot.ciphertext.dropLast()) == nil)
    }

    // MARK: what HPKE does not give

    /// The reason why rows and public halves carry an enclave's authentication code that is checked first.
    @Test func `HPKE authenticates nobody: a slot forged from public halves alone opens`() throws {
        let attackersSecret = Data(repeating: 0xee, count: 32)
        let forged = try SlotSealer.seal(
            Sample.secret(attackersSecret), alternatives: [.passcode], header: Sample.header(),
            publicHalves: ring.publicHalf)[0]
        #expect(try Sample.open(forged) == attackersSecret)
    }
}
