/// The parts of a path, as dirname(1) and basename(1) see it. Foundation's `NSString.deletingLastPathComponent` traps on a path
/// of one character (Swift 6.3.1 on Linux), and paths come from outside.
///
/// A slash is a byte, as for the kernel. A name may begin with a mark that Swift joins to the slash before it, and the two are
/// then no slash among the characters of a `String`: a check of all folders above such a name would leave one out.
public enum PathName {
    private static let slash = UInt8(ascii: "/")

    public static func isAbsolute(_ path: String) -> Bool { path.utf8.first == slash }

    /// The names in a path, without those that mean the same folder.
    public static func names(in path: String) -> [String] {
        path.utf8.split(separator: slash).map { String(decoding: $0, as: UTF8.self) }.filter { $0 != "." }
    }

    /// The part before the last slash; `/` for an entry of the root folder, `.` when there is no slash.
    public static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: slash) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// The part behind the last slash; the whole path when there is none.
    public static func last(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: slash) else { return path }
        return String(path[path.utf8.index(after: slash)...])
    }
}
