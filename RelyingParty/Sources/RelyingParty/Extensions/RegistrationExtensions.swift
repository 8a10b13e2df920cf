public import Foundation

/// The extensions that are asked for when a credential is made (WebAuthn Level 3, section 10).
public struct RegistrationExtensions: Sendable, Equatable, Encodable {
    public enum LargeBlobSupport: String, Sendable, Encodable {
        case required, preferred
    }

    /// `credProps`: ask whether the credential names its account by itself.
    public var asksForProperties = true
    /// `prf`: prepare the credential for values that a page derives with it. The inputs give values at once, where an
    /// authenticator can.
    public var prf: PRFRequest?
    /// `largeBlob`: prepare the credential for some bytes that the authenticator keeps.
    public var largeBlob: LargeBlobSupport?
    /// `credProtect`: when the authenticator may use the credential.
    public var protection: CredentialProtection?
    /// Whether a registration with a weaker protection, or without any, is refused: by the client, and here again.
    public var enforcesProtection = false
    /// `minPinLength`: ask for the shortest PIN that the authenticator takes. It answers relying parties that it knows only.
    public var asksForMinimumPINLength = false

    public init() {}

    var isEmpty: Bool {
        !asksForProperties && prf == nil && largeBlob == nil && protection == nil && !asksForMinimumPINLength
    }

    private enum CodingKeys: String, CodingKey {
        case credProps, prf, largeBlob, credentialProtectionPolicy, enforceCredentialProtectionPolicy, minPinLength
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        if asksForProperties { try container.encode(true, forKey: .credProps) }
        try container.encodeIfPresent(prf, forKey: .prf)
        if let largeBlob { try container.encode(["support": largeBlob], forKey: .largeBlob) }
        if let protection {
            try container.encode(protection.name, forKey: .credentialProtectionPolicy)
            try container.encode(enforcesProtection, forKey: .enforceCredentialProtectionPolicy)
        }
        if asksForMinimumPINLength { try container.encode(true, forKey: .minPinLength) }
    }
}

/// Inputs of the extension `prf`: the page gets values that depend on them and on the credential. No value comes to the server.
public struct PRFRequest: Sendable, Equatable, Encodable {
    public struct Inputs: Sendable, Equatable, Encodable {
        public var first: Data
        public var second: Data?

        public init(first: Data, second: Data? = nil) {
            self.first = first
            self.second = second
        }

        private enum CodingKeys: CodingKey {
            case first, second
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(first.base64URLEncoded, forKey: .first)
            try container.encodeIfPresent(second?.base64URLEncoded, forKey: .second)
        }
    }

    /// The inputs for each credential that has none of its own; nil only asks whether the authenticator has the extension.
    public var inputs: Inputs?
    /// Inputs by credential ID, for sign-ins.
    public var inputsByCredential: [Data: Inputs]

    public init(_ inputs: Inputs? = nil, byCredential: [Data: Inputs] = [:]) {
        self.inputs = inputs
        inputsByCredential = byCredential
    }

    private enum CodingKeys: String, CodingKey {
        case eval, evalByCredential
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(inputs, forKey: .eval)
        guard !inputsByCredential.isEmpty else { return }
        let named = inputsByCredential.map { ($0.key.base64URLEncoded, $0.value) }
        try container.encode(Dictionary(uniqueKeysWithValues: named), forKey: .evalByCredential)
    }
}
