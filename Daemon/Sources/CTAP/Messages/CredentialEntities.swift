import AuthenticatorRequests
import CanonicalCBOR

extension RelyingPartyName {
    init(_ map: CBORMap) throws(CTAPStatus) {
        let parameters = Parameters(map)
        let identifier = try parameters.required("id", \.text)
        guard 1...CTAPLimits.relyingPartyByteCount ~= identifier.utf8.count else { throw .invalidLength }
        self.init(identifier: identifier, name: try parameters.optional("name", \.text)?.cut)
    }

    var cbor: CBORValue { .map(["id": .text(identifier), "name": name.map { .text($0) }]) }
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
