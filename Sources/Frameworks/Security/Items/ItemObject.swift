import Foundation

/// An object that stands for an item in a query (`kSecValueRef`): a key, a certificate, or an identity of both.
protocol ItemObject: AnyObject {
    var itemClass: ItemClass { get }

    /// The attributes by which its item is stored and found, those that say what a key may do left out.
    func itemAttributes() throws(StatusError) -> [AttributeName: QueryValue]

    /// What is stored as the data of its item; nil for a key of the enclave.
    func itemData() throws(StatusError) -> Data?

    /// The enclave key that its item stands for.
    var enclaveKey: EnclaveKeyBacking? { get }
}
