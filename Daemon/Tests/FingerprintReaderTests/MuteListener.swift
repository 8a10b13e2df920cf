import StoreTestSupport
import UnixSocket

/// A socket that takes connections and never says anything.
final class MuteListener {
    let path: String
    private let folder: TestFolder
    private let socket: UnixSocket

    init() throws {
        folder = try TestFolder()
        path = folder.path("bus")
        socket = try UnixSocket.listen(at: path)
    }
}
