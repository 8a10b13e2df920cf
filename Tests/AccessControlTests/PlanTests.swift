import AccessControl
import Testing

@Suite("The decision")
struct PlanTests {
    private static func requirement(_ text: String) throws -> Requirement { try Requirement(Rule(parsing: text)) }

    private static func availability(_ set: FactorSet) -> FactorAvailability {
        set.factors.reduce(into: FactorAvailability()) { $0[$1] = .available }
    }

    /// Availabilities as machines have them: whoever can check for the current set can check for any finger.
    private static let availableSets = TruthTable.sets.filter { $0 & 0b110 != 0b100 }

    @Test(arguments: [UnlockState.open, .needsPasscode])
    func `for every requirement, held set and availability the plan is what brute force finds`(
        unlock: UnlockState
    ) throws {
        for sets in EveryRequirement.all {
            let requirement = try Requirement(anyOf: sets)
            let table = TruthTable(anyOf: sets)
            let opens = TruthTable.sets.map { table.holds[$0] && (unlock == .open || $0 & 1 == 1) }
            for held in TruthTable.sets {
                for available in Self.availableSets {
                    let found = plan(
                        requirement, held: TruthTable.factorSet(held),
                        available: Self.availability(TruthTable.factorSet(available)), unlock: unlock)
                    let isRight = Self.check(found, opens: opens, held: held, available: available)
                    if !isRight { Issue.record("\(requirement), held \(held), available \(available): \(found)") }
                }
            }
        }
    }

    private static func check(_ plan: Plan, opens: [Bool], held: Int, available: Int) -> Bool {
        let missing = TruthTable.weakest { $0 & ~available == 0 && opens[$0 | held] }
        switch plan {
        case .satisfied(let by):
            let proved = TruthTable.factorSet(held)
            return opens[held] && proved.satisfies(by) && opens[Int(by.rawValue)]
        case .needs(let sets):
            return !opens[held] && !missing.isEmpty && Set(sets) == missing && sets == sets.sorted()
                && sets.count == missing.count
        case .impossible(let reason):
            return !opens[held] && missing.isEmpty && Self.isNotOffered(reason)
        }
    }

    private static func isNotOffered(_ reason: Impossibility) -> Bool {
        if case .unavailable(_, .notOffered) = reason { true } else { false }
    }

    @Test func `what is not permitted is impossible, whatever is held`() {
        #expect(
            plan(nil, held: .all, available: Self.availability(.all), unlock: .open)
                == .impossible(.operationNotPermitted))
        #expect(plan(nil, held: .all, available: [:], unlock: .closed) == .impossible(.operationNotPermitted))
    }

    @Test(arguments: [(UnlockState.closed, Impossibility.locked), (.withoutClassKey, .withoutClassKey)])
    func `without the class key nothing is possible, not even for nothing`(
        unlock: UnlockState, reason: Impossibility
    ) {
        let everything = Self.availability(.all)
        #expect(
            plan(.unrestricted, held: .all, available: everything, unlock: unlock) == .impossible(reason))
    }

    @Test func `nothing is asked for what is unrestricted, unless the class key needs the passcode`() {
        #expect(plan(.unrestricted, held: [], available: [:], unlock: .open) == .satisfied(by: []))
        #expect(
            plan(.unrestricted, held: [], available: [.passcode: .available], unlock: .needsPasscode)
                == .needs([.passcode]))
        #expect(
            plan(.unrestricted, held: .passcode, available: [:], unlock: .needsPasscode) == .satisfied(by: .passcode))
    }

    @Test func `a finger proved before the lock opens nothing after it`() throws {
        let biometry = try Self.requirement("biometry")
        #expect(plan(biometry, held: .biometry, available: [:], unlock: .open) == .satisfied(by: .biometry))
        #expect(
            plan(biometry, held: .biometry, available: [.passcode: .available], unlock: .needsPasscode)
                == .needs([.passcode]))
        #expect(
            plan(
                biometry, held: .biometry, available: [.passcode: .unavailable(.passcodeLockedOut)],
                unlock: .needsPasscode) == .impossible(.unavailable(.passcode, .passcodeLockedOut)))
        #expect(
            plan(biometry, held: [], available: Self.availability(.all), unlock: .needsPasscode)
                == .needs([[.passcode, .biometry]]))
    }

    @Test func `a passcode is not a finger`() throws {
        #expect(
            plan(try Self.requirement("biometry"), held: .passcode, available: [.passcode: .available], unlock: .open)
                == .impossible(.unavailable(.biometry, .notOffered)))
    }

    @Test func `what is held counts although it is not available any more`() throws {
        let both = try Self.requirement("passcode and security-key")
        #expect(
            plan(
                both, held: .passcode,
                available: [.passcode: .unavailable(.passcodeLockedOut), .securityKey: .available], unlock: .open)
                == .needs([.securityKey]))
        #expect(
            plan(both, held: [.passcode, .securityKey], available: [:], unlock: .open)
                == .satisfied(by: [.passcode, .securityKey]))
    }

    @Test func `a factor is provable only if it is said of that factor`() throws {
        #expect(
            plan(
                try Self.requirement("biometry"), held: [], available: [.biometryCurrentSet: .available],
                unlock: .open) == .impossible(.unavailable(.biometry, .notOffered)))
        #expect(
            plan(
                try Self.requirement("biometry-current-set"), held: .biometry, available: [.biometry: .available],
                unlock: .open) == .impossible(.unavailable(.biometryCurrentSet, .notOffered)))
    }

    @Test func `the fewest missing factors come first, then the canonical order`() throws {
        let requirement = try Self.requirement(
            "(passcode and biometry) or (biometry and security-key) or (passcode and security-key)")
        let everything = Self.availability(.all)
        #expect(
            plan(requirement, held: [], available: everything, unlock: .open)
                == .needs([[.passcode, .biometry], [.passcode, .securityKey], [.biometry, .securityKey]]))
        #expect(
            plan(requirement, held: .securityKey, available: everything, unlock: .open)
                == .needs([.passcode, .biometry]))
        #expect(
            plan(requirement, held: .all, available: everything, unlock: .open)
                == .satisfied(by: [.passcode, .biometry]))
    }

    @Test(
        arguments: [
            // Of several alternatives, the reason that is changed most easily.
            (
                "passcode or biometry",
                [.passcode: .unavailable(.passcodeNotSet), .biometry: .unavailable(.biometryNotEnrolled)],
                .passcode, .passcodeNotSet
            ),
            (
                "passcode or biometry",
                [.passcode: .unavailable(.passcodeLockedOut), .biometry: .unavailable(.biometryNotAvailable)],
                .passcode, .passcodeLockedOut
            ),
            (
                "biometry or security-key",
                [.biometry: .unavailable(.biometryLockout), .securityKey: .unavailable(.securityKeyNotEnrolled)],
                .biometry, .biometryLockout
            ),
            // Within one alternative, the reason that is changed least easily: changing the other would not be enough.
            (
                "passcode and biometry",
                [.passcode: .unavailable(.passcodeLockedOut), .biometry: .unavailable(.biometryNotAvailable)],
                .biometry, .biometryNotAvailable
            ),
            // An alternative that lacks an available factor besides is judged by what is not available.
            (
                "(passcode and security-key) or biometry",
                [
                    .passcode: .available, .securityKey: .unavailable(.securityKeyNotPresent),
                    .biometry: .unavailable(.biometryNotAvailable),
                ],
                .securityKey, .securityKeyNotPresent
            ),
            // Reasons alike: the first factor.
            ("security-key or passcode", [:], .passcode, .notOffered),
        ] as [(String, FactorAvailability, Factor, Unavailability)])
    func `an impossible plan names the reason that helps most`(
        text: String, available: FactorAvailability, factor: Factor, reason: Unavailability
    ) throws {
        let requirement = try Self.requirement(text)
        #expect(
            plan(requirement, held: [], available: available, unlock: .open)
                == .impossible(.unavailable(factor, reason)))
    }

    @Test func `unknown bits in a held set prove nothing`() throws {
        let unknown = FactorSet(rawValue: 0b1110_0000)
        #expect(
            plan(try Self.requirement("passcode"), held: unknown, available: [.passcode: .available], unlock: .open)
                == .needs([.passcode]))
    }

    @Test func `a factor that nothing was said about is unavailable`() {
        let availability = FactorAvailability()
        #expect(Factor.allCases.allSatisfy { availability[$0] == .unavailable(.notOffered) })
    }
}
