import Glibc
import UnixSocket

/// Paths from one folder to another.
enum RelativePath {
    /// Where `path` leads, without symbolic links. Parts that do not exist yet are taken as they are written.
    static func absolute(_ path: String) throws(CommandError) -> String {
        var (present, missing) = (path, [Substring]())
        while true {
            if let real = unsafe realpath(present.isEmpty ? "." : present, nil) {
                defer { unsafe free(real) }
                let folder = unsafe String(cString: real)
                return ([folder == "/" ? "" : folder] + missing.map(String.init)).joined(separator: "/")
            }
            guard errno == ENOENT, !present.isEmpty else {
                throw .unwritableOutput(SystemCallError("realpath", subject: path))
            }
            let parts = present.split(separator: "/")
            guard let last = parts.last, last != ".." else {
                throw .unwritableOutput(SystemCallError("realpath", subject: path, code: ENOENT))
            }
            if last != "." { missing.insert(last, at: 0) }
            present = (present.hasPrefix("/") ? "/" : "") + parts.dropLast().joined(separator: "/")
        }
    }

    /// The way from the folder `start` to `end`; both are absolute and have no symbolic links.
    static func path(to end: String, from start: String) -> String {
        let (from, to) = (start.split(separator: "/"), end.split(separator: "/"))
        let common = zip(from, to).prefix { $0 == $1 }.count
        let steps = from.dropFirst(common).map { _ in ".." } + to.dropFirst(common).map(String.init)
        return steps.isEmpty ? "." : steps.joined(separator: "/")
    }
}
