import AccessControl
import SeededRandomness
import Testing

@Suite("Access controls")
struct AccessControlTests {
    private static func requirement(_ text: String) throws -> Requirement { try Requirement(Rule(parsing: text)) }

    @Test func `the usual access control guards every use, frees create and delete, and permits no change`() throws {
        let requirement = try Self.requirement("biometry or passcode")
        let control = AccessControl(availability: .whenUnlocked, using: requirement)
        #expect(control.availability == .whenUnlocked)
        #expect(control.keyRequirement == requirement)
        for operation in [AccessControl.Operation.read, .sign, .decrypt, .keyExchange] {
            #expect(control[operation] == requirement)
        }
        #expect(control[.create] == .unrestricted)
        #expect(control[.delete] == .unrestricted)
        #expect(control[.change] == nil)
        #expect(try AccessControl(canonicalBytes: control.canonicalBytes) == control)
    }

    @Test func `the usual access control equals the one that is spelled out`() throws {
        for text in ["unrestricted", "passcode", "application-password and passcode"] {
            let requirement = try Self.requirement(text)
            let spelledOut = try AccessControl(
                availability: .always,
                requirements: [
                    .create: .unrestricted, .delete: .unrestricted, .read: requirement, .sign: requirement,
                    .decrypt: requirement, .keyExchange: requirement,
                ])
            #expect(AccessControl(availability: .always, using: requirement) == spelledOut)
        }
    }

    @Test func `slots are compiled from the uses alone`() throws {
        let control = try AccessControl(
            availability: .always,
            requirements: [
                .sign: Self.requirement("passcode and biometry"), .read: Self.requirement("passcode or security-key"),
                .delete: .unrestricted, .create: .unrestricted, .change: Self.requirement("biometry"),
            ])
        #expect(control.keyRequirement.alternatives == [.passcode, .securityKey])
        #expect(control.operations == [.create, .read, .sign, .delete, .change])
    }

    @Test func `whoever satisfies the requirement of a use satisfies the requirement of the slots`() throws {
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<200 {
            let chosen = (0..<3).map { _ in EveryRequirement.all.randomElement(using: &generator)! }
            let uses = try zip([AccessControl.Operation.read, .sign, .decrypt], chosen).map {
                ($0, try Requirement(anyOf: $1))
            }
            guard
                let control = try? AccessControl(
                    availability: .always, requirements: Dictionary(uniqueKeysWithValues: uses))
            else { continue }
            for alternative in uses.flatMap(\.1.alternatives) {
                #expect(control.keyRequirement.alternatives.contains { alternative.satisfies($0) })
            }
        }
    }

    @Test(
        arguments: [
            [:], [.create: "unrestricted"], [.delete: "passcode"], [.create: "passcode", .change: "passcode"],
        ] as [[AccessControl.Operation: String]])
    func `an object that nothing may be done with is refused`(texts: [AccessControl.Operation: String]) throws {
        let requirements = try texts.mapValues(Self.requirement)
        #expect(throws: AccessControlError.withoutUse) {
            try AccessControl(availability: .always, requirements: requirements)
        }
    }

    @Test(
        arguments: [
            [.read: "application-password", .sign: "passcode"],
            [.read: "application-password", .sign: "unrestricted"],
            [.read: "passcode and application-password", .sign: "passcode"],
            [.sign: "passcode", .delete: "application-password"],
            [.sign: "passcode", .change: "passcode and application-password"],
        ] as [[AccessControl.Operation: String]])
    func `an application password that some use does without is refused`(
        texts: [AccessControl.Operation: String]
    ) throws {
        let requirements = try texts.mapValues(Self.requirement)
        #expect(throws: AccessControlError.applicationPasswordNotInEveryUse) {
            try AccessControl(availability: .always, requirements: requirements)
        }
    }

    @Test func `an application password in every use may differ in the rest, and change may ask for it`() throws {
        let control = try AccessControl(
            availability: .always,
            requirements: [
                .read: Self.requirement("application-password and passcode"),
                .sign: Self.requirement("application-password and security-key"),
                .change: Self.requirement("application-password"), .delete: .unrestricted,
            ])
        #expect(
            control.keyRequirement.alternatives
                == [[.passcode, .applicationPassword], [.securityKey, .applicationPassword]])
    }

    @Test func `names and raw values stand for good`() {
        #expect(AccessControl.Operation.allCases.map(\.rawValue) == [1, 2, 3, 4, 5, 6, 7])
        #expect(
            AccessControl.Operation.allCases.map(\.name)
                == ["create", "read", "sign", "decrypt", "key-exchange", "delete", "change"])
        #expect(AvailabilityClass.allCases.map(\.rawValue) == [1, 2, 3, 4])
        #expect(
            AvailabilityClass.allCases.map(\.name)
                == ["always", "after-first-unlock", "when-unlocked", "when-passcode-set"])
        #expect(AvailabilityClass.allCases.allSatisfy { AvailabilityClass(name: $0.name) == $0 })
        #expect(AvailabilityClass(name: "Always") == nil)
    }

    @Test(
        arguments: [
            (.passcode, .keyBound, .hardwareBound),
            (.securityKey, .keyBound, .hardwareBound),
            (.applicationPassword, .keyBound, .hardwareBound),
            (.biometry, .brokerBound, .brokerBound),
            (.biometryCurrentSet, .brokerBound, .brokerBound),
        ] as [(Factor, Strength, Strength)])
    func `a factor that yields a key is bound to it, a finger to the broker`(
        factor: Factor, software: Strength, hardware: Strength
    ) {
        #expect(factor.strength(inHardware: false) == software)
        #expect(factor.strength(inHardware: true) == hardware)
    }

    @Test func `labels are ordered from the weakest`() {
        #expect(Strength.allCases.sorted() == [.touchOnly, .brokerBound, .keyBound, .hardwareBound])
        #expect(
            Strength.allCases.map(\.description) == ["touch-only", "broker-bound", "key-bound", "hardware-bound"])
    }
}
