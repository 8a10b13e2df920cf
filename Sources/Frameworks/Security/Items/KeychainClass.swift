/// The classes of items, by Apple's strings.
enum KeychainClass: String, CaseIterable, Sendable {
    case genericPassword = "genp"
    case internetPassword = "inet"
    case key = "keys"
    case certificate = "cert"
    /// A certificate joined with the private key that belongs to it; nothing is stored under this class.
    case identity = "idnt"

    var isPassword: Bool { self == .genericPassword || self == .internetPassword }

    var isCertificateLike: Bool { self == .certificate || self == .identity }

    /// The accessibility of an item that was added without one.
    var standardAccessible: String { self == .certificate ? "dk" : "ak" }
}
