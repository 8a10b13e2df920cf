package import Cancellations
import DetachedThreads
package import Foundation
import OstiaryClient
import OstiaryMessages
package import SecretMemory
import Synchronization

/// A message on its way to the client.
package final class OutgoingMessage: Sendable {
    package let bytes: SecretBytes

    init(_ bytes: consuming SecretBytes) { self.bytes = bytes }

    convenience init(_ bytes: Data) { self.init(SecretBytes(bytes)) }
}

/// Answers the messages of one connection. What may ask the person has a thread of its own, so that a question delays no other request.
package final class TokenSession: Sendable {
    private struct State {
        var isGreeted = false
        var operations: [UInt32: OperationData] = [:]
        var underWay: [UInt32: Cancellation] = [:]
        /// As they were listed last.
        var keys: [ObjectReference: TokenKey] = [:]
        var objects: [TokenObject] = []
        var declined: DeclinedSignature?
        /// When the last message came, or the last answer to a question went.
        var lastMessage: ContinuousClock.Instant
        /// Messages that are being answered without a question, and answers to questions on their way.
        var activityCount = 0
        var hasUsedKey = false
    }

    private let state: Mutex<State>
    private let token: any TokenKeyHolding
    /// Cancelled when the client leaves.
    private let end: Cancellation
    private let send: @Sendable (OutgoingMessage) -> Void
    private let note: @Sendable (String) -> Void
    private let now: @Sendable () -> ContinuousClock.Instant

    /// - Parameters:
    ///   - end: cancelled when the client leaves. It ends the questions.
    ///   - send: writes a message to the client. Any thread calls it.
    ///   - note: is told why something was refused. Never a secret.
    ///   - now: the time.
    package init(
        _ token: any TokenKeyHolding, end: Cancellation, send: @escaping @Sendable (OutgoingMessage) -> Void,
        note: @escaping @Sendable (String) -> Void,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        (self.token, self.end, self.send, self.note, self.now) = (token, end, send, note, now)
        state = Mutex(State(lastMessage: now()))
    }

    // MARK: its place

    package var lastMessage: ContinuousClock.Instant { state.withLock { $0.lastMessage } }

    /// What the client would lose with its connection. A client that takes no answers, or leaves an operation alone, needs nothing after
    /// ``PKCS11Limits/attentionTime``.
    package var need: ClientNeed {
        let now = self.now()
        return state.withLock { state in
            let isRecent = state.lastMessage.duration(to: now) < PKCS11Limits.attentionTime
            let isActive = state.activityCount > 0 || !state.operations.isEmpty
            guard state.underWay.isEmpty, !isActive || !isRecent else { return .answers }
            return state.hasUsedKey ? .grants : .nothing
        }
    }

    private func beginActivity() {
        let now = self.now()
        state.withLock { ($0.lastMessage, $0.activityCount) = (now, $0.activityCount + 1) }
    }

    private func endActivity() { state.withLock { $0.activityCount -= 1 } }

    // MARK: its messages

    /// Answers a message, at once or later. To be called by one thread.
    ///
    /// - Parameter content: of the message, behind its length.
    /// - Throws: for bytes that are no message at this moment; the connection ends then.
    package func handle(_ content: Data) throws(PKCS11FormatError) {
        let (number, request) = try PKCS11Request.read(content)
        try requireOrder(of: request, number)
        beginActivity()
        defer { endActivity() }
        switch request {
        case .hello: send(OutgoingMessage(PKCS11Answer.hello))
        case .objects(let cursor): answer(number) { try self.objects(from: cursor, number) }
        case .update(let operation, let mechanism, let data):
            answer(number) {
                try self.update(operation, mechanism, data)
                return PKCS11Answer.result(Data(), number: number)
            }
        case .sign(let key, let mechanism, let operation, let data):
            sign(number, key, mechanism, operation, data)
        case .decrypt(let key, let mechanism, let data): decrypt(number, key, mechanism, data)
        case .derive(let key, let mechanism, let publicKey): derive(number, key, mechanism, publicKey)
        case .forget(let operation): state.withLock { $0.operations[operation] = nil }
        case .cancel(let other): state.withLock { $0.underWay[other] }?.cancel()
        }
    }

    private func requireOrder(of request: PKCS11Request, _ number: UInt32) throws(PKCS11FormatError) {
        let defect: PKCS11FormatError? = state.withLock { state in
            guard state.isGreeted != (request == .hello) else { return .outOfOrder }
            state.isGreeted = true
            return state.underWay[number] == nil ? nil : .repeatedNumber
        }
        if let defect { throw defect }
    }

    // MARK: without a question

    private func answer(_ number: UInt32, _ work: () throws -> Data) {
        do { send(OutgoingMessage(try work())) } catch { refuse(number, error) }
    }

    private func refuse(_ number: UInt32, _ error: any Error) {
        note("A request was refused: \(error)")
        send(OutgoingMessage(PKCS11Answer.refused(TokenRefusal(error), number: number)))
    }

    /// A cursor of 0 begins a new list.
    private func objects(from cursor: UInt32, _ number: UInt32) throws -> Data {
        if cursor == 0 {
            let listed = shown(try contents())
            state.withLock { $0.objects = listed }
        }
        let objects = state.withLock { $0.objects }
        return PKCS11Answer.objects(objects, from: Int(cursor), number: number)
    }

    /// What the token has now. Its keys are known from then on.
    private func contents() throws -> TokenContents {
        let contents = try token.contents()
        let keys = Dictionary(contents.keys.map { ($0.reference, $0) }, uniquingKeysWith: { first, _ in first })
        state.withLock { $0.keys = keys }
        return contents
    }

    private func shown(_ contents: TokenContents) -> [TokenObject] {
        let objects = contents.objects.filter(\.isSendable)
        if objects.count > PKCS11Limits.objectCount {
            note(
                "Only \(PKCS11Limits.objectCount) of \(objects.count) objects are shown. Remove keys that you do not need."
            )
        }
        return Array(objects.prefix(PKCS11Limits.objectCount))
    }

    private func update(_ operation: UInt32, _ mechanism: WireMechanism, _ data: Data) throws(TokenRefusal) {
        try state.withLock { state throws(TokenRefusal) in
            var begun: OperationData
            if let known = state.operations[operation] {
                guard known.wireMechanism == mechanism else { throw .mechanismInvalid }
                begun = known
            } else {
                guard state.operations.count < PKCS11Limits.operationCount else { throw .deviceMemory }
                begun = try OperationData(mechanism)
            }
            // The only reference, so that the kept data is not copied.
            state.operations[operation] = nil
            begun.add(data)
            state.operations[operation] = begun
        }
    }

    /// What is signed: the data of the operation, which ends with that, and `data` behind it.
    private func input(
        _ operation: UInt32, _ mechanism: WireMechanism, _ data: Data
    ) throws(TokenRefusal) -> SignedInput {
        let begun = state.withLock { operation == 0 ? nil : $0.operations.removeValue(forKey: operation) }
        guard operation == 0 || begun?.wireMechanism == mechanism else { throw .mechanismInvalid }
        var whole: OperationData
        if let begun { whole = begun } else { whole = try OperationData(mechanism) }
        whole.add(data)
        return try whole.finished()
    }

    // MARK: with a question

    private func sign(
        _ number: UInt32, _ reference: ObjectReference, _ mechanism: WireMechanism, _ operation: UInt32, _ data: Data
    ) {
        let input: SignedInput
        do { input = try self.input(operation, mechanism, data) } catch { return refuse(number, error) }
        ask(number) { question in
            let key = try self.key(reference, for: .sign, mechanism)
            let signature = try self.signature(of: input, with: key, question)
            return OutgoingMessage(PKCS11Answer.result(signature, number: number))
        }
    }

    /// Asks the person, but not for what they have just declined.
    private func signature(of input: SignedInput, with key: TokenKey, _ question: Cancellation) throws -> Data {
        let declined = state.withLock { $0.declined }
        if let declined, declined.isRepeated(by: input, with: key.reference, at: now()) {
            throw TokenRefusal.rejected
        }
        do { return try token.sign(input, with: key, cancellation: question) } catch let error as OstiaryError
            where error.isFailure(.userCancel)
        {
            let declined = DeclinedSignature(input, by: key.reference, at: now())
            state.withLock { $0.declined = declined }
            throw error
        }
    }

    private func decrypt(_ number: UInt32, _ reference: ObjectReference, _ mechanism: WireMechanism, _ data: Data) {
        ask(number) { question in
            let padding = try mechanism.decryption()
            let key = try self.key(reference, for: .decrypt, mechanism)
            let plaintext = try self.token.decrypt(data, padding, with: key, cancellation: question)
            return OutgoingMessage(PKCS11Answer.result(secret: plaintext, number: number))
        }
    }

    private func derive(_ number: UInt32, _ reference: ObjectReference, _ mechanism: WireMechanism, _ publicKey: Data) {
        ask(number) { question in
            try mechanism.requireAgreement()
            let point = try PeerPoint.read(publicKey)
            let key = try self.key(reference, for: .derive, mechanism)
            let secret = try self.token.agree(with: point, key, cancellation: question)
            return OutgoingMessage(PKCS11Answer.result(secret: secret, number: number))
        }
    }

    /// The key of the last list, or of a new one, if it does this.
    private func key(
        _ reference: ObjectReference, for use: TokenKey.Uses, _ mechanism: WireMechanism
    ) throws -> TokenKey {
        if state.withLock({ $0.keys[reference] }) == nil { _ = try contents() }
        guard let key = state.withLock({ $0.keys[reference] }) else { throw TokenRefusal.keyHandleInvalid }
        guard key.uses.contains(use) else { throw TokenRefusal.keyFunctionNotPermitted }
        guard key.mechanisms.contains(where: { $0.rawValue == mechanism.type }) else {
            throw TokenRefusal.mechanismInvalid
        }
        return key
    }

    /// Does what may ask the person, on a thread of its own. A cancelled request has no result, whatever the person answered.
    private func ask(_ number: UInt32, _ work: @escaping @Sendable (Cancellation) throws -> OutgoingMessage) {
        let question = Cancellation()
        let hasPlace = state.withLock { state in
            guard state.underWay.count < PKCS11Limits.requestCount else { return false }
            state.underWay[number] = question
            return true
        }
        guard hasPlace else { return refuse(number, TokenRefusal.deviceMemory) }
        let isStarted = DetachedThread.start { self.run(number, question, work) }
        guard !isStarted else { return }
        state.withLock { $0.underWay[number] = nil }
        refuse(number, TokenRefusal.deviceMemory)
    }

    private func run(
        _ number: UInt32, _ question: Cancellation, _ work: (Cancellation) throws -> OutgoingMessage
    ) {
        let registration = end.register { question.cancel() }
        if registration == nil { question.cancel() }
        let result = Result { try work(question) }
        if let registration { end.remove(registration) }
        beginActivity()
        defer { endActivity() }
        // Whoever reads the answer may send another request at once.
        state.withLock { state in
            state.underWay[number] = nil
            if case .success = result { state.hasUsedKey = true }
        }
        do {
            guard !question.isCancelled else { throw TokenRefusal.canceled }
            send(try result.get())
        } catch { refuse(number, error) }
    }
}
