import AccessControl
import Foundation
import OstiaryMessages
import Owners
import StoreTestSupport
import Testing
import Vault

@testable import Broker
@testable import BrokerTestSupport
@testable import OwnerKeys

/// Kills the broker at each commit of each operation and looks at what is left.
@Suite("A broker that is killed")
struct CrashTests {
    private typealias Names = CrashOperation

    /// A state folder to begin with, closed.
    private static func template(for operation: CrashOperation) throws -> TestFolder {
        let fixture = try BrokerFixture()
        if operation.beginsWithPasscode {
            try fixture.setPasscode(Names.passcode)
            try fixture.create(Names.boundName, Requirement(anyOf: [.passcode]), .whenUnlocked)
        }
        try fixture.create(Names.openName, .unrestricted, .afterFirstUnlock)
        if operation == .removeGuarded {
            try fixture.create(Names.guardedName, Requirement(anyOf: [.applicationPassword]), .always)
            #expect(try fixture.refusalOfAuthorizing(Names.guardedName, answers: [.text("x"), .cancel]) != nil)
        }
        try fixture.client().addOpenItem(Names.openAccount)
        try fixture.client().addItem(["acct": .text(Names.closedAccount)], data: Data(Names.closedAccount.utf8))
        fixture.close()
        return fixture.folder
    }

    @Test(.timeLimit(.minutes(10)), arguments: CrashOperation.allCases)
    func `at no commit loses or halves anything`(operation: CrashOperation) throws {
        let template = try Self.template(for: operation)
        let state = BrokerFixture.stateDirectory(in: template)
        var killCount = 0
        for moment in ["before", "after"] {
            for number in 1... {
                let copy = try BrokerFixture.copyOfState(state)
                let isDone = try CrasherProcess(in: copy, operation, moment, number).carryOut(operation)
                let aftermath = try Aftermath(
                    of: operation, in: copy, isAcknowledged: isDone, triesNewPasscodeFirst: number.isMultiple(of: 2))
                try aftermath.check("\(operation), killed \(moment) commit \(number)")
                if isDone { break }
                killCount += 1
            }
        }
        #expect(killCount >= 2, "\(operation) commits at least once")
    }

    @Test func `between counting an attempt and checking it gives no free try`() throws {
        let copy = try Self.template(for: .wrongPasscode)
        for number: UInt32 in 1...3 {
            #expect(try !CrasherProcess(in: copy, .wrongPasscode, "after", 1).carryOut(.wrongPasscode))
            let fixture = try BrokerFixture(in: copy)
            #expect(try fixture.client().status().passcode.failedAttempts == number)
            fixture.close()
        }
    }

    /// The commit after which old wraps lie in the journal still, and what leads to it.
    @Test(arguments: ["passcode.set", "passcode.change", "passcode.settle", "passcode.remove", "right.remove"])
    func `after a change and before erasing leaves that to the next start`(commit: String) throws {
        let copier = StateCopier()
        let fixture = try BrokerFixture(observer: copier)
        try fixture.create("free", .unrestricted, .whenUnlocked)
        if commit != "passcode.set" {
            try fixture.setPasscode()
            try fixture.create("bound", Requirement(anyOf: [.passcode]), .whenUnlocked)
        }
        fixture.account.eraser.erase()
        let old = try OldWraps(in: fixture.stateDirectory)
        copier.copyState(of: fixture.stateDirectory, at: commit)
        switch commit {
        case "passcode.set": try fixture.setPasscode()
        case "passcode.change", "passcode.settle": try fixture.changePasscode(to: Names.newPasscode)
        case "passcode.remove": try fixture.removePasscode()
        default: try fixture.client().remove("bound")
        }
        let copy = try #require(copier.copy)
        let replaced = try old.withoutThose(in: fixture.stateDirectory)
        #expect(try replaced.traces(in: BrokerFixture.stateDirectory(in: copy)) > 0)
        let reopened = try BrokerFixture(in: copy)
        // Between the two steps of a change both passcodes open the store; the first entry ends that.
        if commit == "passcode.change" { try reopened.unlock(Names.newPasscode) }
        #expect(try replaced.traces(in: reopened.stateDirectory) == 0)
    }

    /// The real daemon, killed at any time while rights are made.
    @Test(.timeLimit(.minutes(10)))
    func `at any moment of a stream of creations keeps every acknowledged right`() throws {
        let folder = try TestFolder()
        var acknowledged: [String: Data] = [:]
        for round in 1...20 {
            let daemon = try KilledDaemon(in: folder)
            let client = try daemon.client()
            let stored = try client.list()
            #expect(stored.allSatisfy { $0.unreadableBecause.isEmpty })
            let found = Dictionary(uniqueKeysWithValues: stored.map { ($0.identifier, $0.publicKey) })
            #expect(acknowledged.allSatisfy { found[$0.key] == $0.value }, "round \(round)")
            // What was stored and not acknowledged is whole as well, and counts from now on.
            #expect(found.count <= acknowledged.count + 1)
            acknowledged = found
            for name in found.keys.shuffled().prefix(3) {
                let context = try client.authorize(name)
                #expect(try client.secret(of: client.find(name), in: context) == name)
            }
            #expect(try client.verifyLog(interactive: false).intact)

            let open = AccessControl(availability: .whenUnlocked, using: .unrestricted)
            let lastSafe = Int.random(in: 1...5)
            for number in 1... {
                if number == lastSafe + 1 { daemon.kill(after: .microseconds(Int.random(in: 0...20_000))) }
                let name = "\(round).\(number)"
                do { acknowledged[name] = try client.create(name, open, secret: name).publicKey } catch is Refused {
                    Issue.record("a creation was refused")
                } catch { break }
            }
            daemon.waitForEnd()
        }
        #expect(acknowledged.count >= 20)
    }
}

/// A store that a killed broker left, opened again.
private struct Aftermath {
    private typealias Names = CrashOperation
    let operation: CrashOperation
    let fixture: BrokerFixture
    let isAcknowledged: Bool
    let triesNewPasscodeFirst: Bool

    init(of operation: CrashOperation, in folder: TestFolder, isAcknowledged: Bool, triesNewPasscodeFirst: Bool) throws
    {
        self.operation = operation
        self.isAcknowledged = isAcknowledged
        self.triesNewPasscodeFirst = triesNewPasscodeFirst
        fixture = try BrokerFixture(in: folder)
    }

    func check(_ comment: Comment) throws {
        let client = try fixture.client()
        #expect(try client.list().allSatisfy { $0.unreadableBecause.isEmpty }, comment)
        #expect(try client.verifyLog(interactive: false).intact, comment)
        try checkLogState(comment)
        let passcode = try survivingPasscode(comment)
        try checkRights(passcode, comment)
        try checkItems(comment)
        try checkKeys(comment)
        try checkCounters(comment)
        try checkRecords(passcode, comment)
        fixture.prompter.prepare(passcode.map { [.text($0)] } ?? [])
        let verdict = try client.verifyLog(interactive: true)
        #expect(verdict.intact && verdict.sealsChecked, comment)
        fixture.close()
    }

    /// A record that a crash cut off is recovered from, never taken for tampering.
    private func checkLogState(_ comment: Comment) throws {
        let finding = try #require(try fixture.client().diagnosis().findings.first { $0.check == "audit log" })
        #expect(finding.verdict != .problem, comment)
    }

    /// The passcode that opens the store, after an entry of it; exactly one does then.
    private func survivingPasscode(_ comment: Comment) throws -> String? {
        guard try fixture.client().status().passcode.isSet else {
            #expect(operation == .setPasscode && !isAcknowledged || operation == .removePasscode, comment)
            return nil
        }
        #expect(operation != .removePasscode || !isAcknowledged, comment)
        let candidates =
            triesNewPasscodeFirst ? [Names.newPasscode, Names.passcode] : [Names.passcode, Names.newPasscode]
        let working = try candidates.filter(opens)
        #expect(working.count == 1, "\(comment): \(working)")
        switch operation {
        case .setPasscode: #expect(working == [Names.newPasscode], comment)
        case .changePasscode where isAcknowledged: #expect(working == [Names.newPasscode], comment)
        case .changePasscode: break
        default: #expect(working == [Names.passcode], comment)
        }
        return working.first
    }

    private func opens(_ passcode: String) throws -> Bool {
        fixture.prompter.prepare([.text(passcode), .cancel])
        let client = try fixture.client()
        return try refusal { try client.evaluatePolicy(2, in: client.openContext()) } == nil
    }

    /// Rights are there and give their secret, or are absent; which of both where the operation leaves no choice.
    private func checkRights(_ passcode: String?, _ comment: Comment) throws {
        let names = try Set(fixture.client().list().map(\.identifier))
        let bound = names.contains(Names.boundName)
        #expect(bound == (operation.beginsWithPasscode && passcode != nil), comment)
        if bound, let passcode {
            #expect(try fixture.opens(Names.boundName, answers: [.text(passcode)]), comment)
        }
        if operation != .create || isAcknowledged {
            #expect(names.contains(Names.createdName) == (operation == .create), comment)
        }
        if names.contains(Names.createdName) { #expect(try secret(Names.createdName) == Names.createdName, comment) }
        let isThere = names.contains(Names.openName)
        #expect(isThere || operation == .remove, comment)
        #expect(!isThere || operation != .remove || !isAcknowledged, comment)
        guard isThere else { return }
        let expected = operation == .replace ? ["secret of open", "replacement"] : ["secret of open"]
        let secret = try secret(Names.openName)
        #expect(isAcknowledged ? secret == expected.last : expected.contains(secret), comment)
    }

    /// Items are whole, old or new; with the passcode entered, all of them open.
    private func checkItems(_ comment: Comment) throws {
        #expect(try data(Names.closedAccount) == Names.closedAccount, comment)
        let added = try data(Names.addedAccount)
        #expect(added == nil || operation == .addItem && added == Names.addedAccount, comment)
        #expect(added != nil || operation != .addItem || !isAcknowledged, comment)
        let open = try data(Names.openAccount)
        switch operation {
        case .updateItem: #expect(open == "updated" || !isAcknowledged && open == Names.openAccount, comment)
        case .deleteItem: #expect(open == nil || !isAcknowledged && open == Names.openAccount, comment)
        default: #expect(open == Names.openAccount, comment)
        }
        let finding = try #require(try fixture.client().diagnosis().findings.first { $0.check == "items" })
        #expect(finding.verdict == .ok, comment)
    }

    /// A key that was made for an item is there with the item, or neither is.
    private func checkKeys(_ comment: Comment) throws {
        let (vault, owner) = (fixture.broker.vault, fixture.account.id)
        let keys = try vault.read { try $0.objects(owner: owner, kind: .enclaveKey) }.compactMap(\.record)
        let items = try vault.readItems { reader in
            try reader.itemIDs(owner: owner).compactMap { try reader.item($0, owner: owner)?.keyID }
        }
        #expect(keys.map(\.id) == items, comment)
        #expect(operation == .addKey ? !isAcknowledged || keys.count == 1 : keys.isEmpty, comment)
    }

    /// A right and the counter of guesses at it are there together, or neither is.
    private func checkCounters(_ comment: Comment) throws {
        let isThere = try fixture.client().list().contains { $0.identifier == Names.guardedName }
        #expect(try fixture.guessedSubjects().count == (isThere ? 1 : 0), comment)
        #expect(isThere ? operation == .removeGuarded && !isAcknowledged : true, comment)
    }

    private func data(_ account: String) throws -> String? {
        fixture.prompter.prepare([])
        do { return try fixture.client().itemData(Names.item(account)) } catch let refused as Refused
            where refused.code == .notFound
        { return nil }
    }

    private func secret(_ name: String) throws -> String {
        fixture.prompter.prepare([])
        let client = try fixture.client()
        let context = try client.authorize(name)
        let right = try client.find(name)
        #expect(try client.sign(right, in: context))
        return try client.secret(of: right, in: context)
    }

    /// An interrupted change is settled by the entry that came after it.
    private func checkRecords(_ passcode: String?, _ comment: Comment) throws {
        let records = try fixture.broker.vault.read { try $0.passcodeRecords(owner: fixture.account.id) }
        #expect(records.map(\.record?.state) == (passcode == nil ? [] : [.current]), comment)
    }
}
