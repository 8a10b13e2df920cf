import AccessControl
import Auditing
import Authenticators
import Foundation
import OstiaryMessages
import Owners
import PromptProtocol
import ProtectedObjects
import Refusals
import SecretMemory
import Sessions

/// Proving in a context, ahead of time, what its objects will ask for.
extension Broker {
    /// Proves what an access control asks for one operation, and keeps it in the context.
    ///
    /// An application password is not checked here, because only the object that it opens can: the context's own is taken as
    /// it is, or the person is asked for one, and the object checks it when it is opened. What the person enters is kept like
    /// a factor: it ends with a lock, with the grants of the context, and with its time.
    func evaluateAccessControl(_ body: WireEvaluateAccessControlRequest, _ exchange: Exchange) throws -> Reply {
        let accessControl = try AccessControl(canonicalBytes: Array(body.accessControl))
        let operation = try Self.operation(body.operation)
        let context = try exchange.contexts.context(body.contextID)
        guard context.keepsFactors else {
            throw Refusal(.invalidParameter, "The context keeps no factors.", cause: "context.keeps-nothing")
        }
        let asking = try exchange.asking(body.question)
        let demand = Demand(
            requirements: [accessControl[operation]],
            availability: operation.needsAccessSecret ? accessControl.availability : nil, object: "",
            operation: "\(operation.name) with an object that the program keeps")
        return try context.evaluating(asking.cancellation) { era in
            let evaluation = try exchange.account.evaluator.evaluate(
                demand, held: exchange.account.held(in: context), assuming: .applicationPassword,
                keepingFor: context.keepingTime, asking: asking)
            let password = try enteredPassword(for: demand, evaluation, context, asking)
            try exchange.verifyCaller()
            let factors = evaluation.factors.subtracting(.applicationPassword)
            let (names, strength) = (factors.factors.map(\.name), evaluation.label)
            try exchange.trail.decide {
                try asking.cancellation.check()
                try exchange.trail.grant(
                    exchange.event("evaluate-access-control", operation: operation.name), factors: names,
                    strength: strength, isProved: !evaluation.proofs.isEmpty || password != nil)
                asking.cancellation.noteOpeningRecorded()
                try context.keep(evaluation, enteredPassword: password, since: era)
                noteBiometry(evaluation, exchange.account)
            }
            return Reply(.granted(granted(names, strength)))
        }
    }

    private static func operation(_ number: UInt32) throws(Refusal) -> AccessControl.Operation {
        guard let raw = UInt8(exactly: number), let operation = AccessControl.Operation(rawValue: raw) else {
            throw Refusal(.invalidParameter, "The operation is unknown.", cause: "access-control.operation")
        }
        return operation
    }

    /// The application password that the person is asked for; nil when none is needed or the context has one.
    private func enteredPassword(
        for demand: Demand, _ evaluation: Evaluation, _ context: EvaluationContext, _ asking: Asking
    ) throws(Refusal) -> Credential? {
        guard evaluation.factors.contains(.applicationPassword), context.applicationPassword == nil else { return nil }
        let question = PromptQuestion(
            .applicationPassword, operation: DisplayText(demand.operation), reason: asking.question.reason,
            cancelTitle: asking.question.cancelTitle, fallbackTitle: asking.question.fallbackTitle)
        let entered = try Questioning(prompter: prompter, asking: asking).secret(question)
        try asking.cancellation.check()
        return Credential(entered)
    }
}
