import AuditLog
import Auditing
import Foundation
import KeySlots
import Opening
import OstiaryMessages
import OwnerKeys
import Owners
import Refusals
import SecretMemory
import Sessions
import Vault

/// Reading and checking the audit log.
extension Broker {
    func logPage(_ body: WireReadLogRequest, for audience: LogAudience) throws -> WireLogPage {
        let limit = Int(min(max(body.limit, 1), WireLimits.logPageCount))
        let page = try store.log.audit.page(from: body.firstIndex, limit: limit, for: audience)
        return .with {
            $0.records = page.records.map(WireLogRecord.init)
            $0.recordCount = page.recordCount
        }
    }

    /// Checks the log. Its seals open with the owner's passcode key, where no other owner has them; when the person cannot be asked, the hash chain and its anchor
    /// are checked alone, and the verdict says so.
    func verifyLog(_ body: WireVerifyLogRequest, _ exchange: Exchange) throws -> Reply {
        let passcode = try passcodeForSeals(body, exchange)
        return Reply(
            .logVerdict(
                try logVerdict(
                    exchange.account.seeds, passcode: passcode, for: opened.logAudience(of: exchange.account))))
    }

    func logVerdict(
        _ seeds: LogSeeds, passcode: PrivateHalf?, for audience: LogAudience
    ) throws -> WireLogVerdict {
        let records = try seeds.own()
        let verdict = try store.log.audit.verify(for: audience) { epoch in
            guard let record = records.first(where: { $0.number == epoch }), record.owner == nil || passcode != nil
            else { return nil as SecretBytes? }
            return try seeds.open(record, passcode: passcode)
        }
        return .with {
            $0.intact = verdict.isIntact
            $0.recordCount = verdict.recordCount
            $0.firstMisfit = verdict.firstMisfit ?? 0
            $0.explanation = verdict.explanation
            $0.sealsChecked = verdict.sealsChecked
        }
    }

    private func passcodeForSeals(_ body: WireVerifyLogRequest, _ exchange: Exchange) throws -> PrivateHalf? {
        guard try exchange.account.seeds.needPasscode(), !body.question.interactionNotAllowed else { return nil }
        do {
            return try provePasscode(
                "check the seals of the audit log", exchange.asking(body.question), exchange,
                for: exchange.event()
            ).half
        } catch let refusal as Refusal where refusal.code == .notInteractive { return nil }
    }
}

extension WireLogRecord {
    init(_ record: LogRecord) {
        self.init()
        index = record.index
        switch record.content {
        case .entry(let entry): fill(from: entry)
        case .epochStart(let number, let milliseconds):
            event = "log-epoch"
            result = "begun"
            object = "\(number)"
            time = Double(milliseconds) / 1000
        case .partStart(let number, let milliseconds):
            event = "log-part"
            result = "begun"
            object = "\(number)"
            time = Double(milliseconds) / 1000
        case .beganAnew(let epoch, let milliseconds, let formerCount, let firstMisfit):
            event = "log-replaced"
            result = "begun"
            object = "\(epoch)"
            reason = "former records: \(formerCount), first misfit: \(firstMisfit)"
            time = Double(milliseconds) / 1000
        }
    }

    private mutating func fill(from entry: AuditEntry) {
        time = Double(entry.time) / 1000
        event = entry.event
        result = entry.result
        program = entry.program
        processID = entry.processID
        object = entry.object
        operation = entry.operation
        factors = entry.factors
        strength = entry.strength
        reason = entry.reason
        repetitions = entry.repetitions
        leaseID = entry.leaseID
    }
}
