package import AccessControl

// Conversion to and from the form that the daemon stores and enforces.

extension SecAccessControl {
    /// The canonical form: reading asks for what `od` says, signing for `osgn`, key exchange and decryption (ECIES is a key
    /// computation) for `ock`, each with the application password if there is one; deleting for `odel`, and adding and
    /// changing for `oe`. Making a key asks for nothing.
    ///
    /// Refused with `errSecParam`: a protection that nothing here can keep (`f`), a constraint that is not known, and an
    /// object that permits no use at all.
    package func canonical() throws(StatusError) -> AccessControl {
        let availability = try Self.availability(of: protection)
        // An object without entries permits everything, as one without flags does.
        let operations = operations ?? AccessControlOperations(SecAccessControlCreateFlags())
        var requirements: [AccessControl.Operation: Requirement] = [:]
        for (operation, name) in Self.names {
            requirements[operation] = try Self.requirement(of: operation, name, in: operations)
        }
        // Keys list no `oe`, and are made all the same.
        if operations.entries["oe"] == nil, requirements[.create] == nil { requirements[.create] = .unrestricted }
        do {
            return try AccessControl(availability: availability, requirements: requirements, limits: limits)
        } catch {
            throw .parameter("The access control permits no use: \(error).")
        }
    }

    /// The object that means what `canonical` means, with `protection` or, without one, the protection of the availability
    /// class that stays on this machine. Nil for a rule that Apple's flat dictionaries cannot say.
    package convenience init?(_ canonical: AccessControl, protection: String? = nil) {
        let isForKey = canonical[.sign] != nil && canonical[.read] == nil
        guard
            let requirement = canonical[isForKey ? .sign : .read],
            let constraint = Self.constraint(meaning: requirement.withoutApplicationPassword)
        else { return nil }
        var entries = Self.entries(constraint, isForKey: isForKey)
        if requirement.factors.contains(.applicationPassword) {
            entries[AccessControlOperations.passwordParameter] = .boolean(true)
        }
        let operations = AccessControlOperations(entries)
        self.init(
            protection: protection ?? canonical.availability.protection, operations: operations,
            limits: canonical.limits)
        guard let same = try? self.canonical(), same.usesMatch(canonical) else { return nil }
    }

    private static let names: [(AccessControl.Operation, String)] = [
        (.create, "oe"), (.read, "od"), (.sign, "osgn"), (.decrypt, "ock"), (.keyExchange, "ock"), (.delete, "odel"),
        (.change, "oe"),
    ]

    private static func availability(of protection: String) throws(StatusError) -> AvailabilityClass {
        switch protection {
        case "dk", "dku": return .always
        case "ck", "cku": return .afterFirstUnlock
        case "ak", "aku": return .whenUnlocked
        case "akpu": return .whenPasscodeSet
        default: throw .parameter("This keychain has no items that are kept only until the next start.")
        }
    }

    private static func requirement(
        of operation: AccessControl.Operation, _ name: String, in operations: AccessControlOperations
    ) throws(StatusError) -> Requirement? {
        guard let constraint = operations.constraint(for: name) else { return nil }
        let needsPassword = operation.needsAccessSecret && operations.needsApplicationPassword
        do throws(RuleError) {
            let rule = try rule(constraint)
            guard needsPassword else { return try Requirement(rule) }
            let password = Rule.factor(.applicationPassword)
            return try Requirement(rule == .unrestricted ? password : .allOf([rule, password]))
        } catch {
            throw .parameter("The access control has an invalid rule: \(error).")
        }
    }

    private static func rule(_ constraint: PropertyList) throws(RuleError) -> Rule {
        if constraint == .boolean(true) { return .unrestricted }
        guard let (members, enough) = AccessConstraint.parse(constraint) else { throw .emptyConnective }
        return members.count == 1 ? members[0].rule : .atLeast(enough, of: members.map(\.rule))
    }

    /// The constraint with the meaning of `requirement`: `cpo` if it is user presence, else so many of its factors.
    private static func constraint(meaning requirement: Requirement) -> PropertyList? {
        if requirement.isUnrestricted { return .boolean(true) }
        if requirement == (try? Requirement(AccessConstraint.userPresence.rule)) {
            return AccessConstraint.propertyList([.userPresence], enough: 1)
        }
        let members = AccessConstraint.allCases.filter { constraint in
            requirement.factors.factors.contains { constraint.rule == .factor($0) }
        }
        let fitting = (1...max(members.count, 1)).first { count in
            requirement == (try? Requirement(.atLeast(count, of: members.map(\.rule))))
        }
        return fitting.flatMap { AccessConstraint.propertyList(members, enough: $0) }
    }

    private static func entries(_ constraint: PropertyList, isForKey: Bool) -> [String: PropertyList] {
        if isForKey { return AccessControlOperations.keyEntries(constraint) }
        guard constraint != .boolean(true) else { return ["dacl": .boolean(true)] }
        return ["od": constraint, "oe": .boolean(true), "odel": .boolean(true)]
    }
}

extension AccessConstraint {
    /// The rule that the daemon enforces for this constraint. A security key stands where Apple has a companion.
    fileprivate var rule: Rule {
        switch self {
        case .userPresence: .anyOf([.factor(.biometry), .factor(.passcode)])
        case .passcode: .factor(.passcode)
        case .biometry: .factor(.biometry)
        case .biometryCurrentSet: .factor(.biometryCurrentSet)
        case .companion: .factor(.securityKey)
        }
    }
}

extension Requirement {
    /// The same without the application password, which is in all alternatives or in none.
    fileprivate var withoutApplicationPassword: Requirement {
        let sets = alternatives.map { $0.subtracting(.applicationPassword) }
        guard let requirement = try? Requirement(anyOf: sets) else { return self }
        return requirement
    }
}

extension AccessControl {
    /// Whether both ask for the same in every use that both permit.
    fileprivate func usesMatch(_ other: AccessControl) -> Bool {
        availability == other.availability && limits == other.limits
            && AccessControl.Operation.allCases.filter(\.needsAccessSecret).allSatisfy {
                self[$0] == nil || other[$0] == nil || self[$0] == other[$0]
            }
    }
}

extension AvailabilityClass {
    /// The protection of this class for what stays on this machine, as everything here does.
    fileprivate var protection: String {
        switch self {
        case .always: "dku"
        case .afterFirstUnlock: "cku"
        case .whenUnlocked: "aku"
        case .whenPasscodeSet: "akpu"
        }
    }
}
