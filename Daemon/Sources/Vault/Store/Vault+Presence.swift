import Glibc

extension Vault {
    /// Whether anything stands in the store's place in `folder`, usable or not.
    public static func exists(inFolder folder: String) -> Bool {
        var status = stat()
        return unsafe lstat(VaultFile(folder: folder).path, &status) == 0
    }
}
