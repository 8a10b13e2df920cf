/// The messages to `ostiary-display` (`Documentation/formats/display.md`).
enum DisplayMessages {
    enum Kind: UInt8 {
        case wayland = 1
        case x11 = 2
        case cookies = 3
    }

    enum Result: UInt8 {
        case connected = 0
        case absent = 1
        /// The kernel's refusal, with its errno.
        case refused = 2
        case otherOwner = 3
        case several = 4
        case badRequest = 5
    }

    /// A display that the helper found.
    struct Display: Equatable {
        /// The process that listens.
        let processID: Int32
        let userID: UInt32
        let name: String
    }

    struct Answer: Equatable {
        let result: Result
        let errorNumber: Int32
        let displays: [Display]

        /// Nil for bytes of another form.
        init?(decoding bytes: [UInt8]) {
            var rest = bytes[...]
            guard rest.popFirst() == 0x64, let code = rest.popFirst(), let result = Result(rawValue: code),
                let errorNumber = rest.popNumber(2), let count = rest.popFirst(), rest.popNumber(3) == 0
            else { return nil }
            var displays: [Display] = []
            for _ in 0..<count {
                guard let display = Display(from: &rest) else { return nil }
                displays.append(display)
            }
            guard rest.isEmpty else { return nil }
            (self.result, self.errorNumber, self.displays) = (result, Int32(errorNumber), displays)
        }
    }

    /// The longest answer: sixteen displays.
    static let answerByteCount = 8 + 16 * (9 + 255)

    /// - Parameter name: `wayland-N` or `:N`; empty for the only one.
    static func request(_ kind: Kind, _ name: String = "", of userID: UInt32) -> [UInt8] {
        let length = UInt16(clamping: name.utf8.count)
        return [0x44, kind.rawValue, 0, 0] + bytes(userID) + bytes(length) + name.utf8
    }

    private static func bytes(_ number: some FixedWidthInteger & UnsignedInteger) -> [UInt8] {
        (1...number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> (number.bitWidth - 8 * $0)) }
    }
}

extension DisplayMessages.Display {
    fileprivate init?(from bytes: inout ArraySlice<UInt8>) {
        guard let process = bytes.popNumber(4), let user = bytes.popNumber(4), let length = bytes.popFirst(),
            bytes.count >= Int(length), let processID = Int32(exactly: process),
            let name = String(validating: bytes.prefix(Int(length)), as: UTF8.self)
        else { return nil }
        bytes = bytes.dropFirst(Int(length))
        self.init(processID: processID, userID: user, name: name)
    }
}

extension ArraySlice<UInt8> {
    /// Takes a number of so many bytes, big-endian.
    fileprivate mutating func popNumber(_ byteCount: Int) -> UInt32? {
        guard count >= byteCount else { return nil }
        defer { self = dropFirst(byteCount) }
        return prefix(byteCount).reduce(0) { $0 << 8 | UInt32($1) }
    }
}
