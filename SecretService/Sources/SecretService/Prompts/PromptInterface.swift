import MessageBus
import SecretItems
import Synchronization

/// `org.freedesktop.Secret.Prompt`.
extension SecretService {
    func promptInterface() -> ServedInterface {
        ServedInterface(
            SecretInterface.prompt, methods: [showPrompt, dismissPrompt], signals: [ServedSignal("Completed", "bv")],
            hasObject: { [self] path in
                guard case .prompt(let number)? = ServedPath(path) else { return false }
                return prompts.withLock { $0.contains(number) }
            })
    }

    /// Makes a prompt, and returns its path.
    func makePrompt(_ work: PromptWork, for call: BusCall) throws(BusFault) -> String {
        let number = try prompts.withLock { (prompts) throws(BusFault) in
            try prompts.add(work, for: call.caller.holder)
        }
        try requireStay(of: call)
        return ServedPath.prompt(number).text
    }

    private static func number(_ call: BusCall) throws(BusFault) -> UInt64 {
        guard case .prompt(let number)? = ServedPath(call.path) else { throw .noSuchObject }
        return number
    }

    /// The window that the program names is not used: the question has its own place.
    private var showPrompt: ServedMethod {
        method(
            "Prompt", "s",
            reading: { (arguments) throws(BusFault) -> String in try arguments.readString() },
            { [self] (call, client, _) throws(BusFault) in
                let (number, peer) = (try Self.number(call), call.caller.name)
                let work = try prompts.withLock { (prompts) throws(BusFault) in
                    try prompts.begin(number, of: peer)
                }
                // Before the signal, which may come at once.
                call.answer()
                let question = AskingLane.Question(
                    peer: peer, items: [],
                    ask: { [self] cancellation in
                        do throws(StoreRefusal) {
                            let result = try work.run(cancellation)
                            complete(number, of: peer, result)
                            return nil
                        } catch {
                            complete(number, of: peer, nil)
                            return error
                        }
                    }, refuse: { [self] _ in complete(number, of: peer, nil) })
                do throws(StoreRefusal) {
                    let asked = try clients.ask(question, for: client)
                    let isWanted = prompts.withLock { $0.note(question: asked, of: number) }
                    if !isWanted { client.questions.cancel(asked) }
                } catch { complete(number, of: peer, nil) }
            })
    }

    private var dismissPrompt: ServedMethod {
        method(
            "Dismiss", usesStore: false, reading: NoArguments.read,
            { [self] (call, client, _) throws(BusFault) in
                let (number, peer) = (try Self.number(call), call.caller.name)
                guard prompts.withLock({ $0.isOf(peer, number) }) else { throw .noSuchObject }
                call.answer()
                if case .shown(let question?)? = complete(number, of: peer, nil) { client.questions.cancel(question) }
            })
    }

    /// Ends a prompt and tells the program; the first end counts.
    ///
    /// - Parameter result: nil if it was dismissed.
    /// - Returns: the state until then; nil if it was over already.
    @discardableResult
    private func complete(_ number: UInt64, of peer: String, _ result: BusValue?) -> PromptTable.State? {
        guard let (state, nothing) = prompts.withLock({ $0.finish(number) }) else { return nil }
        bus.complete(number, of: peer, isDismissed: result == nil, result ?? nothing)
        return state
    }
}
