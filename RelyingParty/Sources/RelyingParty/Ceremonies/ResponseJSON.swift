public import Foundation

/// The answer of a client as `PublicKeyCredential.toJSON()` gives it (WebAuthn Level 3, section 5.1.1.1).
private struct CredentialJSON<Response: Decodable>: Decodable {
    let rawId: String
    let type: String
    let authenticatorAttachment: String?
    let clientExtensionResults: ClientExtensionsJSON?
    let response: Response

    func bytes(_ text: String) throws(CeremonyJSONError) -> Data {
        guard let bytes = Data(base64URLEncoded: text) else { throw .malformed }
        return bytes
    }

    /// Nil for a word that is not known: a later specification may have more of them.
    var attachment: AuthenticatorAttachment? { authenticatorAttachment.flatMap(AuthenticatorAttachment.init) }

    func extensionResults() throws(CeremonyJSONError) -> ClientExtensionResults {
        try clientExtensionResults?.results() ?? ClientExtensionResults()
    }

    static func decode(_ json: Data) throws(CeremonyJSONError) -> Self {
        guard json.count <= Limits.responseByteCount else { throw .tooLong(json.count) }
        guard let decoded = try? JSONDecoder().decode(Self.self, from: json), decoded.type == "public-key" else {
            throw .malformed
        }
        return decoded
    }
}

private struct RegistrationJSON: Decodable {
    let clientDataJSON: String
    let attestationObject: String
    let transports: [String]?
}

private struct AssertionJSON: Decodable {
    let clientDataJSON: String
    let authenticatorData: String
    let signature: String
    let userHandle: String?
}

/// Why the JSON of an answer cannot be read.
public enum CeremonyJSONError: Error, Equatable, Sendable {
    /// More bytes than any client sends; this many.
    case tooLong(Int)
    /// It is no JSON, a member is missing or of another type, or bytes are not in base64url.
    case malformed
}

extension RegistrationResponse {
    /// Reads what `toJSON()` of a new credential gives.
    public init(json: Data) throws(CeremonyJSONError) {
        let decoded = try CredentialJSON<RegistrationJSON>.decode(json)
        self.init(
            credentialID: try decoded.bytes(decoded.rawId),
            clientDataJSON: try decoded.bytes(decoded.response.clientDataJSON),
            attestationObject: try decoded.bytes(decoded.response.attestationObject),
            transports: Self.known(decoded.response.transports ?? []), attachment: decoded.attachment,
            extensionResults: try decoded.extensionResults())
    }

    /// The transports that are registered, each once: what a client sends is stored and sent back later.
    private static func known(_ transports: [String]) -> [String] {
        ["ble", "hybrid", "internal", "nfc", "smart-card", "usb"].filter(transports.contains)
    }
}

extension AssertionResponse {
    /// Reads what `toJSON()` of a credential that signed gives.
    public init(json: Data) throws(CeremonyJSONError) {
        let decoded = try CredentialJSON<AssertionJSON>.decode(json)
        var userHandle: Data?
        if let text = decoded.response.userHandle { userHandle = try decoded.bytes(text) }
        self.init(
            credentialID: try decoded.bytes(decoded.rawId),
            clientDataJSON: try decoded.bytes(decoded.response.clientDataJSON),
            authenticatorData: try decoded.bytes(decoded.response.authenticatorData),
            signature: try decoded.bytes(decoded.response.signature), userHandle: userHandle,
            attachment: decoded.attachment, extensionResults: try decoded.extensionResults())
    }
}
