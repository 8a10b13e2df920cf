import AccessControl
import OstiaryMessages
import PromptProtocol
import Testing

@testable import BrokerTestSupport

@Suite("Making a right")
struct CreationTests {
    /// What ought to come out, said without the planner: no sensor, no security key.
    private func expected(
        _ rule: Requirement, _ availability: AvailabilityClass, passcodeIsSet: Bool
    ) -> WireFailureCode? {
        if rule.factors.contains(.securityKey) { return .companionNotAvailable }
        if rule.factors.contains(.biometryCurrentSet) { return .biometryNotAvailable }
        let needsPasscode = !rule.factors.isDisjoint(with: [.passcode, .biometry]) || availability == .whenPasscodeSet
        if needsPasscode && !passcodeIsSet { return .passcodeNotSet }
        return SmallRules.creatable.contains(rule) ? nil : .biometryNotAvailable
    }

    @Test func `all small rules are there`() {
        #expect(SmallRules.all.count == 10)
        #expect(SmallRules.creatable.count == 6)
    }

    @Test(arguments: AvailabilityClass.allCases, [false, true])
    func `a right that nobody could use here is not made`(availability: AvailabilityClass, passcodeIsSet: Bool) throws {
        let fixture = try BrokerFixture()
        if passcodeIsSet { try fixture.setPasscode() }
        let foreign = try [
            Requirement(anyOf: [.securityKey]), Requirement(anyOf: [.passcode, .securityKey]),
            Requirement(anyOf: [[.passcode, .securityKey]]), Requirement(anyOf: [.biometryCurrentSet, .passcode]),
        ]
        for (number, rule) in (SmallRules.all + foreign).enumerated() {
            let code = try refusal { try fixture.create("\(number)", rule, availability) }
            #expect(code == expected(rule, availability, passcodeIsSet: passcodeIsSet), "\(rule) \(availability)")
            let found = try refusal { _ = try fixture.client().find("\(number)") }
            #expect(found == (code == nil ? nil : .notFound))
        }
    }

    @Test(arguments: [AccessControl.Operation.sign, .read])
    func `one use that nobody could prove is enough to refuse a right`(unusable: AccessControl.Operation) throws {
        let fixture = try BrokerFixture()
        try fixture.setPasscode()
        let client = try fixture.client()
        var requirements: [AccessControl.Operation: Requirement] = [
            .create: .unrestricted, .delete: .unrestricted, .change: .unrestricted,
            .sign: try Requirement(anyOf: [.passcode]), .read: try Requirement(anyOf: [.passcode]),
        ]
        requirements[unusable] = try Requirement(anyOf: [.biometry])
        let accessControl = try AccessControl(availability: .whenUnlocked, requirements: requirements)
        #expect(try refusal { try client.create("right", accessControl) } == .biometryNotAvailable)
        #expect(try refusal { _ = try client.createKey(.p256, accessControl) } == .biometryNotAvailable)
        #expect(try refusal { try client.addItem([:], accessControl: accessControl) } == .biometryNotAvailable)
    }

    @Test func `making a right asks nobody, but for an application password`() throws {
        let fixture = try BrokerFixture()
        try fixture.setPasscode()
        try fixture.restart()
        for rule in SmallRules.creatable {
            try fixture.create("\(rule)", rule, .whenUnlocked)
            #expect(
                fixture.prompter.askedKinds
                    == (rule.factors.contains(.applicationPassword)
                        ? [.newApplicationPassword, .repeatApplicationPassword] : []))
        }
        #expect(try !fixture.client().status().unlockedSinceStart)
    }

    @Test(arguments: [AccessControl.Operation.create, .delete, .change])
    func `a rule that would not be asked for is refused`(operation: AccessControl.Operation) throws {
        let fixture = try BrokerFixture()
        try fixture.setPasscode()
        let passcode = try Requirement(anyOf: [.passcode])
        let accessControl = try AccessControl(
            availability: .whenUnlocked, requirements: [.sign: passcode, operation: passcode])
        #expect(try refusal { try fixture.client().create("right", accessControl) } == .invalidRule)
    }

    @Test func `a right that nobody may delete stays`() throws {
        let fixture = try BrokerFixture()
        let client = try fixture.client()
        let eternal = try AccessControl(availability: .always, requirements: [.sign: .unrestricted])
        let right = try client.create("eternal", eternal)
        #expect(try refusal { try client.remove("eternal") } == .operationNotPermitted)
        #expect(try refusal { try client.removeAll() } == .operationNotPermitted)
        #expect(try refusal { try client.create("eternal", eternal, replace: true) } == .operationNotPermitted)
        #expect(try client.find("eternal") == right)
    }

    @Test func `a name that is in use keeps its key unless it is to be replaced`() throws {
        let fixture = try BrokerFixture()
        let client = try fixture.client()
        let open = AccessControl(availability: .always, using: .unrestricted)
        let first = try client.create("right", open, secret: "first")
        let context = try client.openContext()
        _ = try client.authorize(first, in: context)
        #expect(try refusal { try client.create("right", open, secret: "second") } == .duplicate)
        #expect(try client.find("right") == first)
        #expect(try client.secret(of: first, in: context) == "first")

        let second = try client.create("right", open, secret: "second", replace: true)
        #expect(second.rightID != first.rightID && second.publicKey != first.publicKey)
        #expect(try refusal { _ = try client.secret(of: first, in: context) } == .notAuthorized)
        #expect(try refusal { _ = try client.authorize(first, in: context) } == .notFound)
        #expect(try client.list() == [second])
    }
}
