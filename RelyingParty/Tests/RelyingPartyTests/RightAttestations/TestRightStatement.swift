import AccessControl
import Crypto
import Foundation
import Testing

@testable import AttestationVerification

/// A recorded statement that a test changes. Names, places and signatures follow the changes, so that the verifier meets one
/// wrong fact only.
struct TestRightStatement {
    var document: TestDocument
    var signer: TestAttestationKey
    var challenge: Data
    /// Change the words of the chip before they are signed.
    var changeKeyInfo: (inout TestAttest) throws -> Void = { _ in }
    var changeIndexInfo: (inout TestAttest) throws -> Void = { _ in }
    /// Change the same as bytes.
    var changeKeyBytes: (inout [UInt8]) -> Void = { _ in }
    var changeIndexBytes: (inout [UInt8]) -> Void = { _ in }

    static let passcodeMembers = ["parent", "index", "writing", "indexInfo", "indexSig"]

    init(_ right: Recording.Right = .passcode) throws {
        document = try TestDocument(Recording.statement(on: right))
        signer = try TestAttestationKey()
        challenge = try Recording.challenge()
    }

    /// On a key that was made for `control`.
    init(for control: AccessControl) throws {
        try self.init(control.confirmsEachSignature ? .confirming : .passcode)
        try setAccessControl(control)
        let header = try ObjectHeader(#require(document["header"]))
        let approver = document["approver"]
        try document.change("key") {
            $0.setPolicy(
                approver.map { TPMPolicy.signed(by: TPMName.of($0), reference: header.facts).digest } ?? header.facts)
        }
        if !header.requiresPasscode { for member in Self.passcodeMembers { document.members[member] = nil } }
    }

    /// Writes another rule into the header. The key keeps its own.
    mutating func setAccessControl(_ control: AccessControl) throws {
        try document.change("header") { header in
            // Version, suite and three ids with their sizes; then the availability, and the rule with its size.
            let start = 2 + 3 * (4 + 16)
            let count = header[(start + 1)..<(start + 5)].reduce(0) { $0 << 8 | Int($1) }
            let rule = control.canonicalBytes
            header.replaceSubrange(
                start..<(start + 5 + count),
                with: [control.availability.rawValue] + CBORItem.bigEndian(rule.count, count: 4) + rule)
        }
    }

    /// Changes the index, and lets the parent ask for its value.
    mutating func changeIndex(_ body: (inout [UInt8]) -> Void) throws {
        try document.change("index", body)
        let name = TPMName.of(try #require(document["index"]))
        try document.change("parent") {
            $0.setPolicy(TPMPolicy.any(of: [.creation, .secret(of: name)]).digest)
        }
    }

    /// The document, signed.
    func signed() throws -> TestDocument {
        var document = document
        var key = try TestAttest(#require(document["certInfo"]))
        let root = TPMName.qualified(try #require(document["storageKey"]), below: TPMName.ownerHierarchy)
        let place = document["parent"].map { TPMName.qualified(TPMName.of($0), below: root) } ?? root
        key.name = TPMName.of(try #require(document["key"]))
        key.rest = sized(TPMName.qualified(key.name, below: place))
        prepare(&key)
        try changeKeyInfo(&key)
        try sign(key, changeKeyBytes, as: ("certInfo", "sig"), in: &document)
        guard let bytes = document["indexInfo"] else { return document }
        var index = try TestAttest(bytes)
        index.name = TPMName.of(try #require(document["index"]))
        prepare(&index)
        try changeIndexInfo(&index)
        try sign(index, changeIndexBytes, as: ("indexInfo", "indexSig"), in: &document)
        return document
    }

    private func prepare(_ attest: inout TestAttest) {
        attest.signer = signer.known.qualifiedName
        attest.extraData = Array(SHA256.hash(data: Data("ostiary.attestation.v1".utf8) + challenge))
    }

    private func sign(
        _ attest: TestAttest, _ change: (inout [UInt8]) -> Void, as names: (content: String, signature: String),
        in document: inout TestDocument
    ) throws {
        var bytes = attest.encoded
        change(&bytes)
        document[names.content] = bytes
        document[names.signature] = try signer.signature(of: bytes)
    }

    @discardableResult
    func verify(publicKey: Data? = nil) throws -> RightAttestation {
        try verify(signed(), publicKey: publicKey)
    }

    @discardableResult
    func verify(_ document: TestDocument, publicKey: Data? = nil) throws -> RightAttestation {
        try RightAttestation(
            verifying: document.encoded, challenge: Recording.challenge(), by: signer.known, publicKey: publicKey)
    }
}

/// Requires that a changed statement is refused for exactly this reason. Without the change it is verified.
func expectRefusal(
    _ error: RightAttestationError, of right: Recording.Right = .passcode,
    _ change: (inout TestRightStatement) throws -> Void, _ location: SourceLocation = #_sourceLocation
) throws {
    var statement = try TestRightStatement(right)
    try change(&statement)
    #expect(throws: error, sourceLocation: location) { try statement.verify() }
}
