package import Vault

/// An item that was destroyed along with something else.
package struct DestroyedItem {
    package let id: VaultID
    package let itemClass: ItemClass
}
