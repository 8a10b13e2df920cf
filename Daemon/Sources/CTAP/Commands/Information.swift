import CanonicalCBOR

extension CTAPAuthenticator {
    /// authenticatorGetInfo (CTAP 2.1, 6.4).
    func information() throws(CTAPStatus) -> CBORValue {
        let algorithm = CBORValue.map(["alg": .number(COSEKey.es256), "type": .text(CredentialList.publicKey)])
        return .map([
            1: .array([.text("FIDO_2_0"), .text("FIDO_2_1")]),
            2: .array([.text("credProtect"), .text("hmac-secret")]),
            3: .bytes(model.identifier),
            4: try options(),
            5: .number(CTAPLimits.messageByteCount),
            6: .array([.number(PINProtocol.two.rawValue), .number(PINProtocol.one.rawValue)]),
            7: .number(CTAPLimits.listCount),
            8: .number(CTAPLimits.credentialIdentifierByteCount),
            9: .array(model.transports.map { .text($0) }),
            10: .array([algorithm]),
            13: pins == nil ? nil : .number(CTAPLimits.pinCharacterCount),
            20: .number(try storage.remainingCount()),
        ])
    }

    private func options() throws(CTAPStatus) -> CBORValue {
        let hasPIN = try pins.map { pins throws(CTAPStatus) in try pins.pinHash() != nil }
        return .map([
            "rk": .boolean(true), "up": .boolean(true), "plat": .boolean(model.isPlatform),
            "alwaysUv": model.alwaysVerifies ? .boolean(true) : nil, "credMgmt": .boolean(true),
            "clientPin": hasPIN.map { .boolean($0) }, "uv": interaction.isVerificationReady.map { .boolean($0) },
            "pinUvAuthToken": .boolean(true),
            "makeCredUvNotRqd": model.alwaysVerifies ? nil : .boolean(true),
        ])
    }

    /// Whether the authenticator can verify its user now, with a PIN or by itself.
    func isProtected() throws(CTAPStatus) -> Bool {
        if interaction.isVerificationReady == true { return true }
        guard let pins else { return false }
        return try pins.pinHash() != nil
    }
}
