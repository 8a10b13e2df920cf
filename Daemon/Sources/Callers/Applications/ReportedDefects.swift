import Synchronization

/// Remembers the reported defects of a folder's files, which is read again and again. Each defect is reported once, and
/// again when the file or the defect has changed.
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

    /// Takes all present defects; returns those that were not reported yet for the present files.
    func new(in defects: [Defect]) -> [Defect] {
        reported.withLock { reported in
            defer { reported = defects }
            return defects.filter { !reported.contains($0) }
        }
    }
}
