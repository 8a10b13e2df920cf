import CFIDO2
import SecurityKeyProtocol

/// Finds out which of several credentials the key holds, without a touch (CTAP 2.1, 6.2: `up` is false).
struct CredentialSearch {
    private let device: KeyDevice
    /// The most credentials that the key takes at once.
    let listCount: Int

    init(on device: KeyDevice) {
        self.device = device
        listCount = device.isFIDO2 ? device.info?.listCount ?? 1 : SecurityKeyLimits.credentialCount
    }

    /// Without those that are too long to be the key's.
    func fitting(_ identifiers: [[UInt8]]) -> [[UInt8]] {
        let longest = device.isFIDO2 ? device.info?.credentialByteCount : Int(UInt8.max)
        return identifiers.filter { $0.count <= longest ?? SecurityKeyLimits.credentialByteCount }
    }

    /// The first one that the key admits to hold.
    func held(of identifiers: [[UInt8]], for relyingParty: String) throws -> [UInt8]? {
        // A key of U2F does not tell which one of a list it is.
        let batchCount = device.isFIDO2 ? listCount : 1
        var rest = identifiers[...]
        while !rest.isEmpty {
            let batch = Array(rest.prefix(batchCount))
            rest = rest.dropFirst(batchCount)
            if let found = try held(in: batch, for: relyingParty) { return found }
        }
        return nil
    }

    private func held(in batch: [[UInt8]], for relyingParty: String) throws -> [UInt8]? {
        guard let assertion = fido_assert_new() else { throw FIDOError.internalFault }
        defer {
            var freed: OpaquePointer? = assertion
            fido_assert_free(&freed)
        }
        let hash = [UInt8](repeating: 0, count: 32)
        try FIDOError.check(fido_assert_set_clientdata_hash(assertion, hash, hash.count))
        try FIDOError.check(fido_assert_set_rp(assertion, relyingParty))
        try FIDOError.check(fido_assert_set_up(assertion, FIDO_OPT_FALSE))
        for identifier in batch {
            try FIDOError.check(fido_assert_allow_cred(assertion, identifier, identifier.count))
        }
        switch device.use(assertion, nil) {
        case FIDO_OK:
            let found = bytes(fido_assert_id_ptr(assertion, 0), fido_assert_id_len(assertion, 0))
            // A key may leave the identifier out when there was only one.
            return found.isEmpty && batch.count == 1 ? batch[0] : batch.contains(found) ? found : nil
        case FIDO_ERR_USER_PRESENCE_REQUIRED: return batch[0]
        case FIDO_ERR_NO_CREDENTIALS, FIDO_ERR_PIN_REQUIRED, FIDO_ERR_UNSUPPORTED_OPTION: return nil
        case let code: throw FIDOError(code: code)
        }
    }
}
