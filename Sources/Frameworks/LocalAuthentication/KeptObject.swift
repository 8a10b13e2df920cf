/// An object of the program that lives as long as the reply that it waits for.
struct KeptObject: @unchecked Sendable {
    // SAFETY: (@unchecked) the object is held and not used. Owners are counted atomically, and the kept objects
    // (contexts and rights) may lose their last owner on any thread.
    private let object: AnyObject

    init(_ object: AnyObject) { self.object = object }
}
