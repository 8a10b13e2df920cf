/// The kinds of enclaves. The text is stored and shown; the code stands in blobs.
public enum EnclaveKind: String, CaseIterable, Sendable {
    case software
    case tpm

    /// The kind's byte in the header of every blob; never reused for another kind.
    public var code: UInt8 {
        switch self {
        case .software: 1
        case .tpm: 2
        }
    }

    /// The kind with this byte code; nil for an unknown one.
    public init?(code: UInt8) {
        guard let kind = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = kind
    }
}

/// Who can try passcodes, and how often.
public enum GuessingExposure: Sendable {
    /// Anybody with a copy of the files can try, without this machine, as fast as the stretching allows.
    case offline
    /// The chip counts wrong values and stops; a copy of the files is useless without it.
    case limitedByHardware
}
