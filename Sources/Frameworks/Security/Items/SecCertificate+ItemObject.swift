import Foundation

extension SecCertificate: ItemObject {
    var itemClass: KeychainClass { .certificate }

    func itemAttributes() throws(StatusError) -> [AttributeName: QueryValue] {
        var attributes: [AttributeName: QueryValue] = [
            .certificateType: QueryValue(1), .certificateEncoding: QueryValue(3),
            .subject: .data(fields.subjectDER), .issuer: .data(fields.issuer),
            .serialNumber: .data(fields.serialNumber), .publicKeyHash: .data(fields.publicKeyHash),
        ]
        if let id = fields.subjectKeyID { attributes[.subjectKeyID] = .data(id) }
        return attributes
    }

    func itemData() throws(StatusError) -> Data? { bytes }

    var enclaveKey: EnclaveKeyBacking? { nil }
}
