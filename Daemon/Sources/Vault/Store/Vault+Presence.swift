import Glibc

extension Vault {
    /// Whether anything stands in the store's place in `folder`, usable or not.
    ///
    /// - Throws: ``VaultError/io(code:)`` when that cannot be seen: unreadable is not absent.
    public static func exists(inFolder folder: String) throws(VaultError) -> Bool {
        var status = stat()
        if unsafe lstat(VaultFile.path(inFolder: folder), &status) == 0 { return true }
        guard errno == ENOENT else { throw .io(code: errno) }
        return false
    }
}
