/// The parts of a path, as dirname(1) and basename(1) see it. Foundation's `NSString.deletingLastPathComponent` traps on a path
/// of one character (Swift 6.3.1 on Linux), and paths come from outside.
public enum PathName {
    /// The part before the last slash; `/` for an entry of the root folder, `.` when there is no slash.
    public static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// The part behind the last slash; the whole path when there is none.
    public static func last(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return path }
        return String(path[path.index(after: slash)...])
    }
}
