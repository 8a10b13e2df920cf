package import Foundation
import KeyAlgorithms
package import SSHFormats
import SwiftASN1

/// A public key in the parts that PKCS #11 has.
package struct TokenPublicKey: Equatable, Sendable {
    package enum Material: Equatable, Sendable {
        /// `04 ‖ X ‖ Y`.
        case p256(Data), p384(Data), p521(Data)
        /// 32 bytes.
        case ed25519(Data)
        /// Big-endian, without leading zeros.
        case rsa(modulus: Data, exponent: Data)
    }

    package let material: Material

    package init(_ material: Material) { self.material = material }

    /// Nil for a key of an authenticator, which signs no bytes of its own choice.
    package init?(_ key: SSHPublicKey) {
        switch (key.type, key.x963) {
        case (.p256, let point?): self.init(.p256(point))
        case (.p384, let point?): self.init(.p384(point))
        case (.p521, let point?): self.init(.p521(point))
        case (.ed25519, _), (.rsa, _):
            guard let material = try? Self.material(ofBlob: key.plainBlob) else { return nil }
            self.init(material)
        default: return nil
        }
    }

    private static func material(ofBlob blob: Data) throws(SSHFormatError) -> Material {
        var reader = SSHReader(blob)
        guard try reader.readName() == SSHKeyType.rsa.name else {
            return .ed25519(try reader.readString(limit: SSHLimits.publicKeyByteCount))
        }
        let exponent = try reader.readPositiveInteger(limit: SSHLimits.modulusBitCount)
        return .rsa(modulus: try reader.readPositiveInteger(limit: SSHLimits.modulusBitCount), exponent: exponent)
    }

    /// CKA_ID: SHA-1 of the bare key, as keychains and certificates name it (`klbl`, `pkhh`).
    package var id: Data { HashAlgorithm.sha1.digest(of: bare) }

    /// What a certificate's BIT STRING has.
    private var bare: Data {
        switch material {
        case .p256(let bytes), .p384(let bytes), .p521(let bytes), .ed25519(let bytes): return bytes
        case .rsa(let modulus, let exponent):
            var serializer = DER.Serializer()
            serializer.appendConstructedNode(identifier: .sequence) { coder in
                // Writing integers does not fail.
                try? coder.serialize(Array(modulus)[...])
                try? coder.serialize(Array(exponent)[...])
            }
            return Data(serializer.serializedBytes)
        }
    }

    /// Of a signature, and for RSA of a plaintext.
    package var longestResult: UInt16 {
        switch material {
        case .p256, .ed25519: 64
        case .p384: 96
        case .p521: 132
        case .rsa(let modulus, _): UInt16(clamping: modulus.count)
        }
    }

    /// The attributes of both halves that say which key it is.
    var attributes: [CryptokiAttribute: AttributeValue] {
        switch material {
        case .p256(let point): Self.curve(.curve, [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07], point)
        case .p384(let point): Self.curve(.curve, [0x2B, 0x81, 0x04, 0x00, 0x22], point)
        case .p521(let point): Self.curve(.curve, [0x2B, 0x81, 0x04, 0x00, 0x23], point)
        case .ed25519(let key): Self.curve(.edwards, [0x2B, 0x65, 0x70], key)
        case .rsa(let modulus, let exponent):
            [
                .keyType: .number(CryptokiKeyType.rsa.rawValue), .modulus: .bytes(modulus),
                .modulusBits: .number(modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)),
                .publicExponent: .bytes(exponent),
            ]
        }
    }

    /// - Parameter name: the content of the curve's OBJECT IDENTIFIER.
    private static func curve(
        _ type: CryptokiKeyType, _ name: [UInt8], _ point: Data
    ) -> [CryptokiAttribute: AttributeValue] {
        [
            .keyType: .number(type.rawValue), .curve: .bytes(Data([0x06, UInt8(clamping: name.count)] + name)),
            .point: .bytes(octetString(point)),
        ]
    }

    /// A point in DER; none has 256 bytes.
    private static func octetString(_ bytes: Data) -> Data {
        let count = UInt8(clamping: bytes.count)
        return Data(count < 0x80 ? [0x04, count] : [0x04, 0x81, count]) + bytes
    }
}
