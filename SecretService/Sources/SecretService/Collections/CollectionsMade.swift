import MessageBus
import SecretItems

/// The collections that each program made since the service began: so that one program does not take all places.
struct CollectionsMade: Sendable {
    private var held = Holdings(ServiceLimits.collectionsMade)
    private var makers: [SecretID: Holder] = [:]

    /// A place for one more, which ``note(_:by:)`` or ``giveBack(of:)`` follows.
    mutating func take(for program: CallerFile?) throws(StoreRefusal) {
        do throws(ReachedLimit) { try held.take(for: Holder(ofProgram: program)) } catch {
            throw .tooMuch(error.words("new collections") + " Delete one.")
        }
    }

    mutating func giveBack(of program: CallerFile?) { held.giveBack(of: Holder(ofProgram: program)) }

    mutating func note(_ id: SecretID, by program: CallerFile?) { makers[id] = Holder(ofProgram: program) }

    mutating func forget(_ id: SecretID) {
        if let maker = makers.removeValue(forKey: id) { held.giveBack(of: maker) }
    }
}
