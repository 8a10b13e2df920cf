public import Foundation
import KeyAlgorithms

/// A key (Apple's `SecKey`): one half of an RSA or elliptic-curve pair, in this process or in the enclave. Equal to another
/// one when it is the same half of the same key.
public final class SecKey: NSObject, Sendable {
    package let backing: any KeyBacking

    package init(_ backing: any KeyBacking) {
        self.backing = backing
        super.init()
    }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SecKey else { return false }
        return other === self || backing.isSame(as: other.backing)
    }

    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(backing.keyClass)
        hasher.combine(backing.sizeInBits)
        do { hasher.combine(try backing.publicKey().externalRepresentation()) } catch {
            // A key that cannot say is told apart by equality alone.
        }
        return hasher.finalize()
    }

    /// `<SecKeyRef: EC private key, 256 bits>`; never the key itself.
    public override var description: String { "<SecKeyRef: \(backing.summary)>" }
}

/// The type id of ``SecKey``, for comparison with ``CFGetTypeID(_:)``.
@discardableResult
public func SecKeyGetTypeID() -> CFTypeID { TypeID.key.rawValue }

/// The block length of the key in bytes: of a number of the curve's group (32 on P-256), or of an RSA modulus.
@discardableResult
public func SecKeyGetBlockSize(_ key: SecKey) -> Int { (key.backing.sizeInBits + 7) / 8 }

/// The key as bytes: `04 ‖ X ‖ Y` and for a private key `‖ K` (ANSI X9.63) on a curve, PKCS #1 (DER) for RSA.
///
/// Nil and `errSecUnimplemented` for a key that does not leave the enclave.
@discardableResult
public func SecKeyCopyExternalRepresentation(
    _ key: SecKey, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe reportingErrors(to: error) { try key.backing.externalRepresentation() as CFData }
}

/// The key's attributes: its `kSecAttr…` entries.
@discardableResult
public func SecKeyCopyAttributes(_ key: SecKey) -> CFDictionary? { key.backing.attributes as CFDictionary }

/// The public half; of a public key, the key itself.
@discardableResult
public func SecKeyCopyPublicKey(_ key: SecKey) -> SecKey? {
    guard key.backing.keyClass == .privateKey else { return key }
    do { return SecKey(try key.backing.publicKey()) } catch {
        return nil
    }
}
