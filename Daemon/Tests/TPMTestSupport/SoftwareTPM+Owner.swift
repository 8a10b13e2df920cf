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
        try keep("ecc", "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|noda|restricted|decrypt")
    }

    /// Keeps another program's signing key in the place of the storage key.
    public func keepForeignSigningKey() throws {
        try keep("ecc:ecdsa", "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|sign")
    }

    /// Keeps a primary key of the owner hierarchy in the place of the storage key.
    ///
    /// - Parameter attributes: nil for those that tpm2-tools choose, of a storage key of an administrator.
    public func keep(_ algorithm: String, _ attributes: String? = nil) throws {
        let given = attributes.map { ["-a", $0] } ?? []
        try tool("tpm2_createprimary", arguments: ["-C", "o", "-G", algorithm, "-c", "kept.ctx"] + given)
        try tool("tpm2_flushcontext", "-t")
        try tool("tpm2_evictcontrol", "-C", "o", "-c", "kept.ctx", "0x81000001")
        try tool("tpm2_flushcontext", "-t")
    }
}
