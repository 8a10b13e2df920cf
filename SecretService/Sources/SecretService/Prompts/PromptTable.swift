import Cancellations
import MessageBus
import SecretItems

/// What a prompt does when the program has it shown.
struct PromptWork: Sendable {
    /// What it keeps in memory until it is over.
    let byteCount: Int
    /// Asks the person and does it; returns the result.
    let run: @Sendable (Cancellation) throws(StoreRefusal) -> BusValue
    /// The result of a prompt that did nothing: of the same type, because programs read it before they look whether it counts.
    let nothing: BusValue
}

/// The prompts that programs were given and that are not over. A prompt is that of the connection which got it.
struct PromptTable: Sendable {
    enum State: Equatable, Sendable {
        case waiting
        /// It was shown, under this number of the client's questions once that is known.
        case shown(UInt64?)
    }

    private struct Entry: Sendable {
        let holder: Holder
        let work: PromptWork
        var state = State.waiting
    }

    private var entries: [UInt64: Entry] = [:]
    private var held = Holdings(ServiceLimits.prompts)
    private var bytesHeld = Holdings(ServiceLimits.promptBytes)
    private var lastNumber: UInt64 = 0

    func contains(_ number: UInt64) -> Bool { entries[number] != nil }

    /// Adds a prompt, and returns its number, which no other one ever has.
    mutating func add(_ work: PromptWork, for holder: Holder) throws(BusFault) -> UInt64 {
        do throws(ReachedLimit) { try held.take(for: holder) } catch {
            throw .tooMuch(error.words("prompts") + " Dismiss some.")
        }
        do throws(ReachedLimit) { try bytesHeld.take(work.byteCount, for: holder) } catch {
            held.giveBack(of: holder)
            throw .tooMuch(error.words("bytes of prompts, or would have them,") + " Dismiss some.")
        }
        lastNumber += 1
        entries[lastNumber] = Entry(holder: holder, work: work)
        return lastNumber
    }

    private mutating func remove(_ number: UInt64) -> Entry? {
        guard let entry = entries.removeValue(forKey: number) else { return nil }
        held.giveBack(of: entry.holder)
        bytesHeld.giveBack(entry.work.byteCount, of: entry.holder)
        return entry
    }

    /// Begins a prompt, which is done once.
    mutating func begin(_ number: UInt64, of peer: String) throws(BusFault) -> PromptWork {
        guard let entry = entries[number], entry.holder.peer == peer else { throw .noSuchObject }
        guard entry.state == .waiting else { throw .failed("The prompt is shown already.") }
        entries[number]?.state = .shown(nil)
        return entry.work
    }

    /// Notes the question of a prompt that was begun; false if it is over meanwhile.
    mutating func note(question: UInt64, of number: UInt64) -> Bool {
        guard entries[number] != nil else { return false }
        entries[number]?.state = .shown(question)
        return true
    }

    /// Ends a prompt.
    ///
    /// - Returns: its state until then, and its empty result; nil if it was over already.
    mutating func finish(_ number: UInt64) -> (state: State, nothing: BusValue)? {
        remove(number).map { ($0.state, $0.work.nothing) }
    }

    /// Whether the connection may dismiss the prompt.
    func isOf(_ peer: String, _ number: UInt64) -> Bool { entries[number]?.holder.peer == peer }

    /// The connection has ended. Its questions end with it.
    mutating func forget(_ peer: String) {
        for (number, entry) in entries where entry.holder.peer == peer { _ = remove(number) }
    }
}
