package import Foundation
package import SSHAgent

/// A key of the token: where its private half is, and what it does.
package struct TokenKey: Equatable, Sendable {
    package enum Place: Equatable, Sendable {
        /// In the enclave, named by the id of a right or key. `confirms`: the person is asked for each signature, and sees what is signed.
        case enclave(id: Data, confirms: Bool)
        /// An item's secret, which is used in the memory of the door.
        case imported(HeldKey)
    }

    package struct Uses: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let sign = Uses(rawValue: 1)
        package static let decrypt = Uses(rawValue: 2)
        package static let derive = Uses(rawValue: 4)
    }

    /// Of the private half.
    package let reference: ObjectReference
    package let label: String
    package let publicKey: TokenPublicKey
    package let place: Place
    package let uses: Uses

    package init(
        _ reference: ObjectReference, label: String, _ publicKey: TokenPublicKey, in place: Place, uses: Uses
    ) {
        (self.reference, self.label, self.publicKey) = (reference, label, publicKey)
        (self.place, self.uses) = (place, uses)
    }

    private var isInEnclave: Bool { if case .enclave = place { true } else { false } }
    private var confirms: Bool { if case .enclave(_, confirms: true) = place { true } else { false } }

    var mechanisms: [MechanismType] {
        var all: [MechanismType] = []
        switch publicKey.material {
        case .p256, .p384, .p521:
            // A question about a signature shows a digest of SHA-256, or the message of one.
            if uses.contains(.sign) {
                all += [.ecdsa, .ecdsaSHA256] + (confirms ? [] : [.ecdsaSHA384, .ecdsaSHA512])
            }
            if uses.contains(.derive) { all.append(.ecdh) }
        case .ed25519: if uses.contains(.sign) { all.append(.eddsa) }
        case .rsa:
            if !uses.isDisjoint(with: [.sign, .decrypt]) { all.append(.rsaPKCS) }
            if uses.contains(.sign) {
                all += [.sha256RSA, .sha384RSA, .sha512RSA, .rsaPSS, .sha256PSS, .sha384PSS, .sha512PSS]
            }
            if uses.contains(.decrypt) { all.append(.rsaOAEP) }
        }
        return all
    }

    /// The private and the public half, as the module shows them.
    package var objects: [TokenObject] {
        guard let publicReference = ObjectReference(.publicKey, reference.place, id: reference.id) else { return [] }
        let state: [CryptokiAttribute: AttributeValue] = [
            .token: .flag(true), .isPrivate: .flag(false), .modifiable: .flag(false), .copyable: .flag(false),
            .destroyable: .flag(false), .label: .text(label), .id: .bytes(publicKey.id), .local: .flag(isInEnclave),
        ]
        let shared = state.merging(publicKey.attributes) { $1 }
        let privateHalf = shared.merging(privateAttributes) { $1 }
        let publicHalf = shared.merging(Self.publicAttributes) { $1 }
        return [
            TokenObject(reference, longestResult: publicKey.longestResult, privateHalf),
            TokenObject(publicReference, publicHalf),
        ]
    }

    private var privateAttributes: [CryptokiAttribute: AttributeValue] {
        [
            .objectClass: .number(ObjectReference.ObjectClass.privateKey.rawValue),
            .sensitive: .flag(true), .alwaysSensitive: .flag(isInEnclave),
            .extractable: .flag(false), .neverExtractable: .flag(isInEnclave),
            .sign: .flag(uses.contains(.sign)), .decrypt: .flag(uses.contains(.decrypt)),
            .derive: .flag(uses.contains(.derive)), .signRecover: .flag(false), .unwrap: .flag(false),
            // The question comes anyway, and once.
            .alwaysAuthenticate: .flag(false),
            .allowedMechanisms: .numbers(mechanisms.map { UInt64($0.rawValue) }),
        ]
    }

    /// Programs verify and encrypt themselves.
    private static let publicAttributes: [CryptokiAttribute: AttributeValue] = [
        .objectClass: .number(ObjectReference.ObjectClass.publicKey.rawValue),
        .verify: .flag(false), .verifyRecover: .flag(false), .encrypt: .flag(false), .wrap: .flag(false),
        .derive: .flag(false),
    ]
}
