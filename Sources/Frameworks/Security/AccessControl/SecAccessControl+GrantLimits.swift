import AccessControl
public import Foundation

// An extension: Apple's access controls have no limits.

/// Makes an access control that says the same as `accessControl`, and besides how long a proof counts for the object, and for how
/// many uses.
///
/// What an `LAContext` keeps does not count for an object whose limits it has reached: then the person is asked again. The limits
/// are stored with the object, under the same protection as its rule, and the daemon enforces them. Limits that
/// `accessControl` has are replaced; a trusted place stays one.
///
/// - Parameters:
///   - allocator: not used.
///   - idleSeconds: seconds without a use of the object, 1 to 86,400; 0 for no such limit.
///   - hardSeconds: seconds since the proof, 1 to 2,592,000 and more than `idleSeconds`; 0 for no such limit.
///   - uses: uses of the object, 1 to 1,000,000; 0 for no such limit.
/// - Returns: nil, and in `error` an error of `NSOSStatusErrorDomain` with `errSecParam`, for other numbers and for no limit at
///   all.
public func SecAccessControlCreateWithGrantLimits(
    _ allocator: CFAllocator?, _ accessControl: SecAccessControl, _ idleSeconds: UInt32, _ hardSeconds: UInt32,
    _ uses: UInt32, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecAccessControl? {
    unsafe reportingErrors(to: error) {
        let limits: GrantLimits
        do {
            limits = try GrantLimits(
                idleSeconds: idleSeconds == 0 ? nil : idleSeconds, hardSeconds: hardSeconds == 0 ? nil : hardSeconds,
                uses: uses == 0 ? nil : uses, isAtTrustedPlace: accessControl.limits?.isAtTrustedPlace ?? false)
        } catch {
            throw StatusError.parameter("The limits cannot be used: \(error).")
        }
        return SecAccessControl(
            protection: accessControl.protection, operations: accessControl.operations, limits: limits)
    }
}

extension GrantLimits {
    private var entries: [String: PropertyList] {
        let numbers = ["idle": idleSeconds, "hard": hardSeconds, "uses": uses]
        var entries: [String: PropertyList] = numbers.compactMapValues { number in number.map { .integer(Int($0)) } }
        if isAtTrustedPlace { entries["place"] = .string("trusted") }
        return entries
    }

    var propertyList: PropertyList { .dictionary(entries) }

    /// `idle(30)` for each limit, sorted.
    var descriptions: [String] { PropertyList.descriptions(of: entries) }

    /// Reads ``propertyList``; nil for anything else.
    init?(_ list: PropertyList) {
        guard case .dictionary(let entries) = list else { return nil }
        func number(_ name: String) -> UInt32? {
            guard case .integer(let number)? = entries[name] else { return nil }
            return UInt32(exactly: number)
        }
        guard
            let limits = try? GrantLimits(
                idleSeconds: number("idle"), hardSeconds: number("hard"), uses: number("uses"),
                isAtTrustedPlace: entries["place"] == .string("trusted")),
            limits.propertyList == list
        else { return nil }
        self = limits
    }
}
