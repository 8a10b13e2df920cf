import MessageBus
import SecretItems

extension BusFault {
    /// The errors of the Secret Service.
    static let isLocked = BusFault(
        "org.freedesktop.Secret.Error.IsLocked", "It is locked. Unlock it (org.freedesktop.Secret.Service.Unlock).")
    static let noSession = BusFault(
        "org.freedesktop.Secret.Error.NoSession", "This connection has no such session. Open one.")
    static let noSuchObject = BusFault(
        "org.freedesktop.Secret.Error.NoSuchObject", "There is no such collection, item or prompt.")

    /// An error of D-Bus itself, with words of this service.
    static func standard(_ name: String, _ words: String) -> BusFault {
        BusFault("org.freedesktop.DBus.Error." + name, words)
    }

    static func denied(_ words: String) -> BusFault { standard("AccessDenied", words) }
    static func unsupported(_ words: String) -> BusFault { standard("NotSupported", words) }
    static func invalid(_ words: String) -> BusFault { standard("InvalidArgs", words) }
    static func tooMuch(_ words: String) -> BusFault { standard("LimitsExceeded", words) }

    /// What a program is told when Ostiary does not do it.
    init(_ refusal: StoreRefusal) {
        self =
            switch refusal {
            case .locked: .isLocked
            case .notFound: .noSuchObject
            case .notPermitted(let words), .noClient(let words): .denied(words)
            case .declined, .needsQuestion, .nothingToProve, .cancelled: .standard("AuthFailed", refusal.description)
            case .tooMuch(let words): .tooMuch(words)
            case .invalid(let words): .invalid(words)
            case .failed(let words): .failed(words)
            }
    }

    /// Runs what Ostiary may refuse.
    static func catching<Value>(_ body: () throws(StoreRefusal) -> Value) throws(BusFault) -> Value {
        do throws(StoreRefusal) { return try body() } catch { throw BusFault(error) }
    }
}
