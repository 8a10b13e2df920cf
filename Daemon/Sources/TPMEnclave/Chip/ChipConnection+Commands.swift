import CTSS2
import Foundation
import SecretMemory

/// The commands on objects of ours, each with the section of TPM 2.0 part 3 that it comes from.
extension ChipConnection {
    /// Makes an object in the chip (12.1, TPM2_Create).
    ///
    /// - Parameters:
    ///   - data: a secret to seal; empty for a key, whose private half the chip chooses.
    ///   - passcode: its parent is that of the object; nil for the storage key.
    func create(
        _ template: TPM2B_PUBLIC, authorization: borrowing SecretBytes, sealing data: borrowing SecretBytes,
        below passcode: ChipPasscode? = nil
    ) throws(ChipFault) -> ChipObject {
        let sessions = try sessions()
        let context = self.context
        let root = self.root
        return try Self.withSensitive(authorization, data) { (sensitive) throws(ChipFault) in
            if let passcode {
                return try withParent(of: passcode, for: .creating) { (parent, session) throws(ChipFault) in
                    try Self.create(
                        template, sensitive, below: parent, authorizedBy: session, sessions, in: context)
                }.placed(below: passcode.parent)
            }
            return try root.withHandle(in: context) { (root) throws(ChipFault) in
                try Self.create(
                    template, sensitive, below: root, authorizedBy: sessions.authorizing, sessions, in: context)
            }
        }
    }

    /// Lends the secret part of a new object: its authorization value and the data to seal.
    static func withSensitive(
        _ authorization: borrowing SecretBytes, _ data: borrowing SecretBytes,
        _ body: (UnsafePointer<TPM2B_SENSITIVE_CREATE>) throws(ChipFault) -> ChipObject
    ) throws(ChipFault) -> ChipObject {
        var memory = SecretBytes(zeroed: MemoryLayout<TPM2B_SENSITIVE_CREATE>.stride)
        return try memory.withUnsafeMutableBytes { (bytes) throws(ChipFault) in
            let sensitive = bytes.bindMemory(to: TPM2B_SENSITIVE_CREATE.self).baseAddress!
            sensitive.pointee.sensitive.userAuth.set(authorization)
            sensitive.pointee.sensitive.data.set(data)
            return try body(sensitive)
        }
    }

    static func create(
        _ template: TPM2B_PUBLIC, _ sensitive: UnsafePointer<TPM2B_SENSITIVE_CREATE>, below parent: ESYS_TR,
        authorizedBy session: ESYS_TR, _ sessions: Sessions, in context: TPMContext
    ) throws(ChipFault) -> ChipObject {
        try sessions.encrypt(.both, in: context)
        var (publicArea, outside, registers) = (template, TPM2B_DATA(), TPML_PCR_SELECTION())
        var madePublic: UnsafeMutablePointer<TPM2B_PUBLIC>?
        let madePrivate: Answer<TPM2B_PRIVATE> = try context.answer {
            Esys_Create(
                $0, parent, session, sessions.encrypting, ESYS_TR_NONE, sensitive, &publicArea, &outside, &registers,
                $1,
                &madePublic, nil, nil, nil)
        }
        guard let madePublic else { throw .malformedAnswer }
        let answeredPublic = Answer(madePublic)
        let privateBytes = marshalled(atMost: MemoryLayout<TPM2B_PRIVATE>.size) {
            Tss2_MU_TPM2B_PRIVATE_Marshal(madePrivate.pointer, $0, $1, $2)
        }
        guard let privateBytes, let publicBytes = PublicArea.bytes(answeredPublic.pointer.pointee) else {
            throw .malformedAnswer
        }
        return ChipObject(publicArea: publicBytes, privateArea: privateBytes)
    }

    /// The secret of a sealed object (12.7, TPM2_Unseal).
    func unseal(_ handle: ESYS_TR, authorization: borrowing SecretBytes) throws(ChipFault) -> SecretBytes {
        let context = self.context
        return try authorized(handle, with: authorization) { (sessions) throws(ChipFault) in
            try Self.unseal(handle, authorizedBy: sessions.authorizing, sessions, in: context)
        }
    }

    static func unseal(
        _ handle: ESYS_TR, authorizedBy session: ESYS_TR, _ sessions: Sessions, in context: TPMContext
    ) throws(ChipFault) -> SecretBytes {
        try sessions.encrypt(.fromChip, in: context)
        let data: Answer<TPM2B_SENSITIVE_DATA> = try context.answer {
            Esys_Unseal($0, handle, session, sessions.encrypting, ESYS_TR_NONE, $1)
        }
        guard data.pointer.pointee.size <= MemoryLayout.size(ofValue: data.pointer.pointee.buffer) else {
            throw .malformedAnswer
        }
        return withUnsafeBytes(of: &data.pointer.pointee.buffer) {
            SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0.prefix(Int(data.pointer.pointee.size))))
        }
    }

    /// ECDSA over a SHA-256 digest, `r || s` (20.2, TPM2_Sign).
    func sign(
        _ digest: Data, with handle: ESYS_TR, authorization: borrowing SecretBytes
    ) throws(ChipFault) -> Data {
        var parameters = SignParameters(digest)
        let context = self.context
        return try authorized(handle, with: authorization) { (sessions) throws(ChipFault) in
            try sessions.encrypt(.toChip, in: context)
            let signature: Answer<TPMT_SIGNATURE> = try context.answer {
                Esys_Sign(
                    $0, handle, sessions.authorizing, sessions.encrypting, ESYS_TR_NONE, &parameters.digest,
                    &parameters.scheme, &parameters.validation, $1)
            }
            return try Self.bytes(of: signature.pointer.pointee)
        }
    }

    /// `r || s` of an ECDSA signature.
    static func bytes(of signature: TPMT_SIGNATURE) throws(ChipFault) -> Data {
        guard signature.sigAlg == TPM2_ALG_ECDSA,
            let r = PublicArea.coordinate(signature.signature.ecdsa.signatureR),
            let s = PublicArea.coordinate(signature.signature.ecdsa.signatureS)
        else { throw .malformedAnswer }
        return r + s
    }

    /// The X coordinate of an agreement with `peer`, a valid point as `04 || X || Y` (14.5, TPM2_ECDH_ZGen).
    func agree(
        with peer: Data, key handle: ESYS_TR, authorization: borrowing SecretBytes
    ) throws(ChipFault) -> SecretBytes {
        var point = TPM2B_ECC_POINT()
        point.point.x.set(Data(peer.dropFirst().prefix(32)))
        point.point.y.set(Data(peer.suffix(32)))
        let context = self.context
        return try authorized(handle, with: authorization) { (sessions) throws(ChipFault) in
            try sessions.encrypt(.both, in: context)
            let agreed: Answer<TPM2B_ECC_POINT> = try context.answer {
                Esys_ECDH_ZGen($0, handle, sessions.authorizing, sessions.encrypting, ESYS_TR_NONE, &point, $1)
            }
            return try Self.secret(inCoordinate: &agreed.pointer.pointee.point.x)
        }
    }

    /// A coordinate as 32 secret bytes. A chip may leave out leading zeros.
    private static func secret(inCoordinate number: inout TPM2B_ECC_PARAMETER) throws(ChipFault) -> SecretBytes {
        let count = Int(number.size)
        guard count <= 32 else { throw .malformedAnswer }
        return withUnsafeBytes(of: &number.buffer) { bytes in
            let coordinate = SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes.prefix(count)))
            return SecretBytes(joining: SecretBytes(zeroed: 32 - count), coordinate)
        }
    }
}

extension TPM2B_SENSITIVE_DATA {
    /// - Parameter secret: at most 128 bytes.
    mutating func set(_ secret: borrowing SecretBytes) {
        size = UInt16(secret.count)
        secret.withUnsafeBytes { bytes in withUnsafeMutableBytes(of: &buffer) { $0.copyMemory(from: bytes) } }
    }
}
