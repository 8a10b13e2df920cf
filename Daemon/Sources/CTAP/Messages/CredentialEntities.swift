import AuthenticatorRequests
import CanonicalCBOR
import ExactNames

extension RelyingPartyName {
    init(_ map: CBORMap, of model: AuthenticatorModel) throws(CTAPStatus) {
        let parameters = Parameters(map)
        let identifier = try Self.identifier(parameters.required("id", \.text), of: model)
        self.init(identifier: identifier, name: try parameters.optional("name", \.text)?.cut)
    }

    /// The identifier in a request, if the authenticator takes such ones.
    static func identifier(_ text: String, of model: AuthenticatorModel) throws(CTAPStatus) -> ExactName {
        guard 1...CTAPLimits.relyingPartyByteCount ~= text.utf8.count else { throw .invalidLength }
        guard !model.takesDomainsOnly || RelyingPartyIdentifier(text) != nil || isOfSSH(text) else {
            throw .invalidParameter
        }
        return ExactName(text)
    }

    /// Whether OpenSSH is the relying party: `ssh:` and whatever its user puts behind (OpenSSH's PROTOCOL.u2f). No web page has such
    /// a name. Without spaces and letters beyond ASCII it has one spelling.
    private static func isOfSSH(_ text: String) -> Bool {
        text.utf8.starts(with: "ssh:".utf8) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    var cbor: CBORValue { .map(["id": .text(identifier.text), "name": name.map { .text($0) }]) }
}

extension CredentialUser {
    init(_ map: CBORMap) throws(CTAPStatus) {
        let parameters = Parameters(map)
        let identifier = try parameters.required("id", \.byteArray)
        guard 1...CTAPLimits.userHandleByteCount ~= identifier.count else { throw .invalidLength }
        self.init(
            identifier: identifier, name: try parameters.optional("name", \.text)?.cut,
            displayName: try parameters.optional("displayName", \.text)?.cut)
    }

    /// - Parameter isNamed: names are told only after user verification.
    func cbor(isNamed: Bool) -> CBORValue {
        .map([
            "id": .bytes(identifier), "name": isNamed ? name.map { .text($0) } : nil,
            "displayName": isNamed ? displayName.map { .text($0) } : nil,
        ])
    }
}

enum CredentialList {
    /// - Returns: the identifiers of the entries whose type is known.
    static func identifiers(_ value: CBORValue) throws(CTAPStatus) -> [[UInt8]] {
        guard let entries = value.array else { throw .unexpectedType }
        guard entries.count <= CTAPLimits.listCount else { throw .limitExceeded }
        var identifiers: [[UInt8]] = []
        for entry in entries {
            if let identifier = try identifier(entry) { identifiers.append(identifier) }
        }
        return identifiers
    }

    /// The identifier of one descriptor; nil if its type is not known.
    static func identifier(_ value: CBORValue) throws(CTAPStatus) -> [UInt8]? {
        guard let map = value.map else { throw .unexpectedType }
        let parameters = Parameters(map)
        let type = try parameters.required("type", \.text)
        let identifier = try parameters.required("id", \.byteArray)
        return type == publicKey ? identifier : nil
    }

    static func descriptor(_ identifier: [UInt8]) -> CBORValue {
        .map(["id": .bytes(identifier), "type": .text(publicKey)])
    }

    static let publicKey = "public-key"
}

extension String {
    /// The longest beginning that fits into ``CTAPLimits/nameByteCount`` and ends with a whole character.
    fileprivate var cut: String {
        var (count, end) = (0, startIndex)
        for index in indices {
            count += self[index].utf8.count
            if count > CTAPLimits.nameByteCount { break }
            end = self.index(after: index)
        }
        return String(self[..<end])
    }
}
