import AccessControl
import Foundation
import Testing

@testable import KeySlots

/// What raw key material opens, over all small rules: for every rule, class and set of keys at hand, a slot opens
/// exactly when an alternative of the rule is among them together with the class key.
@Suite struct TruthTableTests {
    /// The factors that a key of their own stands for.
    private static let keyBearing: [FactorSet] = [.passcode, .biometry, .securityKey, .applicationPassword]

    /// Every subset of the key-bearing factors.
    private static let sets: [FactorSet] = (0..<16).map { bits in
        FactorSet(keyBearing.indices.filter { bits & (1 << $0) != 0 }.map { keyBearing[$0] })
    }

    /// Every rule over the key-bearing factors: each non-empty set of subsets of which none contains another one.
    static let rules: [[FactorSet]] = (1..<(1 << 16)).compactMap { (bits: Int) -> [FactorSet]? in
        guard bits.nonzeroBitCount <= 6 else { return nil }  // The width of the lattice of four factors.
        let rule = sets.indices.filter { bits & (1 << $0) != 0 }.map { sets[$0] }
        for set in rule where rule.contains(where: { $0 != set && $0.isSubset(of: set) }) { return nil }
        return rule
    }

    private static let ring = KeyRing.shared

    private static func halves(for held: FactorSet) -> [PrivateHalf] {
        var roles: [KeyRole] = []
        if held.contains(.passcode) { roles.append(.passcode) }
        if held.contains(.biometry) { roles.append(.biometry) }
        if held.contains(.securityKey) { roles.append(.securityKey) }
        return roles.compactMap { ring.halves[$0] }
    }

    @Test func `there are as many rules as antichains`() {
        // Dedekind's number of antichains of four elements is 168; one of them is empty and no rule.
        #expect(Self.rules.count == 167)
        #expect(Set(Self.rules.map(Set.init)).count == 167)
    }

    /// A slot depends on its own alternative and not on the other ones of its rule (the next test seals whole rules),
    /// so each alternative is sealed once per class and tried with every set of keys, and rules are looked up in the
    /// result.
    @Test(arguments: AvailabilityClass.allCases)
    func `a rule opens exactly for an alternative and the class together`(availability: AvailabilityClass) throws {
        let header = Sample.header(availability: availability)
        let classKey = Self.ring(.classKey(availability))
        var opened: [FactorSet: Set<FactorSet>] = [:]
        for alternative in Self.sets {
            let slot = try Sample.slots([alternative], header: header)[0]
            opened[alternative] = Set(Self.sets.filter { Self.opens(slot, header: header, classKey, $0) })
            for held in Self.sets {
                #expect(!Self.opens(slot, header: header, [], held), "\(alternative) with \(held), no class key")
            }
        }
        for rule in Self.rules {
            for held in Self.sets {
                let expected = rule.contains { $0.isSubset(of: held) }
                let result = try rule.contains { try #require(opened[$0]).contains(held) }
                #expect(result == expected, "\(rule) with \(held)")
            }
        }
    }

    /// Opens with the product's opener; every failure must be a missing key or password, since nothing here is forged.
    private static func opens(
        _ slot: KeySlot, header: SlotHeader, _ classKey: [PrivateHalf], _ held: FactorSet
    ) -> Bool {
        do {
            let secret = try Sample.open(
                slot, header: header, with: classKey + halves(for: held), password: held.contains(.applicationPassword))
            #expect(secret == Sample.accessSecretBytes)
            return true
        } catch .missingKey, .missingApplicationPassword {
            return false
        } catch {
            Issue.record(error)
            return false
        }
    }

    /// Which keys open a layer does not depend on what else is at hand, so each key is tried once on each layer and the
    /// sets of keys are looked up in the result.
    @Test func `trying every key on every layer opens no more than the rule says`() throws {
        let header = Sample.header()
        let opener = try StandaloneOpener(
            halves: Self.ring(.classKey(.whenUnlocked), .passcode, .biometry, .securityKey), knowsPassword: true)
        for rule in Self.rules {
            let slots = try Sample.slots(rule, header: header)
            let needed = try slots.map { try opener.keys(opening: $0, header: header) }
            for held in Self.sets {
                let keys = Set((Self.ring(.classKey(.whenUnlocked)) + Self.halves(for: held)).map(\.role))
                let opened = zip(slots, needed).contains { slot, layers in
                    let hasPassword = slot.passwordParameters == nil || held.contains(.applicationPassword)
                    return hasPassword && layers.allSatisfy { !$0.isDisjoint(with: keys) }
                }
                #expect(opened == rule.contains { $0.isSubset(of: held) }, "\(rule) with \(held)")
            }
        }
    }

    @Test(arguments: AvailabilityClass.allCases, AvailabilityClass.allCases)
    func `every factor together opens nothing without the object's own class key`(
        own: AvailabilityClass, held: AvailabilityClass
    ) throws {
        let header = Sample.header(availability: own)
        let slots = try Sample.slots([.passcode, .biometry, .securityKey], header: header)
        let opener = try StandaloneOpener(
            halves: Self.ring(.passcode, .biometry, .securityKey, .classKey(held)), knowsPassword: true)
        #expect(try opener.opensAny(of: slots, header: header) == (own == held))
    }
}
