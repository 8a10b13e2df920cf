package import Vault

/// The classes by Apple's four-letter names, as programs and the log say them.
extension ItemClass {
    package init?(name: String) {
        guard let found = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = found
    }

    package var name: String {
        switch self {
        case .genericPassword: "genp"
        case .internetPassword: "inet"
        case .key: "keys"
        case .certificate: "cert"
        }
    }
}
