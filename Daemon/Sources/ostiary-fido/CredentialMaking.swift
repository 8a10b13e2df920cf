import CFIDO2
import SecretBuffers
import SecurityKeyProtocol

/// One `authenticatorMakeCredential`, or a registration of FIDO U2F.
struct CredentialMaking {
    private let creation: KeyCreation
    private let device: KeyDevice

    init(_ creation: KeyCreation, on device: KeyDevice) { (self.creation, self.device) = (creation, device) }

    func run(pin: borrowing SecretBytes) throws -> CreatedKeyCredential {
        guard let credential = fido_cred_new() else { throw FIDOError.internalFault }
        defer {
            var freed: OpaquePointer? = credential
            fido_cred_free(&freed)
        }
        try fill(credential)
        try exclude(in: credential)
        try CPIN(pin).lend { try device.make(credential, $0) }
        return try Self.result(of: credential)
    }

    private func fill(_ credential: OpaquePointer) throws {
        let hash = creation.clientDataHash
        try FIDOError.check(fido_cred_set_type(credential, creation.algorithm))
        try FIDOError.check(fido_cred_set_clientdata_hash(credential, hash, hash.count))
        try FIDOError.check(fido_cred_set_rp(credential, creation.relyingParty, creation.relyingPartyName))
        let user = creation.userHandle
        try FIDOError.check(
            fido_cred_set_user(credential, user, user.count, creation.userName, creation.userDisplayName, nil))
        if creation.isDiscoverable { try FIDOError.check(fido_cred_set_rk(credential, FIDO_OPT_TRUE)) }
        if creation.verifiesUser { try FIDOError.check(fido_cred_set_uv(credential, FIDO_OPT_TRUE)) }
        let extensions =
            (creation.wantsHMACSecret ? FIDO_EXT_HMAC_SECRET : 0)
            | (creation.wantsLargeBlobKey ? FIDO_EXT_LARGEBLOB_KEY : 0)
        if extensions != 0 { try FIDOError.check(fido_cred_set_extensions(credential, extensions)) }
        if creation.protection != 0 {
            try FIDOError.check(fido_cred_set_prot(credential, CInt(creation.protection)))
        }
    }

    /// A list that is too long for the key is searched first, without a touch. The request then names only the credential
    /// that the key holds, so that the key asks for a touch before it says that it is excluded.
    private func exclude(in credential: OpaquePointer) throws {
        let search = CredentialSearch(on: device)
        var identifiers = search.fitting(creation.excluded)
        if identifiers.count > search.listCount {
            identifiers = try search.held(of: identifiers, for: creation.relyingParty).map { [$0] } ?? []
        }
        for identifier in identifiers {
            try FIDOError.check(fido_cred_exclude(credential, identifier, identifier.count))
        }
    }

    private static func result(of credential: OpaquePointer) throws -> CreatedKeyCredential {
        let result = CreatedKeyCredential(
            identifier: bytes(fido_cred_id_ptr(credential), fido_cred_id_len(credential)),
            format: fido_cred_fmt(credential).map { String(cString: $0) } ?? "",
            statement: bytes(fido_cred_attstmt_ptr(credential), fido_cred_attstmt_len(credential)),
            authenticatorData: bytes(fido_cred_authdata_raw_ptr(credential), fido_cred_authdata_raw_len(credential)),
            hasLargeBlobKey: fido_cred_largeblob_key_len(credential) == 32)
        let isSound =
            (1...SecurityKeyLimits.credentialByteCount).contains(result.identifier.count)
            && result.authenticatorData.count <= UInt16.max && result.statement.count <= UInt16.max
        guard isSound else { throw FIDOError(code: FIDO_ERR_RX_INVALID_CBOR) }
        return result
    }
}

/// Copies bytes that libfido2 owns.
func bytes(_ start: UnsafePointer<UInt8>?, _ count: Int) -> [UInt8] {
    Array(UnsafeBufferPointer(start: start, count: start == nil ? 0 : count))
}
