package import AuthenticatorRequests
package import Cancellations
package import Foundation
package import KeySlots
import OwnerKeys
import Refusals
import SecretMemory
import SecurityKeys

/// A key that is ready to be enrolled: the person has done all that they must.
package struct SecurityKeyEnrolment: Sendable {
    /// The key's identifier in the store.
    package var identifier: Data { new.identifier }
    /// Whether the key verifies the person who touches it.
    package var isVerified: Bool { new.isVerified }
    fileprivate let new: NewSecurityKey
    fileprivate let enrolled: EnrolledFactorKey
    fileprivate let record: SecurityKeyRecord
    fileprivate let opened: [PrivateHalf]
}

extension SecurityKeyAuthenticator {
    /// The private halves that an enrolled key opens, once the person has touched it. Only an owner of an enrolled key can give
    /// them to another key. Blocks until the person is done.
    package func halves(
        with question: any CredentialQuestion, until cancellation: Cancellation
    ) throws -> [PrivateHalf] {
        let record = try record()
        let output = try keys.factorOutput(
            of: credentials(of: record), salts: salts(for: record), nonce: Self.randomBytes(32), with: question,
            until: cancellation)
        return try opened(by: output, of: record).halves
    }

    /// Makes a credential on the key that the person touches. Nothing is stored. Blocks until the person is done.
    ///
    /// - Parameters:
    ///   - name: for lists.
    ///   - time: milliseconds since 1970.
    ///   - opened: the result of ``halves(with:until:)``; empty for the first key.
    ///   - refused: AAGUIDs of authenticators that are no keys, this machine's own above all.
    package func prepareEnrolment(
        named name: String, at time: UInt64, openedBy opened: [PrivateHalf], refusing refused: Set<[UInt8]>,
        with question: any CredentialQuestion, until cancellation: Cancellation
    ) throws -> SecurityKeyEnrolment {
        let record = try record()
        let identifier = Self.randomBytes(16)
        let enrolment = FactorEnrolment(
            identifier: identifier, name: name, salt: salt(record.saltGeneration), nonce: Self.randomBytes(32),
            enrolled: record.keys.map(\.credential), refusedModels: refused)
        let enrolled = try keys.enrollFactor(enrolment, with: question, until: cancellation)
        let new = NewSecurityKey(
            identifier: Data(identifier), name: name, enrolledAt: time, credential: enrolled.output.identifier,
            isVerified: enrolled.output.isVerified, pinProtocol: enrolled.pinProtocol, model: enrolled.model)
        return SecurityKeyEnrolment(new: new, enrolled: enrolled, record: record, opened: opened)
    }

    /// Stores a prepared enrolment.
    ///
    /// - Throws: a refusal when keys were enrolled or removed meanwhile.
    package func enroll(_ enrolment: SecurityKeyEnrolment) throws {
        try life.enroll(
            enrolment.new, secret: enrolment.enrolled.output.secret.bytes, to: enrolment.record,
            openedBy: enrolment.opened)
    }

    /// Gives the key that the person touches its first PIN, or replaces its PIN.
    package func setPIN(
        with question: any CredentialQuestion, until cancellation: Cancellation
    ) throws { try keys.setPIN(with: question, until: cancellation) }
}
