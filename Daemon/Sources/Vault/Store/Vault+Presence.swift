import Glibc

extension Vault {
    /// Whether `folder` has any file in the store's place, usable or not.
    ///
    /// - Throws: ``VaultError/io(code:)`` when the folder cannot be examined: unreadable is not absent.
    public static func exists(inFolder folder: String) throws(VaultError) -> Bool {
        var status = stat()
        if unsafe lstat(VaultFile.path(inFolder: folder), &status) == 0 { return true }
        guard errno == ENOENT else { throw .io(code: errno) }
        return false
    }
}
