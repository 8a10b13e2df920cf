extension SoftwareTPM {
    public static let ownerPassword = "owner of this chip"

    /// Gives the owner hierarchy a password.
    public func setOwnerPassword(_ password: String = SoftwareTPM.ownerPassword) throws {
        try tool("tpm2_changeauth", "-c", "owner", password)
    }

    /// What lasts in the chip: its indexes and persistent keys.
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
        try tool(
            "tpm2_createprimary", "-C", "o", "-G", "ecc", "-c", "root.ctx", "-a",
            "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|noda|restricted|decrypt")
        try tool("tpm2_evictcontrol", "-C", "o", "-c", "root.ctx", "0x81000001")
        try tool("tpm2_flushcontext", "-t")
    }
}
