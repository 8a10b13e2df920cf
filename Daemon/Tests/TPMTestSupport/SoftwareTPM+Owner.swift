extension SoftwareTPM {
    public static let ownerPassword = "owner of this chip"

    /// Gives the owner hierarchy a password.
    public func setOwnerPassword(_ password: String = SoftwareTPM.ownerPassword) throws {
        try tool("tpm2_changeauth", "-c", "owner", password)
    }

    /// The chip's indexes and persistent keys, which outlast a restart.
    public func lastingHandles() throws -> [String] {
        try ["handles-nv-index", "handles-persistent"].flatMap { kind in
            try tool("tpm2_getcap", kind).split(separator: "\n").map { String($0.drop { "- ".contains($0) }) }
        }
    }

    /// The wrong authorizations that count towards the chip's own lockout.
    public func lockoutCount() throws -> String {
        let state = try tool("tpm2_getcap", "properties-variable").split(separator: "\n")
        return state.first { $0.contains("TPM2_PT_LOCKOUT_COUNTER") }.map(String.init) ?? ""
    }

    /// Keeps the storage key in the chip, as on a common machine.
    public func keepStorageKey() throws {
        try keep("ecc")
    }

    /// Keeps another program's signing key in the place of the storage key.
    public func keepForeignSigningKey() throws {
        try keep("ecc:ecdsa", "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|sign")
    }

    /// Keeps a primary key of the owner hierarchy in the place of the storage key.
    ///
    /// - Parameters:
    ///   - attributes: those of the TCG's storage key by default; nil for those that tpm2-tools choose, with which it takes part in
    ///     the chip's lockout.
    ///   - password: the key's authorization value.
    public func keep(
        _ algorithm: String,
        _ attributes: String? = "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|noda|restricted|decrypt",
        password: String? = nil
    ) throws {
        let given = (attributes.map { ["-a", $0] } ?? []) + (password.map { ["-p", $0] } ?? [])
        try tool("tpm2_createprimary", arguments: ["-C", "o", "-G", algorithm, "-c", "kept.ctx"] + given)
        try tool("tpm2_flushcontext", "-t")
        try tool("tpm2_evictcontrol", "-C", "o", "-c", "kept.ctx", "0x81000001")
        try tool("tpm2_flushcontext", "-t")
    }
}
