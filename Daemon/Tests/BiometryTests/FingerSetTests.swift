import AccessControl
import Cancellations
import FingerprintReader
import FingerprintTestSupport
import Foundation
import OstiaryMessages
import Owners
import PromptProtocol
import StoreTestSupport
import TerminalTestSupport
import Testing
import Vault

@testable import Authenticators
@testable import Broker
@testable import BrokerTestSupport

/// The enrolled set, as `ostiary-templates` digests it.
@Suite("The enrolled set", .timeLimit(.minutes(10)))
struct FingerSetTests {
    private let fixture: FingerFixture
    private let copy: TestFolder

    init() throws {
        fixture = try FingerFixture(hasTemplates: true)
        copy = try TestFolder()
        try fixture.stack.saveTemplates(in: copy.path("original"))
    }

    private func putBack() throws { try fixture.stack.restoreTemplates(from: copy.path("original")) }

    private func expectRests() throws {
        let refused = try fixture.refused("finger")
        #expect(refused?.code == .biometryLockout && refused?.cause == "biometry.rests")
        #expect(fixture.prompter.asked.isEmpty)
    }

    private func expectSetChanged(_ name: String = "set") throws {
        let refused = try fixture.refused(name)
        #expect(refused?.code == .biometryNotAvailable && refused?.cause == "biometry.set-changed")
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `opens what is bound to it, and any finger's objects`() throws {
        #expect(try fixture.open("set") == ["biometry-current-set"])
        #expect(try fixture.open("set or passcode") == ["biometry-current-set"])
        #expect(try fixture.open("finger") == ["biometry"])
    }

    enum Change: CaseIterable { case added, replaced, deletedAndEnrolled }

    private func make(_ change: Change) throws {
        switch change {
        case .added: try fixture.stack.enroll(.leftThumb, skin: "second")
        // The same name, another person's finger: fprintd's list is as before.
        case .replaced: try fixture.stack.enroll(.rightIndex, skin: "thief")
        case .deletedAndEnrolled:
            try fixture.stack.fingerprintReader().withClaim(until: PollableCancellation()) {
                (claimed) throws(ReaderFailure) in
                try claimed.delete(.rightIndex)
            }
            try fixture.stack.enroll(.rightIndex, skin: "thief")
        }
    }

    @Test(arguments: Change.allCases)
    func `that changed opens nothing that is bound to the former one, and biometry rests`(change: Change) throws {
        let grants = try fixture.grantCount()
        try make(change)
        try expectRests()
        try expectSetChanged()
        #expect(try fixture.refused("set or passcode", [.cancel])?.code == .userCancel)
        #expect(fixture.prompter.asked.map(\.sensors.count) == [0])
        #expect(try fixture.grantCount() == grants)
        try fixture.unlock()
        try expectSetChanged()
        // The reader compares with one finger, the first one.
        let finger = SensorEvent.touch(change == .added ? "second" : "thief")
        #expect(try fixture.open("finger", [.wait], [finger]) == ["biometry"])
        try fixture.create("new set", [.biometryCurrentSet])
        #expect(try fixture.open("new set", [.wait], [finger]) == ["biometry-current-set"])
        // The set is put back.
        try putBack()
        try expectRests()
        try expectSetChanged("new set")
        try fixture.unlock()
        #expect(try fixture.open("set") == ["biometry-current-set"])
        #expect(try fixture.open("finger") == ["biometry"])
    }

    @Test func `that came and went leaves biometry at rest`() throws {
        try make(.added)
        try eventually("the change was noticed") {
            try fixture.broker.account.vault.read {
                try $0.attempts(owner: fixture.broker.account.id, subject: Data("biometry".utf8))?.delayState[1] == 1
            }
        }
        try putBack()
        try expectRests()
        try fixture.unlock()
        #expect(try fixture.open("set") == ["biometry-current-set"])
    }

    @Test func `that changed while the daemon was down counts too`() throws {
        fixture.broker.close()
        try make(.replaced)
        try fixture.broker.restart()
        try expectRests()
        try expectSetChanged()
        try fixture.unlock()
        try expectSetChanged()
        #expect(try fixture.open("finger", [.wait], [.touch("thief")]) == ["biometry"])
    }

    @Test func `that changes during a verification is none, although the finger matches`() throws {
        let grants = try fixture.grantCount()
        for name in ["set", "finger"] {
            fixture.prompter.prepare([.wait])
            fixture.duringArmed { [fixture] in
                // The reader is claimed, so it is done past fprintd, as root can.
                try fixture.stack.plantTemplate()
                try fixture.stack.play(.touch("owner"))
            }
            let refused = try fixture.refusedWhilePrepared(name)
            #expect(refused?.cause == "biometry.rests")
            #expect(try fixture.grantCount() == grants)
            try putBack()
            try fixture.unlock()
        }
        try fixture.expectNextWorks()
    }

    @Test func `ends what a context keeps when it changes`() throws {
        let rule = try Requirement(anyOf: [.biometry])
        let (client, context) = try fixture.contextKeepingFinger(rule)
        #expect(try client.authorize(rule, in: context) == ["biometry"])
        #expect(fixture.prompter.asked.count == 1)
        try make(.added)
        try expectRests()
        #expect(try refusal { _ = try client.authorize(rule, in: context) } == .biometryLockout)
    }

    @Test func `ends an authorized right of the current set when it changes, and no other right`() throws {
        let client = try fixture.broker.client()
        let context = try client.openContext()
        let (ofSet, ofAny) = (try client.find("set"), try client.find("finger"))
        for right in [ofSet, ofAny] {
            fixture.prompter.prepare([.wait])
            fixture.during([.touch("owner")])
            _ = try client.authorize(right, in: context)
            #expect(try client.sign(right, in: context))
        }
        try make(.added)
        try expectRests()
        try eventually("the right of the former set has ended") {
            try refusal { _ = try client.sign(ofSet, in: context) } == .notAuthorized
        }
        #expect(try client.sign(ofAny, in: context))
    }

    @Test func `that the helper cannot tell keeps every finger out, and not the passcode`() throws {
        try Data("x".utf8).write(
            to: URL(fileURLWithPath: "\(fixture.stack.templates)/\(TemplatesHelper.userName)/junk"))
        let refused = try fixture.refused("finger")
        #expect(refused?.code == .biometryNotAvailable && refused?.cause == "biometry.templates-unreadable")
        #expect(try fixture.refused("set")?.cause == "biometry.templates-unreadable")
        #expect(try fixture.open("either", [FingerFixture.passcode], []) == ["passcode"])
        let refusedRule = try refusal { try fixture.create("new", [.biometryCurrentSet, .passcode]) }
        #expect(refusedRule == .biometryNotAvailable)
    }

    @Test func `that was digested once is never told by names alone`() throws {
        let templates = try #require(fixture.templates)
        try FileManager.default.moveItem(atPath: templates.socketPath, toPath: copy.path("socket"))
        func expectNoFinger() throws {
            let refused = try fixture.refused("finger")
            #expect(refused?.code == .biometryNotAvailable && refused?.cause == "biometry.templates-gone")
            #expect(fixture.prompter.asked.isEmpty)
        }
        try expectNoFinger()
        for _ in 1...2 {
            try fixture.unlock()
            try expectNoFinger()
        }
        try fixture.broker.restart()
        try fixture.unlock()
        try expectNoFinger()
        let findings = try fixture.broker.client().diagnosis().findings
        let set = try #require(findings.first { $0.check == "set of fingers" })
        #expect(set.verdict == .problem && set.message.contains("told before which fingers are enrolled"))
        #expect(set.advice.contains("sudo systemctl enable --now ostiary-templates.socket"))
        #expect(try fixture.open("either", [FingerFixture.passcode], []) == ["passcode"])
        try FileManager.default.moveItem(atPath: copy.path("socket"), toPath: templates.socketPath)
        #expect(try fixture.open("set") == ["biometry-current-set"])
    }

    @Test func `that changes while the next factor is asked for leaves nothing of the touch in the context`() throws {
        try fixture.create("touch and password", [[.biometry, .applicationPassword]])
        let client = try fixture.broker.client()
        let context = try client.openContext(keepingFactors: true)
        fixture.prompter.prepare([.wait, .text(BrokerFixture.applicationPassword)])
        fixture.during(
            [.touch("owner")],
            then: { [fixture] in
                fixture.prompter.duringNextQuestion {
                    do {
                        try fixture.stack.enroll(.leftThumb, skin: "second")
                        #expect(try fixture.state().obstacle == .rests)
                    } catch { Issue.record("\(error)") }
                }
            })
        _ = try client.authorize(client.find("touch and password"), in: context)
        #expect(fixture.prompter.askedKinds == [.sensor, .applicationPassword])
        fixture.prompter.prepare([.wait])
        #expect(try refusal { _ = try client.evaluatePolicy(1, in: context) } == .biometryLockout)
        let rule = try Requirement(anyOf: [.biometry])
        #expect(try refusal { _ = try client.authorize(rule, in: context) } == .biometryLockout)
    }

    @Test func `of an item stays the one that it was made with when the passcode changed the item`() throws {
        let client = try fixture.broker.client()
        let control = try AccessControl.item(
            Requirement(anyOf: [.biometryCurrentSet, .passcode]), .afterFirstUnlock)
        let query = TestClient.query("genp", ["acct": .text("alice")])
        try client.addItem(["acct": .text("alice")], data: Data("one".utf8), accessControl: control)
        try make(.added)
        try fixture.unlock()
        fixture.prompter.prepare([FingerFixture.passcode])
        #expect(try client.updateItems(query, data: Data("two".utf8)) == 1)
        fixture.prompter.prepare([.cancel])
        #expect(
            try refusal { _ = try client.itemData(query) } == .userCancel)
        #expect(fixture.prompter.asked.map(\.sensors.count) == [0])
        try putBack()
        try fixture.unlock()
        fixture.prompter.prepare([.wait])
        fixture.during([.touch("owner")])
        #expect(try client.itemData(query) == "two")
    }
}

/// The enrolled set where `ostiary-templates` is not installed.
@Suite("Without the helper", .timeLimit(.minutes(10)))
struct FingersWithoutHelperTests {
    private let fixture: FingerFixture

    init() throws { fixture = try FingerFixture() }

    @Test func `nothing can be bound to the current set, and the refusal says why`() throws {
        for alternatives: [FactorSet] in [[.biometryCurrentSet], [.biometryCurrentSet, .passcode]] {
            do {
                try fixture.create("set", alternatives)
                Issue.record("it was made")
            } catch let refused as Refused {
                #expect(refused.code == .biometryNotAvailable && refused.cause == "biometry.templates-missing")
            }
        }
    }

    @Test func `a changed list of names makes biometry rest`() throws {
        try fixture.stack.enroll(.leftThumb, skin: "second")
        #expect(try fixture.refused("finger")?.cause == "biometry.rests")
        try fixture.unlock()
        // The reader compares with one finger, the first one.
        #expect(try fixture.open("finger", [.wait], [.touch("second")]) == ["biometry"])
    }

    @Test func `a changed list that a passcode entry accepts unseen ends earlier proofs of fingers`() throws {
        let rule = try Requirement(anyOf: [.biometry])
        let (client, context) = try fixture.contextKeepingFinger(rule)
        try fixture.stack.enroll(.leftThumb, skin: "second")
        try fixture.unlock()
        fixture.prompter.prepare([.cancel])
        #expect(try refusal { _ = try client.authorize(rule, in: context) } == .userCancel)
        #expect(fixture.prompter.asked.count == 1)
    }

    /// Documentation/security/limits.md, limit 20.
    @Test func `a finger that was replaced under its name goes unnoticed`() throws {
        try fixture.stack.enroll(.rightIndex, skin: "thief")
        #expect(try fixture.open("finger", [.wait], [.touch("thief")]) == ["biometry"])
    }
}
