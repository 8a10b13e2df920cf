/// The sources of a new package.
extension PackageTemplate {
    /// To be replaced; it shows that all settings work, and uses no other names than on macOS.
    static let program = """
        import Combine
        import Foundation
        import LocalAuthentication
        import os

        final class Vault: ObservableObject {
            @Published var lastStatus: OSStatus = errSecSuccess
            private let log = Logger(subsystem: "org.example.app", category: "vault")

            func add(_ password: String) {
                let item: [String: Any] = [
                    kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "example",
                    kSecValueData as String: Data(password.utf8),
                ]
                lastStatus = SecItemAdd(item as CFDictionary, nil)
                log.notice("added with status \\(self.lastStatus), password \\(password)")
            }
        }

        let vault = Vault()
        print("The person can be asked:", LAContext().canEvaluatePolicy(.deviceOwnerAuthentication, error: nil))
        // Not an argument: everybody on the machine sees those.
        print("Password to keep, or nothing: ", terminator: "")
        if let password = readLine(), !password.isEmpty { vault.add(password) }

        """

    static let logger = """
        #if os(Linux)
        import Foundation

        /// Writes to standard error (Apple's `Logger` of `os`). As on Apple's systems, a value that is no number is not shown
        /// unless it is said to be public.
        public struct Logger: Sendable {
            private let prefix: String

            public init() { prefix = "" }
            public init(subsystem: String, category: String) { prefix = "[\\(subsystem):\\(category)] " }

            public func trace(_ message: OSLogMessage) { write("trace", message) }
            public func debug(_ message: OSLogMessage) { write("debug", message) }
            public func info(_ message: OSLogMessage) { write("info", message) }
            public func notice(_ message: OSLogMessage) { write("notice", message) }
            public func warning(_ message: OSLogMessage) { write("warning", message) }
            public func error(_ message: OSLogMessage) { write("error", message) }
            public func critical(_ message: OSLogMessage) { write("critical", message) }
            public func fault(_ message: OSLogMessage) { write("fault", message) }
            public func log(_ message: OSLogMessage) { write("notice", message) }

            private func write(_ level: String, _ message: OSLogMessage) {
                FileHandle.standardError.write(Data("\\(prefix)\\(level): \\(message.text)\\n".utf8))
            }
        }

        /// Who may read a value in the log (Apple's `OSLogPrivacy`).
        public struct OSLogPrivacy: Sendable {
            let isShown: Bool?
            public static let auto = OSLogPrivacy(isShown: nil)
            public static let `public` = OSLogPrivacy(isShown: true)
            public static let `private` = OSLogPrivacy(isShown: false)
            public static let sensitive = OSLogPrivacy(isShown: false)
        }

        /// A text with values (Apple's `OSLogMessage`).
        public struct OSLogMessage: ExpressibleByStringInterpolation, Sendable {
            public struct StringInterpolation: StringInterpolationProtocol {
                fileprivate var text = ""

                public init(literalCapacity: Int, interpolationCount: Int) {}
                public mutating func appendLiteral(_ literal: String) { text += literal }

                public mutating func appendInterpolation<Value>(
                    _ value: @autoclosure () -> Value, privacy: OSLogPrivacy = .auto
                ) {
                    let value = value()
                    let isShown = privacy.isShown ?? (value is any Numeric || value is Bool)
                    text += isShown ? "\\(value)" : "<private>"
                }
            }

            let text: String

            public init(stringLiteral text: String) { self.text = text }
            public init(stringInterpolation interpolation: StringInterpolation) { text = interpolation.text }
        }
        #endif

        """

    static let unfairLock = """
        #if os(Linux)
        import Synchronization

        /// A lock with what it guards (Apple's `OSAllocatedUnfairLock`).
        public final class OSAllocatedUnfairLock<State: Sendable>: Sendable {
            private let state: Mutex<State>

            public init(initialState: State) { state = Mutex(initialState) }

            public func withLock<Result: Sendable>(_ body: @Sendable (inout State) throws -> Result) rethrows -> Result {
                try state.withLock { try body(&$0) }
            }
        }

        extension OSAllocatedUnfairLock where State == Void {
            public convenience init() { self.init(initialState: ()) }

            public func withLock<Result: Sendable>(_ body: @Sendable () throws -> Result) rethrows -> Result {
                try withLock { _ in try body() }
            }
        }
        #endif

        """

    static let observableObject = """
        #if os(Linux)
        /// An object that views follow (Apple's `ObservableObject` of Combine). There are no views here, so nobody is told of a
        /// change. For publishers, take the product `Combine` of Ostiary's package `Compatibility` and remove this target.
        public protocol ObservableObject: AnyObject {}

        /// A property that views follow (Apple's `Published`).
        @propertyWrapper
        public struct Published<Value> {
            public var wrappedValue: Value

            public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
            public init(initialValue: Value) { wrappedValue = initialValue }
        }

        extension Published: Sendable where Value: Sendable {}
        #endif

        """
}
