/// The form of a passcode, found in one pass that keeps only the previous character.
struct PasscodeShape {
    private(set) var characterCount = 0
    private(set) var hasControlCharacter = false
    /// Decimal digits of any script.
    private(set) var isDigitsOnly = true
    private var progressions: Progression = .all
    private var previous: Unicode.Scalar?

    var isOneCharacterRepeated: Bool { progressions.contains(.same) }
    /// Whether each character follows the one before in the alphabet, the digits or a row of keys, one way throughout.
    var isSequence: Bool { !progressions.isDisjoint(with: [.ascending, .descending, .alongKeys, .backAlongKeys]) }

    /// Reads `bytes`; nil when they are not valid UTF-8.
    init?(of bytes: UnsafeRawBufferPointer) {
        var decoder = UTF8()
        var iterator = unsafe bytes.makeIterator()
        while true {
            switch unsafe decoder.decode(&iterator) {
            case .scalarValue(let scalar): add(scalar)
            case .emptyInput: return
            case .error: return nil
            }
        }
    }

    private mutating func add(_ scalar: Unicode.Scalar) {
        characterCount += 1
        if scalar.properties.generalCategory == .control { hasControlCharacter = true }
        if scalar.properties.numericType != .decimal { isDigitsOnly = false }
        let folded = scalar.foldedASCII
        if let previous { progressions.formIntersection(Progression(from: previous, to: folded)) }
        previous = folded
    }
}

/// The ways in which one character can follow another in a passcode that needs no guessing.
private struct Progression: OptionSet {
    let rawValue: UInt8
    static let same = Progression(rawValue: 1)
    static let ascending = Progression(rawValue: 2)
    static let descending = Progression(rawValue: 4)
    static let alongKeys = Progression(rawValue: 8)
    static let backAlongKeys = Progression(rawValue: 16)
    static let all: Progression = [.same, .ascending, .descending, .alongKeys, .backAlongKeys]

    /// Rows of the Latin layouts QWERTY, QWERTZ and AZERTY, and of the digits, which end in 0.
    private static let keyRows: [[Unicode.Scalar]] = [
        "1234567890", "qwertyuiop", "qwertzuiop", "azertyuiop", "asdfghjkl", "qsdfghjklm", "zxcvbnm", "yxcvbnm",
        "wxcvbn",
    ].map { Array($0.unicodeScalars) }

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init(from first: Unicode.Scalar, to second: Unicode.Scalar) {
        self = []
        if first == second { insert(.same) }
        if second.value == first.value + 1 { insert(.ascending) }
        if first.value == second.value + 1 { insert(.descending) }
        for row in Self.keyRows {
            guard let index = row.firstIndex(of: first) else { continue }
            if index + 1 < row.count, row[index + 1] == second { insert(.alongKeys) }
            if index > 0, row[index - 1] == second { insert(.backAlongKeys) }
        }
    }
}

extension Unicode.Scalar {
    /// The lower-case letter for A to Z, so that shift does not hide a sequence.
    fileprivate var foldedASCII: Unicode.Scalar {
        ("A"..."Z").contains(self) ? Unicode.Scalar(UInt8(value) | 0x20) : self
    }
}
