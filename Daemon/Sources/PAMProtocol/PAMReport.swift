public import PromptProtocol

/// What `ostiary-pam` says: any number of texts, and one result as its last message.
public enum PAMReport: Equatable, Sendable {
    /// The module tells the person something, for example to look at the camera.
    case info(DisplayText)
    /// The module tells the person about a mistake. It is no result.
    case error(DisplayText)
    case result(PAMResult)

    /// The most bytes of a message: a text has at most 300 Unicode scalars.
    public static let maximumByteCount = 1 + 4 * DisplayText.maximumScalarCount

    private static let infoKind: UInt8 = 1
    private static let errorKind: UInt8 = 2
    private static let resultKind: UInt8 = 3

    /// One message: a byte that says the kind, and the text in UTF-8 or the result's byte.
    public var bytes: [UInt8] {
        switch self {
        case .info(let text): [Self.infoKind] + Array(text.string.utf8)
        case .error(let text): [Self.errorKind] + Array(text.string.utf8)
        case .result(let result): [Self.resultKind, result.rawValue]
        }
    }

    /// Nil for bytes that ``bytes`` never has: a text that is not harmless already is not repaired.
    public init?(decoding bytes: [UInt8]) {
        guard bytes.count <= Self.maximumByteCount, let kind = bytes.first else { return nil }
        let body = bytes.dropFirst()
        switch kind {
        case Self.infoKind, Self.errorKind:
            guard let string = String(validating: body, as: UTF8.self) else { return nil }
            let text = DisplayText(string)
            guard text.string.utf8.elementsEqual(body) else { return nil }
            self = kind == Self.infoKind ? .info(text) : .error(text)
        case Self.resultKind:
            guard body.count == 1, let result = body.first.flatMap(PAMResult.init(rawValue:)) else { return nil }
            self = .result(result)
        default: return nil
        }
    }
}

/// How an attempt ended.
public enum PAMResult: UInt8, Equatable, Sendable, CaseIterable {
    /// The module says that it is the user.
    case recognized = 1
    /// The module says that it is somebody else, or recognised nobody.
    case notRecognized = 2
    /// The module asked for something to be typed. Nobody was asked.
    case asked = 3
    /// The module does not know the user, or the user of the process has no name.
    case userUnknown = 4
    /// The module is missing or cannot be loaded.
    case moduleUnusable = 5
    /// The module could not decide, for example without a camera.
    case unavailable = 6
    /// The service file was refused.
    case serviceRefused = 7
    /// The request could not be read, or names files that its sender may not choose.
    case badRequest = 8
    /// The request names another user than the helper's own.
    case otherUser = 9
}
