import AccessControl
import Foundation
import Security

/// How long the grant of a right lives, and how many uses it has. An extension: on Apple's systems a granted ``LARight`` stays
/// granted until the program gives it up.
///
/// ```swift
/// let right = LARight(requirement: .biometry, grantLimits: try LAGrantLimits(idleSeconds: 30, hardSeconds: 300))
/// ```
///
/// The daemon enforces the limits, on a clock that counts the time in which the machine sleeps and that nobody can set. A grant ends
/// with the first limit that it reaches.
public struct LAGrantLimits: Hashable, Sendable {
    let limits: GrantLimits

    /// Seconds without a use after which the grant ends; nil for no such limit.
    public var idleSeconds: Int? { limits.idleSeconds.map(Int.init) }
    /// Seconds after which the grant ends in any case; nil for no such limit.
    public var hardSeconds: Int? { limits.hardSeconds.map(Int.init) }
    /// Uses after which the grant ends; nil for no such limit. Using the key or the secret of a saved right is a use. The only
    /// use of a right that was not saved is to authorize it while it is authorized, which asks nobody.
    public var uses: Int? { limits.uses.map(Int.init) }

    /// Whether only proofs count that were given at the trusted place, a console of the machine's daemon where no program of the person draws
    /// or reads. `ostiary right create --require "… at trusted place"` makes such a right.
    public var isAtTrustedPlace: Bool { limits.isAtTrustedPlace }

    /// Limits with at least one number: 1 to 86,400 idle seconds, 1 to 2,592,000 seconds in any case, which must be more than
    /// the idle seconds, and 1 to 1,000,000 uses.
    ///
    /// - Throws: an `NSError` of `NSOSStatusErrorDomain` with `errSecParam` for other numbers.
    public init(idleSeconds: Int? = nil, hardSeconds: Int? = nil, uses: Int? = nil) throws {
        do {
            limits = try GrantLimits(
                idleSeconds: idleSeconds.map(UInt32.init(clamping:)),
                hardSeconds: hardSeconds.map(UInt32.init(clamping:)), uses: uses.map(UInt32.init(clamping:)))
        } catch {
            throw ErrorTranslation.error(for: StatusError(errSecParam, "The limits cannot be used: \(error)."))
        }
    }

    init(_ limits: GrantLimits) { self.limits = limits }

    /// The limits without the place; nil where they name nothing else.
    var numbers: GrantLimits? {
        do {
            return try GrantLimits(
                idleSeconds: limits.idleSeconds, hardSeconds: limits.hardSeconds, uses: limits.uses)
        } catch { return nil }
    }
}
