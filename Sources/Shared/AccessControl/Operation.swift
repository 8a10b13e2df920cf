extension AccessControl {
    /// The operations on a protected object. Raw values are stored and never change their meaning.
    ///
    /// (Nested, because Foundation has an `Operation` of its own.)
    public enum Operation: UInt8, CaseIterable, Sendable {
        case create = 1
        /// Read the secret bytes.
        case read = 2
        case sign = 3
        case decrypt = 4
        case keyExchange = 5
        case delete = 6
        /// Change the object's data or access control.
        case change = 7

        /// Whether the operation cannot be done without the object's access secret, so that its requirement is compiled
        /// into key slots. The other operations are checks of the broker alone.
        public var needsAccessSecret: Bool {
            switch self {
            case .read, .sign, .decrypt, .keyExchange: true
            case .create, .delete, .change: false
            }
        }

        /// The operation's name in logs and messages, for example `key-exchange`.
        public var name: String {
            switch self {
            case .create: "create"
            case .read: "read"
            case .sign: "sign"
            case .decrypt: "decrypt"
            case .keyExchange: "key-exchange"
            case .delete: "delete"
            case .change: "change"
            }
        }
    }
}

extension AccessControl.Operation: Comparable {
    /// The order of the canonical form.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension AccessControl.Operation: CustomStringConvertible {
    /// The same as ``name``.
    public var description: String { name }
}
