import Synchronization

/// What was said of the files in a folder that is read again and again: each defect once, and again when the file or what
/// is wrong with it has changed.
final class ReportedDefects: Sendable {
    struct Defect: Equatable, Sendable {
        let file: String
        let what: String
        let stamp: FileStamp?

        init(_ file: String, _ what: String) {
            self.file = file
            self.what = what
            stamp = FileStamp(path: file)
        }
    }

    private let reported = Mutex<[Defect]>([])

    /// Takes all that is wrong now; returns what has not been said of the files as they are.
    func new(in defects: [Defect]) -> [Defect] {
        reported.withLock { reported in
            defer { reported = defects }
            return defects.filter { !reported.contains($0) }
        }
    }
}
