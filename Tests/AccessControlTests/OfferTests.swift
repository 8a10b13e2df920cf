import AccessControl
import Testing

@Suite("What is asked for next")
struct OfferTests {
    private static func requirement(_ text: String) throws -> Requirement { try Requirement(Rule(parsing: text)) }

    private static func availability(_ set: Int) -> FactorAvailability {
        TruthTable.factorSet(set).factors.reduce(into: FactorAvailability()) { $0[$1] = .available }
    }

    /// Biometry of which nobody says anything but that it rests.
    private static func resting(_ available: FactorAvailability) -> FactorAvailability {
        var available = available
        available[.biometry] = .unavailable(.biometryRestsUntilPasscode)
        available[.biometryCurrentSet] = .unavailable(.biometryRestsUntilPasscode)
        return available
    }

    /// Plans and offers until the plan is satisfied, in every way in which the person can go; records what breaks a rule.
    private func follow(
        _ requirement: Requirement, held: FactorSet, _ available: FactorAvailability, _ unlock: UnlockState,
        _ check: (_ offered: [Factor], _ missing: [FactorSet], _ available: FactorAvailability) -> Bool
    ) {
        var available = available
        // Entering the passcode ends what rests until then.
        if held.contains(.passcode) {
            for factor in [Factor.biometry, .biometryCurrentSet]
            where available[factor] == .unavailable(.biometryRestsUntilPasscode) { available[factor] = .available }
        }
        guard case .needs(let missing) = plan(requirement, held: held, available: available, unlock: unlock) else {
            return
        }
        let offered = offer(missing, available: available)
        if !check(offered, missing, available) {
            Issue.record("\(requirement), held \(held), \(available), \(unlock): \(offered)")
        }
        for factor in offered {
            let proved = held.union(FactorSet(factor))
            if case .impossible(let reason) = plan(requirement, held: proved, available: available, unlock: unlock),
                reason != .unavailable(.biometry, .biometryRestsUntilPasscode),
                reason != .unavailable(.biometryCurrentSet, .biometryRestsUntilPasscode)
            {
                Issue.record("\(requirement), \(factor) proved on top of \(held): \(reason)")
            }
            follow(requirement, held: proved, available, unlock, check)
        }
    }

    @Test(arguments: [UnlockState.open, .needsPasscode], [false, true])
    func `whichever offered factor is proved, every way leads on, and none is hidden`(
        unlock: UnlockState, biometryRests: Bool
    ) throws {
        for sets in EveryRequirement.all {
            let requirement = try Requirement(anyOf: sets)
            for held in TruthTable.sets {
                for set in TruthTable.sets where set & 0b110 != 0b100 {
                    let machine = Self.availability(set)
                    let available = biometryRests ? Self.resting(machine) : machine
                    follow(requirement, held: TruthTable.factorSet(held), available, unlock, Self.isFair)
                }
            }
        }
    }

    /// What holds of every offer, said without its table.
    private static func isFair(_ offered: [Factor], _ missing: [FactorSet], _ available: FactorAvailability) -> Bool {
        let typed: Set<Factor> = [.passcode, .applicationPassword]
        let isProvable = offered.allSatisfy { factor in
            available[factor] == .available && missing.contains { $0.contains(FactorSet(factor)) }
        }
        let hidesNothing = missing.allSatisfy { way in offered.contains { way.contains(FactorSet($0)) } }
        // One field takes what is typed for one factor.
        let typesOne = offered.filter(typed.contains).count <= 1
        let passwordIsLast = !offered.contains(.applicationPassword) || missing == [.applicationPassword]
        // Both are proved by one sensor.
        let asksOneSensor = !(offered.contains(.biometry) && offered.contains(.biometryCurrentSet))
        return !offered.isEmpty && Set(offered).count == offered.count && isProvable && hidesNothing && typesOne
            && passwordIsLast && asksOneSensor
    }

    private static let everything = availability(0b11111)
    private static let withoutKey = availability(0b10111)

    @Test(
        arguments: [
            ("passcode", [.passcode]),
            ("biometry or passcode", [.biometry, .passcode]),
            ("biometry-current-set or passcode", [.biometryCurrentSet, .passcode]),
            ("passcode or security-key or biometry", [.biometry, .securityKey, .passcode]),
            ("biometry and passcode", [.biometry]),
            ("passcode and security-key", [.securityKey]),
            ("(passcode and biometry) or (biometry and security-key)", [.biometry]),
            ("(passcode and biometry) or security-key", [.biometry, .securityKey]),
            ("biometry-current-set or (biometry and security-key)", [.biometryCurrentSet, .securityKey]),
            ("passcode and application-password", [.passcode]),
            ("application-password", [.applicationPassword]),
            ("(passcode or biometry) and application-password", [.biometry, .passcode]),
        ] as [(String, [Factor])])
    func `a finger comes before typing, an application password last`(text: String, factors: [Factor]) throws {
        let requirement = try Self.requirement(text)
        guard case .needs(let missing) = plan(requirement, held: [], available: Self.everything, unlock: .open) else {
            Issue.record("nothing is needed")
            return
        }
        #expect(offer(missing, available: Self.everything) == factors)
    }

    @Test(arguments: [Unavailability.biometryRestsUntilPasscode, .biometryLockout])
    func `the passcode comes first where biometry waits for it`(reason: Unavailability) throws {
        var available = Self.withoutKey
        available[.biometry] = .unavailable(reason)
        let both = try Self.requirement("biometry and passcode")
        #expect(plan(both, held: [], available: available, unlock: .open) == .needs([[.passcode, .biometry]]))
        #expect(offer([[.passcode, .biometry]], available: available) == [.passcode])
        // Where the passcode is enough, the finger that rests is not offered beside it.
        let either = try Self.requirement("biometry or passcode")
        #expect(plan(either, held: [], available: available, unlock: .open) == .needs([.passcode]))
    }

    @Test func `biometry waits only for a passcode that is asked for and can be proved`() throws {
        var available = Self.withoutKey
        available[.biometry] = .unavailable(.biometryRestsUntilPasscode)
        let rests = Plan.impossible(.unavailable(.biometry, .biometryRestsUntilPasscode))
        #expect(plan(try Self.requirement("biometry"), held: [], available: available, unlock: .open) == rests)
        let both = try Self.requirement("biometry and passcode")
        #expect(plan(both, held: .passcode, available: available, unlock: .open) == rests)
        available[.passcode] = .unavailable(.passcodeLockedOut)
        #expect(plan(both, held: [], available: available, unlock: .open) == rests)
        available[.biometry] = .unavailable(.biometryNotEnrolled)
        available[.passcode] = .available
        #expect(
            plan(both, held: [], available: available, unlock: .open)
                == .impossible(.unavailable(.biometry, .biometryNotEnrolled)))
    }

    @Test func `nothing is offered for nothing`() {
        #expect(offer([], available: Self.everything) == [])
    }

    // MARK: several requirements

    @Test func `all of several requirements are satisfied by what satisfies each`() throws {
        let requirements = try EveryRequirement.all.filter { $0.count <= 2 }.map { try Requirement(anyOf: $0) }
        for (index, first) in requirements.enumerated() {
            for second in requirements.dropFirst(index) {
                let both = Requirement(allOf: [first, second])
                for set in TruthTable.sets {
                    let held = TruthTable.factorSet(set)
                    let mustHold = [first, second].allSatisfy { $0.alternatives.contains(where: held.satisfies) }
                    if both.alternatives.contains(where: held.satisfies) != mustHold {
                        Issue.record("\(first), \(second), held \(held)")
                    }
                }
                if (try? Requirement(anyOf: both.alternatives)) != both { Issue.record("\(both) is not one") }
            }
        }
        #expect(Requirement(allOf: []) == .unrestricted)
    }

    @Test func `a plan depends on the factors that it may ask for, and on no others`() throws {
        let requirement = try Self.requirement("biometry or security-key")
        #expect(requirement.factors(while: .open) == [.biometry, .securityKey])
        #expect(requirement.factors(while: .needsPasscode) == [.biometry, .securityKey, .passcode])
        #expect(Requirement.unrestricted.factors(while: .needsPasscode) == .passcode)
    }
}
