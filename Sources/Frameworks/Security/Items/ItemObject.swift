import Foundation

/// An object that stands for an item in a query (`kSecValueRef`): a key, a certificate, or an identity of both.
protocol ItemObject: AnyObject {
    var itemClass: KeychainClass { get }

    /// The attributes by which its item is stored and found, without those about the uses of a key.
    func itemAttributes() throws(StatusError) -> [AttributeName: QueryValue]

    /// What a key can be used for. A new item gets them; they do not find one.
    func keyUses() -> [AttributeName: QueryValue]

    /// The data of the object's item; nil for a key of the enclave.
    func itemData() throws(StatusError) -> Data?

    /// The enclave key that its item stands for.
    var enclaveKey: EnclaveKeyBacking? { get }
}

extension ItemObject {
    func keyUses() -> [AttributeName: QueryValue] { [:] }
}
