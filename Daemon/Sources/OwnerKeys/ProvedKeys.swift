package import AccessControl
package import Foundation
package import KeySlots

/// What the proofs of one evaluation give for opening slots, beyond the keys that are open without a proof.
package struct ProvedKeys: Sendable {
    package let halves: [PrivateHalf]
    /// The enrolled set that a finger was compared with; nil when no finger of a certain set was proved.
    package let enrolmentID: Data?

    package init(halves: [PrivateHalf], enrolmentID: Data? = nil) {
        self.halves = halves
        self.enrolmentID = enrolmentID
    }
}

/// Tells which enrolled set a new object is bound to, when its rule names the current set.
package struct CurrentEnrolment: Sendable {
    private let find: @Sendable () throws -> Data

    /// - Parameter find: the id of the set that is enrolled now; throws a refusal when nobody can tell it.
    package init(_ find: @escaping @Sendable () throws -> Data) { self.find = find }

    /// The id for the slots of these alternatives; nil when none of them asks for the set.
    package func id(for alternatives: [FactorSet]) throws -> Data? {
        try alternatives.contains { $0.contains(.biometryCurrentSet) } ? find() : nil
    }
}
