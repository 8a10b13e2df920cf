import AccessControl
import KeySlots
import OstiaryMessages
import Owners
import PromptProtocol
import SecretMemory
import Testing
import Vault

@testable import Broker
@testable import BrokerTestSupport
@testable import OwnerKeys

/// The two truth tables: what the broker grants, and what the keys that it then holds open by themselves.
@Suite("Over all small rules")
struct GrantTableTests {
    enum Moment: CaseIterable { case beforeFirstUnlock, unlocked, locked }

    /// What the person does when asked.
    enum Behaviour: CaseIterable {
        case provesAll, wrongPasscode, wrongApplicationPassword, cancels

        var proved: FactorSet {
            switch self {
            case .provesAll: [.passcode, .applicationPassword]
            case .wrongPasscode: .applicationPassword
            case .wrongApplicationPassword: .passcode
            case .cancels: []
            }
        }

        func answer(_ kind: PromptKind) -> ScriptedPrompter.Answer {
            switch (self, kind) {
            case (.cancels, _): .cancel
            case (.wrongPasscode, .enterPasscode), (.wrongApplicationPassword, .applicationPassword): .text("not this")
            case (_, .enterPasscode): .text(BrokerFixture.passcode)
            case (_, .applicationPassword): .text(BrokerFixture.applicationPassword)
            default: .cancel
            }
        }
    }

    /// What security.md's model says is in memory: nothing of it is read from the broker.
    struct Machine {
        var wasUnlocked = false
        var isUnlocked = false

        mutating func prove(_ factors: FactorSet) {
            guard factors.contains(.passcode) else { return }
            (wasUnlocked, isUnlocked) = (true, true)
        }

        func isOpen(_ availability: AvailabilityClass) -> Bool {
            switch availability {
            case .always: true
            case .afterFirstUnlock: wasUnlocked
            case .whenUnlocked, .whenPasscodeSet: isUnlocked
            }
        }

        /// The factors whose keys lie in memory: passcode entered implies biometry, until the daemon ends.
        var keysOfFactors: FactorSet { wasUnlocked ? .biometry : [] }
    }

    /// A fixture that is brought into each moment, with one right per rule, all of one class.
    private func withRights(
        of availability: AvailabilityClass, _ body: (BrokerFixture, Moment, inout Machine) throws -> Void
    ) throws {
        let fixture = try BrokerFixture()
        try fixture.setPasscode()
        for rule in SmallRules.creatable { try fixture.create("\(rule)", rule, availability) }
        var machine = Machine(wasUnlocked: true, isUnlocked: true)
        for moment in Moment.allCases { try body(fixture, moment, &machine) }
    }

    private func bring(_ fixture: BrokerFixture, to moment: Moment, _ machine: inout Machine) throws {
        if moment == .beforeFirstUnlock {
            guard machine.wasUnlocked else { return }
            try fixture.restart()
            machine = Machine()
            return
        }
        if !machine.wasUnlocked || (moment == .unlocked && !machine.isUnlocked) {
            try fixture.unlock()
            machine.prove(.passcode)
        }
        if moment == .locked {
            try fixture.client().lock()
            machine.isUnlocked = false
        }
    }

    /// The brute-force evaluator: some alternative and the class key, out of what is proved.
    private func grants(_ rule: Requirement, classIsOpen: Bool, proved: FactorSet) -> Bool {
        rule.alternatives.contains { $0.isSubset(of: proved) } && (classIsOpen || proved.contains(.passcode))
    }

    /// The least that has to be proved without a sensor.
    private func least(_ rule: Requirement, classIsOpen: Bool) -> FactorSet {
        rule.alternatives.filter { !$0.contains(.biometry) }.map { $0.union(classIsOpen ? [] : .passcode) }
            .min { $0.rawValue.nonzeroBitCount < $1.rawValue.nonzeroBitCount } ?? []
    }

    @Test(arguments: AvailabilityClass.allCases)
    func `the broker grants what the rule says, and its keys open no more than the model says`(
        availability: AvailabilityClass
    ) throws {
        try withRights(of: availability) { fixture, moment, machine in
            for rule in SmallRules.creatable {
                for behaviour in Behaviour.allCases {
                    try bring(fixture, to: moment, &machine)
                    let classIsOpen = machine.isOpen(availability)
                    let least = least(rule, classIsOpen: classIsOpen)
                    let mustGrant = grants(rule, classIsOpen: classIsOpen, proved: behaviour.proved)
                    let comment: Comment = "\(rule), \(availability), \(moment), \(behaviour)"

                    fixture.prompter.prepare([])
                    fixture.prompter.always { behaviour.answer($0.kind) }
                    defer { fixture.prompter.always(nil) }
                    let client = try fixture.client()
                    let context = try client.openContext()
                    let right = try client.find("\(rule)")
                    var factors: [String]?
                    let code = try refusal { factors = try client.authorize(right, in: context) }
                    if mustGrant {
                        #expect(factors == least.factors.map(\.name), comment)
                        #expect(try client.sign(right, in: context), comment)
                        #expect(try client.secret(of: right, in: context) == "secret of \(rule)", comment)
                    } else {
                        #expect(code == (behaviour == .cancels ? .userCancel : .authenticationFailed), comment)
                        #expect(try refusal { _ = try client.sign(right, in: context) } == .notAuthorized, comment)
                        #expect(
                            try refusal { _ = try client.secret(of: right, in: context) } == .notAuthorized, comment)
                    }
                    machine.prove(least.intersection(behaviour.proved))
                    try checkRawMaterial(of: fixture, machine, comment)
                    try forgive(behaviour, rule, fixture, &machine)
                }
            }
        }
    }

    /// Wrong tries do not add up to a delay over the rows of the table.
    private func forgive(
        _ behaviour: Behaviour, _ rule: Requirement, _ fixture: BrokerFixture, _ machine: inout Machine
    ) throws {
        guard [.wrongPasscode, .wrongApplicationPassword].contains(behaviour) else { return }
        fixture.prompter.always { Behaviour.provesAll.answer($0.kind) }
        try fixture.client().authorize("\(rule)")
        fixture.prompter.always(nil)
        try fixture.unlock()
        machine.prove(.passcode)
    }

    /// Tries every slot in the store with every key in memory, with and without the application password.
    private func checkRawMaterial(of fixture: BrokerFixture, _ machine: Machine, _ comment: Comment) throws {
        let halves = fixture.account.ring.privateHalves
        #expect(!halves.contains { $0.role == .passcode }, comment)
        for password in [nil, BrokerFixture.applicationPassword] {
            let opener = StandaloneOpener(halves: halves, applicationPassword: password)
            for slot in try fixture.storedSlots() {
                let keys = slot.slot.factors.subtracting(.applicationPassword)
                let mustOpen =
                    machine.isOpen(slot.header.availability) && keys.isSubset(of: machine.keysOfFactors)
                    && (password != nil || !slot.slot.factors.contains(.applicationPassword))
                #expect(
                    opener.opens(slot) == mustOpen, "\(slot.slot.factors), password \(password ?? "none"), \(comment)")
            }
        }
    }

    @Test func `while the passcode is at hand, its key opens every slot, but for application passwords`() throws {
        let fixture = try BrokerFixture()
        try fixture.setPasscode()
        for availability in AvailabilityClass.allCases {
            for rule in SmallRules.creatable { try fixture.create("\(rule) \(availability)", rule, availability) }
        }
        try fixture.restart()
        let proved = try fixture.account.keeper.prove(SecretBytes(text: BrokerFixture.passcode))
        let halves = try fixture.account.life.privateHalves(openedBy: proved)
        #expect(try fixture.storedSlots().count == AvailabilityClass.allCases.count * 8)
        for slot in try fixture.storedSlots() {
            let asksForPassword = slot.slot.factors.contains(.applicationPassword)
            #expect(StandaloneOpener(halves: halves, applicationPassword: nil).opens(slot) == !asksForPassword)
            #expect(
                StandaloneOpener(halves: halves, applicationPassword: BrokerFixture.applicationPassword).opens(slot))
            #expect(StandaloneOpener(halves: halves, applicationPassword: "not this").opens(slot) == !asksForPassword)
        }
    }

    @Test(arguments: [AvailabilityClass.always, .afterFirstUnlock, .whenUnlocked])
    func `without a passcode everything is open from the start, and a lock closes nothing`(
        availability: AvailabilityClass
    ) throws {
        let fixture = try BrokerFixture()
        let rules = try [Requirement.unrestricted, Requirement(anyOf: [.applicationPassword])]
        for rule in rules { try fixture.create("\(rule)", rule, availability) }
        try fixture.restart()
        for isLocked in [false, true] {
            if isLocked { try fixture.client().lock() }
            #expect(try fixture.opens("\(rules[0])"))
            #expect(try fixture.opens("\(rules[1])", answers: [.text(BrokerFixture.applicationPassword)]))
            let halves = fixture.account.ring.privateHalves
            for slot in try fixture.storedSlots() {
                let asksForPassword = slot.slot.factors.contains(.applicationPassword)
                #expect(StandaloneOpener(halves: halves, applicationPassword: nil).opens(slot) == !asksForPassword)
            }
        }
    }

    @Test func `before the first unlock nothing but the class 'always' is in memory`() throws {
        let fixture = try BrokerFixture()
        try fixture.setPasscode()
        try fixture.restart()
        #expect(fixture.account.ring.privateHalves.map(\.role) == [.classKey(.always)])
        try fixture.unlock()
        #expect(
            Set(fixture.account.ring.privateHalves.map(\.role))
                == Set(AvailabilityClass.allCases.map { KeyRole.classKey($0) } + [.biometry]))
        try fixture.client().lock()
        #expect(
            Set(fixture.account.ring.privateHalves.map(\.role))
                == [.classKey(.always), .classKey(.afterFirstUnlock), .biometry])
    }
}
