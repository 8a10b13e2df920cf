import AccessControl
import Foundation
import Testing

@testable import KeySlots

@Suite struct SlotRewrapperTests {
    private let old = KeyRing.shared
    private static let new = KeyRing(epoch: 2)
    private var new: KeyRing { Self.new }

    private let header = Sample.header()
    private let classKey = KeyRole.classKey(.whenUnlocked)
    private let everything: FactorSet = [.passcode, .biometryCurrentSet, .securityKey, .applicationPassword]
    private let rule: [FactorSet] = [
        [.passcode, .securityKey, .applicationPassword], [.biometry, .applicationPassword], [.securityKey, .biometry],
    ]

    private func rewrap(
        _ slots: [KeySlot], replacing roles: Set<KeyRole>, with halves: [PrivateHalf]
    ) throws(SlotError) -> [KeySlot] {
        try SlotRewrapper.rewrap(
            slots, header: header, replacements: { roles.contains($0) ? new.publicHalf($0) : nil },
            privateHalves: halves)
    }

    // MARK: setting a passcode

    @Test func `a new class key replaces the outermost layer alone`() throws {
        let slots = try Sample.slots(rule)
        let rewrapped = try rewrap(slots, replacing: [classKey], with: old(classKey))
        for (before, after) in zip(slots, rewrapped) {
            #expect(after.layers.dropLast() == before.layers.dropLast())
            #expect(after.layers.last?.epoch == 2)
            #expect(after.binding.number == before.number && after.factors == before.factors)
            let halves = old(.passcode, .biometry, .securityKey)
            #expect(try Sample.open(after, with: halves + new(classKey)) == Sample.accessSecretBytes)
        }
    }

    @Test func `the old class key opens nothing afterwards`() throws {
        let rewrapped = try rewrap(try Sample.slots(rule), replacing: [classKey], with: old(classKey))
        for slot in rewrapped {
            #expect(throws: SlotError.missingKey(classKey, epoch: 2)) { _ = try Sample.open(slot, with: old.all) }
        }
        let attacker = try StandaloneOpener(halves: old.all, knowsPassword: true)
        #expect(try !attacker.opensAny(of: rewrapped, header: header))
    }

    @Test func `an object without factors moves to the new class key as well`() throws {
        let rewrapped = try rewrap(try Sample.slots([[]]), replacing: [classKey], with: old(classKey))
        #expect(try Sample.open(rewrapped[0], with: new(classKey)) == Sample.accessSecretBytes)
        #expect(throws: SlotError.missingKey(classKey, epoch: 2)) { _ = try Sample.open(rewrapped[0], with: old.all) }
    }

    // MARK: changing or removing it

    @Test func `class, passcode and biometry are replaced without security key and application password`() throws {
        let roles: Set<KeyRole> = [classKey, .passcode, .biometry]
        let slots = try Sample.slots(rule + [everything])
        let rewrapped = try rewrap(slots, replacing: roles, with: old(classKey, .passcode, .biometry))
        #expect(rewrapped.map(\.factors) == slots.map(\.factors))
        for slot in rewrapped {
            let halves = old(.securityKey) + new(classKey, .passcode, .biometry)
            #expect(try Sample.open(slot, with: halves) == Sample.accessSecretBytes)
        }
        let attacker = try StandaloneOpener(halves: old.all, knowsPassword: true)
        #expect(try !attacker.opensAny(of: rewrapped, header: header))
    }

    @Test func `the inner layers stay byte for byte`() throws {
        let slot = try Sample.slots([everything])[0]
        let after = try rewrap([slot], replacing: [classKey, .passcode], with: old(classKey, .passcode))[0]
        #expect(after.layers.prefix(2) == slot.layers.prefix(2))
        #expect(after.passwordParameters == slot.passwordParameters && after.enrolmentID == slot.enrolmentID)
        #expect(
            try Sample.open(after, with: old(.securityKey, .biometry) + new(classKey, .passcode))
                == Sample.accessSecretBytes)
    }

    @Test func `a layer may be replaced by itself to reach the one inside`() throws {
        let slot = try Sample.slots([.passcode])[0]
        let after = try SlotRewrapper.rewrap(
            [slot], header: header,
            replacements: { role in
                switch role {
                case .passcode: new.publicHalf(.passcode)
                case classKey: old.publicHalf(classKey)
                default: nil
                }
            }, privateHalves: old.all)[0]
        #expect(after.layers.map(\.epoch) == [2, 1])
        #expect(try Sample.open(after, with: old(classKey) + new(.passcode)) == Sample.accessSecretBytes)
    }

    @Test func `rewrapping twice ends at the newest keys`() throws {
        let newest = KeyRing(epoch: 3)
        let once = try rewrap(try Sample.slots(rule), replacing: [classKey], with: old.all)
        let twice = try SlotRewrapper.rewrap(
            once, header: header, replacements: { $0 == classKey ? newest.publicHalf($0) : nil },
            privateHalves: new(classKey))
        for slot in twice {
            #expect(try Sample.open(slot, with: old.all + newest(classKey)) == Sample.accessSecretBytes)
        }
    }

    // MARK: what it refuses

    @Test func `nothing to replace leaves the slots as they are`() throws {
        let slots = try Sample.slots([.securityKey, []])
        #expect(try rewrap(slots, replacing: [.passcode], with: []) == slots)
    }

    @Test func `a layer cannot be replaced under one that stays`() throws {
        let slots = try Sample.slots([everything])
        #expect(throws: SlotError.buriedLayer(classKey)) {
            _ = try rewrap(slots, replacing: [.passcode], with: old.all)
        }
        #expect(throws: SlotError.buriedLayer(.passcode)) {
            _ = try rewrap(slots, replacing: [classKey, .biometry], with: old.all)
        }
    }

    @Test func `a missing private half is named, and no slot is returned`() throws {
        let slots = try Sample.slots([.securityKey, .passcode])
        #expect(throws: SlotError.missingKey(.passcode, epoch: 1)) {
            _ = try rewrap(slots, replacing: [classKey, .passcode], with: old(classKey))
        }
    }

    @Test func `a wrong private half is refused`() throws {
        let slots = try Sample.slots([.passcode])
        #expect(throws: SlotError.refused) {
            _ = try rewrap(slots, replacing: [classKey], with: KeyRing.foreign(classKey))
        }
    }

    @Test func `one bad slot among good ones fails all`() throws {
        let good = try Sample.slots([.passcode, .biometry])
        let foreign = try Sample.slots([.passcode, .biometry], header: Sample.header(object: "another object"))
        #expect(throws: SlotError.refused) {
            _ = try rewrap([good[0], foreign[1]], replacing: [classKey], with: old.all)
        }
    }

    @Test func `slots of another object or class are refused`() throws {
        let slots = try Sample.slots([.passcode])
        for (other, error) in [
            (Sample.header(owner: "another owner"), SlotError.refused),
            (Sample.header(availability: .afterFirstUnlock), SlotError.malformed),
        ] {
            #expect(throws: error) {
                _ = try SlotRewrapper.rewrap(
                    slots, header: other, replacements: { $0 == classKey ? new.publicHalf($0) : nil },
                    privateHalves: old.all)
            }
        }
    }

    @Test func `a replacement of another role is not taken`() throws {
        #expect(throws: SlotError.missingPublicHalf(classKey)) {
            _ = try SlotRewrapper.rewrap(
                try Sample.slots([.passcode]), header: header,
                replacements: { $0 == classKey ? new.publicHalf(.biometry) : nil }, privateHalves: old.all)
        }
    }
}
