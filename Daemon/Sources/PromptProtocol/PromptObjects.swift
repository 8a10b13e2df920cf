/// The rights, items or keys that one answer opens: their number, and the names of the first ones.
///
/// A person who agrees to one thing must not release others with it, so a question always has the number.
public struct PromptObjects: Codable, Equatable, Sendable {
    /// The word for one of several objects.
    public enum Noun: String, Codable, Equatable, Sendable, CaseIterable {
        case item
        case key
        case right
        /// For objects of different kinds.
        case object
    }

    /// The names of the first objects, at least one.
    public let names: [DisplayText]
    /// The number of all objects, at least the number of names.
    public let count: Int
    public let noun: Noun

    /// The names that a question carries. More do not fit on a screen, and with the longest names the largest request
    /// stays below ``PromptRequest/maximumByteCount``.
    public static let maximumNameCount = 12

    /// Whether the question carries the name of each object, and none is cut.
    public let areAllNamedInFull: Bool

    /// One object. A name that must be shown in full was made with `DisplayText(wholeFact:)`.
    public init(_ name: DisplayText) { (names, count, noun, areAllNamedInFull) = ([name], 1, .object, true) }

    /// Several objects, the most important first; nil when there is none.
    ///
    /// - Parameter objects: the daemon's name of each object, and the name that programs give it, which may be empty. Objects
    ///   beyond the first ``maximumNameCount`` only count.
    public init?(_ objects: [(fact: String, label: DisplayText)], noun: Noun) {
        guard !objects.isEmpty else { return nil }
        // Facts only: no name made this way can end the quotation that it is shown in.
        names = objects.prefix(Self.maximumNameCount).map { DisplayText(fact: $0.fact, calledByPrograms: $0.label) }
        (count, self.noun) = (objects.count, noun)
        areAllNamedInFull =
            names.count == count
            && objects.allSatisfy { DisplayText(wholeFact: $0.fact, calledByPrograms: $0.label) != nil }
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        names = try container.decode([DisplayText].self, forKey: .names)
        count = try container.decode(Int.self, forKey: .count)
        noun = try container.decode(Noun.self, forKey: .noun)
        areAllNamedInFull = try container.decode(Bool.self, forKey: .areAllNamedInFull)
        guard (1...Self.maximumNameCount).contains(names.count), count >= names.count else {
            throw DecodingError.dataCorruptedError(forKey: .count, in: container, debugDescription: "not a list")
        }
    }
}
