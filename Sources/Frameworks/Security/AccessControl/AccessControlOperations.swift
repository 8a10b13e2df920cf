/// The constraint of each operation, under Apple's names: `osgn` sign, `ock` compute a key, `okd` decapsulate, `oa`
/// attest, `od` decrypt (read), `oe` encrypt (add, update), `odel` delete, `dacl` everything else; The parameter `prp`
/// says that an application password is needed too.
package struct AccessControlOperations: Hashable, Sendable {
    /// The entries as they are serialised. A value is `true`, `false` or a dictionary of constraints.
    package let entries: [String: PropertyList]

    package init(_ entries: [String: PropertyList]) {
        self.entries = entries
    }

    /// The constraints that `flags` stand for. The flags must be valid.
    init(_ flags: SecAccessControlCreateFlags) {
        let constraint = Self.constraint(flags)
        var entries: [String: PropertyList]
        switch (constraint, flags.contains(.privateKeyUsage)) {
        case (let constraint?, true):
            entries = Self.keyEntries(constraint)
        case (nil, true):
            entries = Self.keyEntries(.boolean(true))
        case (let constraint?, false):
            entries = ["od": constraint, "oe": .boolean(true), "odel": .boolean(true)]
        case (nil, false):
            entries = ["dacl": .boolean(true)]
        }
        if flags.contains(.applicationPassword) { entries[Self.passwordParameter] = .boolean(true) }
        self.init(entries)
    }

    /// Whether an application password is needed.
    package var needsApplicationPassword: Bool { entries[Self.passwordParameter] == .boolean(true) }

    /// The constraint of an operation: its entry, or the default without one. Nil when the operation is not permitted.
    package func constraint(for operation: String) -> PropertyList? {
        guard let constraint = entries[operation] ?? entries["dacl"], constraint != .boolean(false) else { return nil }
        return constraint
    }

    /// `od(cpo(DeviceOwnerAuthentication))` for each entry, sorted.
    var descriptions: [String] { PropertyList.descriptions(of: entries) }

    static let passwordParameter = "prp"

    /// Deleting and attesting ask for nothing. An operation that is not listed is denied; reading and writing are not
    /// listed.
    static func keyEntries(_ constraint: PropertyList) -> [String: PropertyList] {
        ["osgn": constraint, "ock": constraint, "okd": constraint, "oa": .boolean(true), "odel": .boolean(true)]
    }

    /// The constraints of `flags` as one dictionary; nil if there are none.
    private static func constraint(_ flags: SecAccessControlCreateFlags) -> PropertyList? {
        let members = SecAccessControlCreateFlags.constraints.filter(flags.contains).compactMap(AccessConstraint.init)
        return AccessConstraint.propertyList(members, enough: flags.contains(.or) ? 1 : members.count)
    }
}

/// One thing that a person is asked for, in Apple's dictionaries.
enum AccessConstraint: CaseIterable, Hashable {
    case userPresence, passcode, biometry, biometryCurrentSet, companion

    init?(_ flag: SecAccessControlCreateFlags) {
        switch flag {
        case .userPresence: self = .userPresence
        case .devicePasscode: self = .passcode
        case .biometryAny: self = .biometry
        case .biometryCurrentSet: self = .biometryCurrentSet
        case .companion: self = .companion
        default: return nil
        }
    }

    /// Key and value. The bytes of `cbio` are empty, because only the daemon knows the enrolled fingers.
    var entry: (key: String, value: PropertyList) {
        switch self {
        case .userPresence: ("cpo", .string("DeviceOwnerAuthentication"))
        case .passcode: ("cup", .boolean(true))
        case .biometry: ("cbio", .dictionary(["pbioc": .data([])]))
        case .biometryCurrentSet: ("cbio", .dictionary(["pbioc": .data([]), "pbioh": .data([])]))
        case .companion: ("cwtch", .boolean(true))
        }
    }

    /// The dictionary in which `enough` of `members` have to hold; nil for no members.
    static func propertyList(_ members: [AccessConstraint], enough: Int) -> PropertyList? {
        guard !members.isEmpty else { return nil }
        // Both kinds of biometry have one key; flags do not combine them, and who reads a rule compares the result with it.
        var entries = Dictionary(
            members.map { ($0.entry.key, $0.entry.value) }, uniquingKeysWith: { first, _ in first })
        if members.count > 1 { entries["pkofn"] = .integer(enough) }
        return .dictionary(entries)
    }

    /// Reads such a dictionary. Nil for a dictionary with an unknown entry, or with a count that cannot be met: a
    /// constraint that is not understood must not be weakened.
    static func parse(_ constraint: PropertyList) -> (members: [AccessConstraint], enough: Int)? {
        guard case .dictionary(var entries) = constraint else { return nil }
        let count = entries.removeValue(forKey: "pkofn")
        let members = entries.map { Self($0.key, $0.value) }
        let known = members.compactMap { $0 }
        guard !known.isEmpty, known.count == members.count else { return nil }
        switch count {
        case nil: return known.count == 1 ? (known, 1) : nil
        case .integer(let enough)? where (1...known.count).contains(enough): return (known, enough)
        default: return nil
        }
    }

    private init?(_ key: String, _ value: PropertyList) {
        switch (key, value) {
        case ("cpo", .string("DeviceOwnerAuthentication")): self = .userPresence
        case ("cup", .boolean(true)): self = .passcode
        case ("cbio", .dictionary(let entries)): self = entries["pbioh"] == nil ? .biometry : .biometryCurrentSet
        case ("cwtch", .boolean(true)): self = .companion
        default: return nil
        }
    }
}
