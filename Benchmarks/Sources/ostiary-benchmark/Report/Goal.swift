/// A limit for figures: of the pinned pass, unless its name says otherwise.
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
