package import AccessControl
public import Foundation

/// The conditions on an item or key (Apple's `SecAccessControl`): in which states of the machine it can be used, and what
/// each operation asks for. Immutable; equal when everything in it is.
public final class SecAccessControl: NSObject, Sendable {
    /// One of `kSecAttrAccessible…`, as its string.
    package let protection: String

    /// The constraint of each operation. Nil for an object that has only a protection; it permits everything.
    package let operations: AccessControlOperations?

    /// How long a proof counts for the object, and for how many uses. An extension: Apple has nothing like it.
    package let limits: GrantLimits?

    package init(protection: String, operations: AccessControlOperations?, limits: GrantLimits? = nil) {
        self.protection = protection
        self.operations = operations
        self.limits = limits
        super.init()
    }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SecAccessControl else { return false }
        return propertyList == other.propertyList
    }

    public override var hash: Int { propertyList.hashValue }

    /// `<SecAccessControlRef: aku;dacl(true)>`: the protection, then each operation with its constraint, then the limits.
    public override var description: String {
        let parts = [protection] + (operations?.descriptions ?? []) + (limits?.descriptions ?? [])
        return "<SecAccessControlRef: \(parts.joined(separator: ";"))>"
    }
}

// MARK: - Serialisation

extension SecAccessControl {
    /// A DER property list: a dictionary of `prot`, of `acl` if there is one, and of `limits` if there are some.
    package var derRepresentation: Data { propertyList.derRepresentation }

    /// Reads ``derRepresentation``. Anything else, trailing bytes included, is `errSecDecode`.
    package convenience init(derRepresentation bytes: Data) throws(StatusError) {
        let malformed = StatusError(errSecDecode, "The access control could not be decoded.")
        guard
            case .dictionary(let entries) = PropertyList(derRepresentation: bytes),
            entries.keys.allSatisfy(["prot", "acl", "limits"].contains),
            case .string(let protection) = entries["prot"], Self.protections.contains(protection)
        else { throw malformed }
        var operations: AccessControlOperations?
        switch entries["acl"] {
        case nil: break
        case .dictionary(let entries)?: operations = AccessControlOperations(entries)
        default: throw malformed
        }
        var limits: GrantLimits?
        if let entry = entries["limits"] {
            guard let known = GrantLimits(entry) else { throw malformed }
            limits = known
        }
        self.init(protection: protection, operations: operations, limits: limits)
    }

    /// Every protection that Apple knows.
    static let protections: Set<String> = ["ak", "ck", "dk", "aku", "cku", "dku", "akpu", "f"]

    private var propertyList: PropertyList {
        var entries: [String: PropertyList] = ["prot": .string(protection)]
        if let operations { entries["acl"] = .dictionary(operations.entries) }
        if let limits { entries["limits"] = limits.propertyList }
        return .dictionary(entries)
    }
}

// MARK: - Apple's functions

/// Makes an access control (Apple's `SecAccessControlCreateWithFlags`).
///
/// `protection` is one of `kSecAttrAccessible…`. Nil, and in `error` an error of `NSOSStatusErrorDomain` with `errSecParam`,
/// for another protection and for flags that do not go together. Whether the factors are enrolled is not looked at.
@discardableResult
public func SecAccessControlCreateWithFlags(
    _ allocator: CFAllocator?, _ protection: CFTypeRef, _ flags: SecAccessControlCreateFlags,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecAccessControl? {
    unsafe reportingErrors(to: error) {
        guard let protection = protection as? String, SecAccessControl.protections.contains(protection) else {
            throw StatusError.parameter("The protection is not one of the constants kSecAttrAccessible….")
        }
        try flags.validate()
        return SecAccessControl(protection: protection, operations: AccessControlOperations(flags))
    }
}

/// The type id of ``SecAccessControl``, for comparison with ``CFGetTypeID(_:)``.
@discardableResult
public func SecAccessControlGetTypeID() -> CFTypeID { TypeID.accessControl.rawValue }
