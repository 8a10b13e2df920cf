import CLinuxShims
import UnixSocket

/// The kernel's word that nobody has a file open for writing, nor mapped so, and that its stamp shows each later store.
///
/// There is none for a file of another user, nor in a file system that does not set the time of change for mapped pages.
/// While it is held, a program that opens the file for writing waits. It ends with the file's descriptor at the latest.
struct ReadLease: ~Copyable {
    private let file: CInt
    private let isTaken: Bool

    /// Takes a lease on an open file. The file must stay open until ``end()``.
    init(_ file: borrowing Descriptor) {
        self.file = file.number
        isTaken = ostiary_dates_mapped_stores(file.number) != 0 && ostiary_take_read_lease(file.number) == 0
    }

    /// Whether it was whole from the beginning until now.
    consuming func end() -> Bool { isTaken && ostiary_end_read_lease(file) != 0 }
}
