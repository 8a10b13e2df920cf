/// A limit for the figures of the pinned pass.
struct Goal: Equatable {
    enum Bound: String {
        case atMost = "at most"
        case atLeast = "at least"
    }

    let name: String
    let value: Double
    let bound: Bound
    let limit: Double

    var isMet: Bool { bound == .atMost ? value <= limit : value >= limit }
}
