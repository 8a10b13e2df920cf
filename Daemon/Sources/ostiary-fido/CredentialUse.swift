import CFIDO2
import SecretBuffers
import SecurityKeyProtocol

/// One `authenticatorGetAssertion`, or an authentication of FIDO U2F.
struct CredentialUse {
    private let assertion: KeyAssertion
    private let device: KeyDevice

    init(_ assertion: KeyAssertion, on device: KeyDevice) { (self.assertion, self.device) = (assertion, device) }

    /// The request to send, after the key has told which credentials it holds.
    private struct Choice {
        var relyingParty: String
        var identifiers: [[UInt8]]
        var salts: [UInt8]
        var usesAppID = false
    }

    func run(pin: borrowing SecretBytes) throws -> SecurityKeyFrame {
        guard let handle = fido_assert_new() else { throw FIDOError.internalFault }
        defer {
            var freed: OpaquePointer? = handle
            fido_assert_free(&freed)
        }
        let choice = try choose()
        try fill(handle, choice)
        let results = try CPIN(pin).lend { pin in
            try FIDOError.check(device.use(handle, pin))
            let count = fido_assert_count(handle)
            guard (1...SecurityKeyLimits.accountCount).contains(count) else { throw Self.malformed }
            return try (0..<count).map { try result(at: $0, of: handle, choice, pin) }
        }
        return SecurityKeyFrame(KeyReport.asserted(results).bytes, secret: Self.outputs(of: handle, results.count))
    }

    private static let malformed = FIDOError(code: FIDO_ERR_RX_INVALID_CBOR)

    /// Asks the key only where the request depends on which credentials it holds.
    private func choose() throws -> Choice {
        let search = CredentialSearch(on: device)
        let identifiers = search.fitting(assertion.allowed.map(\.identifier))
        // An empty list would allow every credential.
        guard identifiers.isEmpty == assertion.allowed.isEmpty else { throw FIDOError(code: FIDO_ERR_NO_CREDENTIALS) }
        var choice = Choice(
            relyingParty: assertion.relyingParty, identifiers: identifiers, salts: assertion.salts)
        let hasOwnSalts = assertion.allowed.contains { !$0.salts.isEmpty }
        guard identifiers.count > search.listCount || !assertion.appID.isEmpty || hasOwnSalts else { return choice }
        if let found = try search.held(of: identifiers, for: assertion.relyingParty) {
            choice.identifiers = [found]
            let own = assertion.allowed.first { $0.identifier == found }?.salts ?? []
            if !own.isEmpty { choice.salts = own }
        } else if !assertion.appID.isEmpty, let found = try search.held(of: identifiers, for: assertion.appID) {
            choice.identifiers = [found]
            choice.relyingParty = assertion.appID
            choice.usesAppID = true
        } else {
            // A protected credential shows itself only to a verified person.
            choice.identifiers = Array(identifiers.prefix(search.listCount))
        }
        return choice
    }

    private func fill(_ handle: OpaquePointer, _ choice: Choice) throws {
        let hash = assertion.clientDataHash
        try FIDOError.check(fido_assert_set_clientdata_hash(handle, hash, hash.count))
        try FIDOError.check(fido_assert_set_rp(handle, choice.relyingParty))
        for identifier in choice.identifiers {
            try FIDOError.check(fido_assert_allow_cred(handle, identifier, identifier.count))
        }
        if assertion.verifiesUser { try FIDOError.check(fido_assert_set_uv(handle, FIDO_OPT_TRUE)) }
        let extensions =
            (choice.salts.isEmpty ? 0 : FIDO_EXT_HMAC_SECRET)
            | (assertion.largeBlob == .none ? 0 : FIDO_EXT_LARGEBLOB_KEY)
        if extensions != 0 { try FIDOError.check(fido_assert_set_extensions(handle, extensions)) }
        if !choice.salts.isEmpty {
            try FIDOError.check(fido_assert_set_hmac_salt(handle, choice.salts, choice.salts.count))
        }
    }

    private func result(
        at index: Int, of handle: OpaquePointer, _ choice: Choice, _ pin: UnsafePointer<CChar>?
    ) throws -> KeyAssertionResult {
        var identifier = bytes(fido_assert_id_ptr(handle, index), fido_assert_id_len(handle, index))
        // A key may leave the identifier out when only one was allowed.
        if identifier.isEmpty, choice.identifiers.count == 1 { identifier = choice.identifiers[0] }
        let isAllowed = choice.identifiers.isEmpty || choice.identifiers.contains(identifier)
        guard isAllowed, (1...SecurityKeyLimits.credentialByteCount).contains(identifier.count) else {
            throw Self.malformed
        }
        let encoded = bytes(fido_assert_authdata_ptr(handle, index), fido_assert_authdata_len(handle, index))
        let user = bytes(fido_assert_user_id_ptr(handle, index), fido_assert_user_id_len(handle, index))
        let outputCount = fido_assert_hmac_secret_len(handle, index)
        guard let data = Self.contents(ofByteString: encoded), user.count <= 64, [0, 32, 64].contains(outputCount)
        else {
            throw Self.malformed
        }
        return KeyAssertionResult(
            credentialIdentifier: identifier, authenticatorData: data,
            signature: bytes(fido_assert_sig_ptr(handle, index), fido_assert_sig_len(handle, index)), userHandle: user,
            userName: Self.text(fido_assert_user_name(handle, index)),
            userDisplayName: Self.text(fido_assert_user_display_name(handle, index)), usedAppID: choice.usesAppID,
            outputByteCount: UInt8(outputCount), largeBlob: largeBlob(at: index, of: handle, pin))
    }

    private func largeBlob(
        at index: Int, of handle: OpaquePointer, _ pin: UnsafePointer<CChar>?
    ) -> KeyAssertionResult.LargeBlob {
        guard assertion.largeBlob != .none else { return .none }
        let count = fido_assert_largeblob_key_len(handle, index)
        guard let key = fido_assert_largeblob_key_ptr(handle, index), count == 32 else {
            return assertion.largeBlob == .read ? .absent : .notWritten
        }
        switch assertion.largeBlob {
        case .none: return .none
        case .read: return device.largeBlob(below: key, count).map { .blob($0) } ?? .absent
        case .write(let blob): return device.write(blob, below: key, count, pin) ? .written : .notWritten
        }
    }

    /// The outputs of hmac-secret, one assertion's behind the other's.
    private static func outputs(of handle: OpaquePointer, _ count: Int) -> SecretBytes {
        let lengths = (0..<count).map { fido_assert_hmac_secret_len(handle, $0) }
        var outputs = SecretBytes(zeroed: lengths.reduce(0, +))
        outputs.withUnsafeMutableBytes { outputs in
            var start = 0
            for (index, length) in lengths.enumerated() where length > 0 {
                let source = UnsafeRawBufferPointer(start: fido_assert_hmac_secret_ptr(handle, index), count: length)
                UnsafeMutableRawBufferPointer(rebasing: outputs[start..<start + length]).copyMemory(from: source)
                start += length
            }
        }
        return outputs
    }

    /// libfido2 keeps authenticator data as the byte string that the key sent (RFC 8949, 3.1).
    private static func contents(ofByteString encoded: [UInt8]) -> [UInt8]? {
        guard let first = encoded.first else { return nil }
        let headCount: Int
        switch first {
        case 0x40...0x57: headCount = 1
        case 0x58: headCount = 2
        case 0x59: headCount = 3
        default: return nil
        }
        guard encoded.count >= headCount else { return nil }
        let length = headCount == 1 ? Int(first & 0x1F) : encoded[1..<headCount].reduce(0) { $0 << 8 | Int($1) }
        return encoded.count == headCount + length ? Array(encoded[headCount...]) : nil
    }

    private static func text(_ text: UnsafePointer<CChar>?) -> String {
        guard let text else { return "" }
        let whole = String(cString: text)
        return whole.utf8.count <= SecurityKeyLimits.textByteCount ? whole : ""
    }
}
