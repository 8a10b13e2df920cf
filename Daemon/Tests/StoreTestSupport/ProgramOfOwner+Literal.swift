public import ExactNames

extension OwnerID {
    /// An owner of a test's own; the same for the same number.
    public static func numbered(_ number: UInt8) -> OwnerID {
        OwnerID(bytes: [UInt8](repeating: number, count: byteCount))!  // They are exactly as many.
    }
}

/// In tests a text alone is a program without an owner.
extension ProgramOfOwner: ExpressibleByStringInterpolation {
    public init(stringLiteral text: String) { self.init(owner: nil, program: ExactName(text)) }
}
