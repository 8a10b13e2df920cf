import Glibc

/// Arrays of C strings, as `posix_spawn` wants its arguments and environment.
public enum CStrings {
    /// Lends `strings` as a null-terminated array of C strings; the pointers must not leave the closure.
    public static func withPointers<Result>(
        _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) throws -> Result
    ) rethrows -> Result {
        var pointers = strings.map { strdup($0) }
        pointers.append(nil)
        defer { for pointer in pointers { free(pointer) } }
        return try pointers.withUnsafeBufferPointer { try body($0.baseAddress!) }
    }
}
